"""Cases in variations: the same request, said in another way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.models import contract
from v2_conformance.suite.requirements import LEVELS
from v2_conformance.suite.variations import apply, variation


def vary(case: RequestCase, names: Sequence[str]) -> RequestCase:
    """`case` in the variations `names`, applied in order; its id stays the same.

    Raises CaseFileError for an unknown variation, and for one that does not fit.
    """
    for name in names:
        given = variation(name)
        before = [variation(earlier) for earlier in case.variations]
        traits = {"same-answer"} if case.expects == "success" or case.next else set()
        if case.together == 1:
            traits.add("one-connection")
        expect = case.expect
        if given.either and case.expects == "success":
            expect = {**expect, "outcome": "either"}
        case = replace(
            case,
            request=apply(given, case.request, contract()[case.model], before, traits),
            variations=(*case.variations, name),
            level=max(case.level, given.level, key=LEVELS.index),
            blocks=given.blocks or case.blocks,
            expect=expect,
            canary=case.canary or ("binary" if given.canary else None),
        )
    return case
