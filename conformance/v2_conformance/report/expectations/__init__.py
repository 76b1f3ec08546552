"""Known failures: a run compared with them, and their file brought up to date."""
