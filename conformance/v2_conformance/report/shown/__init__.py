"""What is shown of a report's exchanges, texts and soak, whatever the format."""
