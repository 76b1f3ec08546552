"""Programs that the suite runs for its user: servers, clients, restart commands."""

from __future__ import annotations

import os

PASSPHRASE = "V2_CONFORMANCE_KEY_PASSPHRASE"
"""The variable with the passphrase of the key that signs reports."""


def environment() -> dict[str, str]:
    """Return the environment without what only the suite may know."""
    return {name: value for name, value in os.environ.items() if name != PASSPHRASE}
