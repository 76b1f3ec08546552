"""From a case to the bytes of its request."""
