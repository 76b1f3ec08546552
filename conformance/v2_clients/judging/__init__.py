"""From what a client sent and said to a verdict, without any I/O."""
