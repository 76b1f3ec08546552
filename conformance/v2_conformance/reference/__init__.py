"""The embedded reference server, which meets every requirement, and its models."""
