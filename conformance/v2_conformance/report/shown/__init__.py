"""The parts of a report's exchanges and texts that are shown in any format."""
