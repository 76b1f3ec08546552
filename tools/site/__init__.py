"""The documentation site: docs/ as MkDocs builds it, and a page for each requirement."""
