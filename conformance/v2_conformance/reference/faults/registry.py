"""All faults by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from v2_conformance.errors import UsageError
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.suggestions import did_you_mean


@dataclass(frozen=True)
class Fault:
    """One deviation: `cls` replaces one decision of Behaviour and so breaks `requirement`.

    With a `binding`, only a run with that binding notices it.
    """

    name: str
    requirement: str
    text: str
    cls: type[Behaviour]
    binding: str | None = None


FAULTS: dict[str, Fault] = {}
FAULTS_UNDER_LOAD: dict[str, Fault] = {}
"""Those that only a soak shows; they break no requirement of their own (docs/soak.md)."""

UNDER_LOAD = "soak"
"""What these have in place of a requirement."""


def fault(
    name: str, *, breaks: str, text: str, binding: str | None = None
) -> Callable[[type[Behaviour]], type[Behaviour]]:
    """Register a subclass of Behaviour as the fault `name`, which breaks the requirement `breaks`.

    `text` says in one sentence what the server does wrong, `binding` for which endpoint it does.
    """

    def register(cls: type[Behaviour]) -> type[Behaviour]:
        if name in FAULTS:
            raise ValueError(f"the fault {name} is registered twice")
        FAULTS[name] = Fault(name, breaks, text, cls, binding)
        return cls

    return register


def fault_under_load(name: str, *, text: str) -> Callable[[type[Behaviour]], type[Behaviour]]:
    """Register a subclass of Behaviour as the fault `name`, which only a soak shows."""

    def register(cls: type[Behaviour]) -> type[Behaviour]:
        FAULTS_UNDER_LOAD[name] = Fault(name, UNDER_LOAD, text, cls)
        return cls

    return register


def sort_faults() -> None:
    """Sort FAULTS by requirement. Families keep the order in which they were registered."""
    families = list(dict.fromkeys(registered.requirement[0] for registered in FAULTS.values()))

    def position(registered: Fault) -> tuple[int, int]:
        return families.index(registered.requirement[0]), int(registered.requirement[1:])

    for registered in sorted(FAULTS.values(), key=position):
        FAULTS[registered.name] = FAULTS.pop(registered.name)


def find_fault(name: str) -> Fault:
    """The fault called `name`. Raises UsageError if there is none."""
    known = FAULTS | FAULTS_UNDER_LOAD
    if name in known:
        return known[name]
    hint = did_you_mean(name, known, "`v2-conformance list faults` lists every fault")
    raise UsageError(f"unknown fault {name!r}: {hint}")
