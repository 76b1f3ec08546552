"""The command `v2-conformance`."""
