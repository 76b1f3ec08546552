"""Rules that every exchange of a run must follow, whatever its case is about."""
