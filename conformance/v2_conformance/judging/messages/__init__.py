"""Recorded requests and responses, read as V2 messages."""
