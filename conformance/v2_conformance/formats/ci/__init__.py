"""The formats that CI services read."""
