"""Recorded exchanges read back as transcripts, and whether they can be true."""
