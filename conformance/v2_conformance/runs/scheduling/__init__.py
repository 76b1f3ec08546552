"""Scheduling: what is sent, in which order, what shares the server, what runs again alone."""
