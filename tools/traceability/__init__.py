"""The links between statements, requirements, cases and faults."""
