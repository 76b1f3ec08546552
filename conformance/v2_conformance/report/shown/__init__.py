"""The parts of a report's exchanges, texts and soak that are shown in any format."""
