"""What several faults need. Nothing here is a fault itself."""
