"""Tests clients: the bench that they are put on, what is judged there, and a plain client."""
