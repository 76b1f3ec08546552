"""Models with unknown answers: learned from their own answers, then compared with them."""
