"""The generated requests of a certifying run, which are one case."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from v2_conformance.conversations.result import Result
from v2_conformance.conversations.steps import AskApart
from v2_conformance.judging.survival import Claims, skipped
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import GeneratedCase, RequestCase
from v2_conformance.suite.causes.causes import GeneratedFailure, left_dead
from v2_conformance.suite.causes.kinds import GeneratedRequests, NoUsableModel
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.exchange import Exchange

ANSWERED = (Outcome.PASS, Outcome.UNSUPPORTED, Outcome.FAIL)
"""The outcomes after which there is more to learn from the same server."""


@dataclass(frozen=True)
class _Answered:
    asked: AskApart
    result: Result

    @property
    def outcome(self) -> Outcome:
        return self.result.verdict.outcome

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        return tuple(replace(one, entry=self.asked.entry) for one in self.result.exchanges)


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
    answered: list[_Answered] = []
    for asked in requests:
        result = yield asked
        if result is None:
            break
        answered.append(_Answered(asked, result))
        if result.verdict.outcome not in ANSWERED:
            break
    if not answered:
        return Result(case, Verdict(Outcome.NOT_RUN, NoUsableModel()))
    bad = [one for one in answered if not one.outcome.harmless]
    wrong = [one for one in bad if one.outcome is Outcome.FAIL]
    # What killed a model explains the cases that name it as their killer.
    deadly = [one for one in wrong if left_dead(one.result.verdict.cause)]
    counting = deadly or wrong or bad
    failure = min(counting, key=lambda one: len(json.dumps(one.asked.entry)), default=None)
    if failure is not None:
        verdict = _failed(failure, case.requests)
        return Result(case, verdict, exchanges=failure.exchanges)
    exchanges = tuple(exchange for one in answered for exchange in one.exchanges)
    passed = [one for one in answered if one.outcome is Outcome.PASS]
    if not passed:
        return Result(case, answered[0].result.verdict, exchanges=exchanges)
    counted = GeneratedRequests(len(passed), None, None)
    verdict = replace(passed[0].result.verdict, cause=counted)
    return Result(case, verdict, exchanges=exchanges)


def _failed(failure: _Answered, requests: Sequence[Mapping[str, Any]]) -> Verdict:
    """Return the verdict on a failed request, saying which one of `requests` it was, 0 for none."""
    verdict = failure.result.verdict
    if verdict.cause is None or not failure.result.exchanges:
        return verdict
    entry = failure.asked.entry
    number = 1 + requests.index(entry) if entry in requests else 0
    return replace(verdict, cause=GeneratedFailure(verdict.cause, number, None, None, None))
