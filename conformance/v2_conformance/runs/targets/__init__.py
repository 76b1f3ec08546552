"""The server under test: where it is, how to access it, whether it is ready."""
