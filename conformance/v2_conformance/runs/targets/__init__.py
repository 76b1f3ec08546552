"""The server under test: where it is, how to get in, whether it is ready."""
