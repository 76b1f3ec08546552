"""From a transcript to a verdict, without any I/O."""
