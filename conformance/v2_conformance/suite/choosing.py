"""Chooses the cases of a run: checks what a target claims, and selects cases by patterns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from v2_conformance.errors import NothingRanError
from v2_conformance.protocol.content_codings import CODINGS
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.protocol.names import PROFILES
from v2_conformance.suite.cases import Case, RelationCase
from v2_conformance.terminal_safe_text import did_you_mean, matches

CLIENT_PROFILES = ("client", "bf16")
"""The profiles that a client can claim; every client claims the first."""

# Every target needs both: the suite tests the first, and most requirements need the second.
_NEEDED_PROFILE, _NEEDED_DATATYPE = "binary", "INT32"


def left_out_problem(unsupported: Collection[str]) -> str | None:
    """Return why a target cannot declare these unsupported, None if it can."""
    if _NEEDED_PROFILE in unsupported:
        return f"the profile {_NEEDED_PROFILE} cannot be left out: it is what the suite tests"
    if _NEEDED_DATATYPE in unsupported:
        return f"{_NEEDED_DATATYPE} cannot be left out: most requirements need it"
    return None


def claims_problem(profiles: Collection[str], unsupported: Collection[str]) -> str | None:
    """Return why no target can make these claims together, None if one can."""
    if _NEEDED_PROFILE not in profiles:
        return f"every target claims the profile {_NEEDED_PROFILE}"
    for name in profiles:
        if name not in PROFILES:
            return f"there is no profile {name}"
        if name in unsupported:
            return f"the profile {name} is both claimed and declared unsupported"
    if "compression" in profiles and set(CODINGS) <= set(unsupported):
        return "the profile compression is claimed, but every content coding declared unsupported"
    if "bf16" in profiles and "BF16" in unsupported:
        return "the profile bf16 is claimed, but the datatype BF16 declared unsupported"
    unknown = sorted(set(unsupported) - DATATYPES.keys() - {*CODINGS, *PROFILES})
    if unknown:
        return f"there is no datatype, content coding or profile {unknown[0]}"
    return left_out_problem(unsupported)


def select(cases: Sequence[Case], patterns: Sequence[str]) -> list[Case]:
    """Return the cases that match any of `patterns`, or all of them. Raises NothingRanError."""
    if not patterns:
        return list(cases)
    patterns = list(dict.fromkeys(patterns))  # a forged report repeats one as often as it likes
    of_model = any(isinstance(case, RelationCase) for case in cases)
    what = "relations" if of_model else "scenarios" if cases and cases[0].of_clients else "cases"
    for pattern in patterns:
        if not any(_matches(case, pattern) for case in cases):
            names = _names(cases, values="[" in pattern)
            if pattern.endswith("*"):
                names = (f"{name[: len(pattern) - 1]}*" for name in names)
            listed = "their requirements" if of_model else "every case"
            hint = did_you_mean(pattern, names, f"`v2-conformance list {what}` lists {listed}")
            raise NothingRanError(f"the pattern {pattern!r} matches no case: {hint}")
    return [case for case in cases if any(_matches(case, pattern) for pattern in patterns)]


def _matches(case: Case, pattern: str) -> bool:
    return case.requirement == pattern or matches(case.id, pattern)


def _names(cases: Sequence[Case], *, values: bool) -> Iterator[str]:
    """Yield what would match: requirements, and entries, or cases with their `values`."""
    for case in cases:
        yield case.requirement
        yield case.id if values or case.id == case.template else f"{case.template}[*]"


def asked_for(cases: Iterable[Case], *, large: bool) -> list[Case]:
    """Return `cases`, and the large ones among them only if they were asked for."""
    return [case for case in cases if large or not case.large]
