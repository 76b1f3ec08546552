"""Named ways in which a right server may differ from the reference server.

Each is allowed by the documents, and seen on servers, frameworks or proxies. So none of them may
make a case fail; tests/reference/test_variants.py holds the suite to that.
"""

from __future__ import annotations

from importlib import import_module

from v2_mutants.registry import variant

__all__ = ["VARIANTS"]

# Importing a module registers its variants.
for _module in ("http", "json", "errors", "requests"):
    import_module(f"{__name__}.{_module}")

VARIANTS = variant
"""All variants by name."""
