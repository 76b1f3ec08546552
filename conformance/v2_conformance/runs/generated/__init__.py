"""Generated requests: sent, shrunk, and written as cases."""
