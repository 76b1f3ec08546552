"""Which cases a run has, out of all."""
