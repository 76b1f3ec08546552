"""Entries of YAML files: what makes cases and scenarios of them."""
