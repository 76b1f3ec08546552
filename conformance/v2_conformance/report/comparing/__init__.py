"""Two or more reports side by side."""
