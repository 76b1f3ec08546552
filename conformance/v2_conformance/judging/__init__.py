"""From an exchange to a verdict, without any I/O."""
