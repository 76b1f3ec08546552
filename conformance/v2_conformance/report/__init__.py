"""What a run leaves behind: the record and report.json."""
