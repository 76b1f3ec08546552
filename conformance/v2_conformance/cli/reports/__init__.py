"""Commands that read reports."""
