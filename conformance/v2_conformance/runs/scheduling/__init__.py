"""Scheduling: order, connections, time budget."""
