"""The generated requests of a certifying run, which are one case."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from v2_conformance.conversations.steps import AskApart, Result
from v2_conformance.judging.claims import Claims, skipped
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import GeneratedCase, RequestCase
from v2_conformance.suite.causes.causes import GeneratedFailure, left_dead
from v2_conformance.suite.causes.kinds import GeneratedRequests, NoUsableModel
from v2_conformance.suite.outcomes import Outcome

ANSWERED = (Outcome.PASS, Outcome.UNSUPPORTED, Outcome.FAIL)
"""The outcomes after which there is more to learn from the same server."""


def sendable(case: GeneratedCase, claims: Claims) -> Iterator[AskApart]:
    """Yield the requests of `case` that a target with these claims gets."""
    for entry in case.requests:
        made = make_case(entry)
        assert isinstance(made, RequestCase)
        if skipped(made, claims) is None:
            yield AskApart(made, entry)


def generated(
    case: GeneratedCase, requests: Iterable[AskApart]
) -> Generator[AskApart, Result | None, Result]:
    """Send these requests of `case` one after the other; the smallest failure counts,
    or the smallest that killed something.

    A server may decline some, but not all. Once it is dead or away nothing more can be learned.
    """
    answered: list[tuple[Mapping[str, Any], Result]] = []
    for asked in requests:
        result = yield asked
        if result is None:
            break
        exchanges = tuple(replace(one, entry=asked.entry) for one in result.exchanges)
        answered.append((asked.entry, replace(result, exchanges=exchanges)))
        if result.outcome not in ANSWERED:
            break
    if not answered:
        return Result(case, Verdict(Outcome.NOT_RUN, NoUsableModel()))
    bad = [one for one in answered if not one[1].outcome.harmless]
    wrong = [one for one in bad if one[1].outcome is Outcome.FAIL]
    # What killed a model explains the cases that name it as their killer.
    deadly = [one for one in wrong if left_dead(one[1].cause)]
    if bad:
        entry, failure = min(deadly or wrong or bad, key=lambda one: len(json.dumps(one[0])))
        verdict = failure.verdict
        if verdict.cause is not None and failure.exchanges:
            number = 1 + case.requests.index(entry) if entry in case.requests else 0  # 0: drawn
            cause = GeneratedFailure(verdict.cause, number, None, None, None)
            verdict = replace(verdict, cause=cause)
        return Result(case, verdict, exchanges=failure.exchanges)
    exchanges = tuple(exchange for _, result in answered for exchange in result.exchanges)
    passed = [result for _, result in answered if result.outcome is Outcome.PASS]
    if not passed:
        return Result(case, answered[0][1].verdict, exchanges=exchanges)
    counted = GeneratedRequests(len(passed), None, None)
    return Result(case, replace(passed[0].verdict, cause=counted), exchanges=exchanges)
