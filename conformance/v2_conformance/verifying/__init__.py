"""Judges a report again from its recorded bytes."""
