"""What every exchange of a run has to keep, whatever its case is about."""
