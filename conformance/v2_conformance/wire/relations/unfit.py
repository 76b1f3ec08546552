"""How a case says that it cannot be sent to a model."""

from __future__ import annotations


class UnfitError(Exception):
    """The case cannot be sent to the model."""


def need(holds: object) -> None:
    """Raise UnfitError unless this holds."""
    if not holds:
        raise UnfitError
