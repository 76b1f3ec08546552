"""Checks of the suite itself."""
