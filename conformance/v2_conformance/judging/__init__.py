"""From a exchange to a verdict, without any I/O."""
