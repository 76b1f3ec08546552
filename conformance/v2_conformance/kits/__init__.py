"""Model kits: see `registry`."""
