"""Minutes under load, while the server is watched."""
