"""Two or more reports side by side: versions, and with and without a gateway."""
