"""What CI services read."""
