"""The documentation site: the manual, and the standard as pages, written for MkDocs."""
