"""What people see, made of report.json alone."""
