"""The files that a run leaves behind: the record and report.json."""
