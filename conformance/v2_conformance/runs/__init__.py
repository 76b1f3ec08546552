"""Runs cases against a server."""
