"""A static site of reports: what `publish` writes."""
