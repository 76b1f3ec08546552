"""Models whose answers are unknown: learned from what they answer, then compared with that."""
