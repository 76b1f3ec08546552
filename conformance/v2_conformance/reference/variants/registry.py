"""All variants by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from v2_conformance.errors import UsageError
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.suggestions import did_you_mean


@dataclass(frozen=True)
class Variant:
    """One legal way to behave: `cls` replaces a decision of Behaviour, and `allowed_by` lets it."""

    name: str
    allowed_by: str
    text: str
    cls: type[Behaviour]


VARIANTS: dict[str, Variant] = {}


def variant(
    name: str, *, allowed_by: str, text: str
) -> Callable[[type[Behaviour]], type[Behaviour]]:
    """Register a subclass of Behaviour as the variant `name`.

    `allowed_by` is the place in a document that allows it, `text` says in one sentence what the
    server does.
    """

    def register(cls: type[Behaviour]) -> type[Behaviour]:
        if name in VARIANTS:
            raise ValueError(f"the variant {name} is registered twice")
        VARIANTS[name] = Variant(name, allowed_by, text, cls)
        return cls

    return register


def find_variant(name: str) -> Variant:
    """The variant called `name`. Raises UsageError if there is none."""
    if name in VARIANTS:
        return VARIANTS[name]
    hint = did_you_mean(name, VARIANTS, "`v2-conformance list variants` lists every variant")
    raise UsageError(f"unknown variant {name!r}: {hint}")
