"""Cases of the suite for models whose answers are unknown."""
