"""Named ways in which a right client may differ from the plain client.

`why` of each begins with the requirements that it comes near, then says what allows it. None of
them may make a scenario fail; tests/bench/test_right_clients.py holds the bench to that.
"""

from __future__ import annotations

from importlib import import_module

from v2_mutants.registry import client_variant

__all__ = ["CLIENT_VARIANTS"]

# Importing a module registers its variants.
for _module in ("sent", "received"):
    import_module(f"{__name__}.{_module}")

CLIENT_VARIANTS = client_variant
"""All legal variants of the plain client by name."""
