"""The cases for any model, filled in with values that it answered."""
