"""The command `run`, its options and its kinds of runs."""
