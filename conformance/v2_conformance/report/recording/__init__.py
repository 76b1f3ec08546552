"""Results as a report keeps them, and the record that a run writes."""
