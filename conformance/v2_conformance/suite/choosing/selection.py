"""Which cases a run sends: those that somebody names by requirement or by a pattern of ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from v2_conformance.errors import NothingRanError
from v2_conformance.suggestions import did_you_mean
from v2_conformance.suite.cases import Case
from v2_conformance.terminal_safe_text import matches


def select(cases: Sequence[Case], patterns: Sequence[str]) -> list[Case]:
    """The cases whose requirement or id matches one of `patterns`; all of them without patterns.

    Raises NothingRanError for a pattern that matches no case.
    """
    if not patterns:
        return list(cases)
    patterns = list(dict.fromkeys(patterns))  # a forged report repeats one as often as it likes
    what = "scenarios" if cases and cases[0].of_clients else "cases"
    for pattern in patterns:
        if not any(_matches(case, pattern) for case in cases):
            hint = did_you_mean(
                pattern,
                _names(cases, values="[" in pattern),
                f"`v2-conformance list {what}` lists every case",
            )
            raise NothingRanError(f"the pattern {pattern!r} matches no case: {hint}")
    return [case for case in cases if any(_matches(case, pattern) for pattern in patterns)]


def _matches(case: Case, pattern: str) -> bool:
    return case.requirement == pattern or matches(case.id, pattern)


def _names(cases: Sequence[Case], *, values: bool) -> Iterator[str]:
    """Yield what would match: requirements, and each entry of the case files; or single cases with
    the `values` of their axes."""
    for case in cases:
        yield case.requirement
        yield case.id if values or case.id == case.template else f"{case.template}[*]"


def asked_for(cases: Iterable[Case], *, large: bool) -> list[Case]:
    """`cases` without those that only a run has which was asked for them."""
    return [case for case in cases if large or not case.large]
