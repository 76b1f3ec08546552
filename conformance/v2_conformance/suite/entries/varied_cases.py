"""Cases crossed with variations: the same request, said in another way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from v2_conformance.errors import CaseFileError, NothingRanError
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.choosing.selection import select
from v2_conformance.suite.models import contract
from v2_conformance.suite.requirements import LEVELS
from v2_conformance.suite.variations import apply, variation

# Between the id of a case and the name of the variation that it is crossed with.
CROSSED = "+"


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


def crossed(cases: Sequence[Case], names: Sequence[str]) -> list[Case]:
    """Every case that must succeed, once in each of the variations `names` that fits it.

    Their ids are CASE+VARIATION. Raises CaseFileError for an unknown variation and
    NothingRanError for one that fits none of the cases.
    """
    found: list[Case] = []
    for name in dict.fromkeys(names):
        variation(name)
        of_this = list(_crossed_with(cases, name))
        if not of_this:
            raise NothingRanError(f"the variation {name} fits none of the cases")
        found += of_this
    return found


def planned_and_chosen(
    cases: Sequence[Case], patterns: Sequence[str], variations: Sequence[str]
) -> tuple[Sequence[Case], Sequence[Case]]:
    """Return what a run of `cases` plans, and what of that it sends.

    It sends what `patterns` match (see `select`), or that in `variations` (see `crossed`), which is
    planned beside the rest. Raises CaseFileError and NothingRanError.
    """
    chosen = select(cases, patterns)
    if not variations:
        return cases, chosen
    varied = crossed(chosen, variations)
    return [*cases, *varied], varied


def crossed_case(id: str, cases: Mapping[str, Case]) -> Case | None:
    """The case with an id that `crossed` makes, of `cases` by id; None if there is none."""
    plain, _, name = id.rpartition(CROSSED)
    case = cases.get(plain)
    if not isinstance(case, RequestCase):
        return None
    try:
        return next(_crossed_with([case], name), None)
    except CaseFileError:
        return None


def _crossed_with(cases: Sequence[Case], name: str) -> Iterator[RequestCase]:
    for case in cases:
        if not isinstance(case, RequestCase) or case.expects != "success":
            continue
        try:
            varied = vary(case, [name])
        except CaseFileError:
            continue
        yield replace(varied, id=f"{case.id}{CROSSED}{name}")
