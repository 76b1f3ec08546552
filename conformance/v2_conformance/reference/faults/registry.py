"""The register of faults, and servers that have some of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from v2_conformance.errors import UsageError
from v2_conformance.reference.behaviour import PROFILES, Behaviour


@dataclass(frozen=True)
class Fault:
    """One deviation: `cls` replaces one decision of Behaviour and so breaks `requirement`."""

    name: str
    requirement: str
    text: str
    cls: type[Behaviour]


FAULTS: dict[str, Fault] = {}


def fault(name: str, *, breaks: str, text: str) -> Callable[[type[Behaviour]], type[Behaviour]]:
    """Register a subclass of Behaviour as the fault `name`, which breaks the requirement `breaks`.

    `text` says in one sentence what the server does wrong.
    """

    def register(cls: type[Behaviour]) -> type[Behaviour]:
        if name in FAULTS:
            raise ValueError(f"the fault {name} is registered twice")
        FAULTS[name] = Fault(name, breaks, text, cls)
        return cls

    return register


def behaviour_with(
    faults: Sequence[str] = (), *, profiles: Collection[str] = PROFILES
) -> Behaviour:
    """A fresh Behaviour with all of the named faults. Raises UsageError for an unknown name."""
    classes = [_find(name).cls for name in dict.fromkeys(faults)]
    if not classes:
        return Behaviour(profiles)
    made: type[Behaviour] = type("FaultyBehaviour", tuple(classes), {})
    return made(profiles)


def _find(name: str) -> Fault:
    if name in FAULTS:
        return FAULTS[name]
    close = difflib.get_close_matches(name, FAULTS)
    hint = f"did you mean {' or '.join(close)}?" if close else "list them with `list faults`"
    raise UsageError(f"there is no fault {name!r}; {hint}")
