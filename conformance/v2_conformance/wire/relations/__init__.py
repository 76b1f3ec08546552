"""Cases of the suite for models with unknown answers."""
