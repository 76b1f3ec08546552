"""What the faults of several families need. Nothing here is a fault itself."""
