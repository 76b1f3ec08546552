"""Signatures of reports, checked."""
