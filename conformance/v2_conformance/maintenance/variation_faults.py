"""Whether each variation shows something: a fault that only requests in that variation notice."""

from __future__ import annotations

from collections.abc import Iterable

from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.variations import variations


def unproven_variations(failures: Iterable[Iterable[str]]) -> list[str]:
    """The variations without such a fault.

    `failures` has, for each fault, the ids of the failing cases of the requirement that it breaks.
    A fault proves a variation if all of these are sent in it.
    """
    varied = {
        case.id: frozenset(case.variations)
        for case in suite_cases(large=True)
        if isinstance(case, RequestCase)
    }
    proven: set[str] = set()
    for ids in failures:
        common = [varied.get(id, frozenset()) for id in ids]
        proven |= frozenset.intersection(*common) if common else frozenset()
    return [name for name in variations() if name not in proven]
