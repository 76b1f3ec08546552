"""Runs of the suite, from their plan to their report; `progress` alone prints."""
