"""Runs of the suite, from their plan to their report. Nothing here prints."""
