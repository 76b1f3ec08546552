"""What came of the generated requests of a certifying run, which are one case."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from v2_conformance.engine.result import Exchange, Result
from v2_conformance.judging.survival import NO_USABLE_MODEL
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.causes import GeneratedRequests
from v2_conformance.suite.outcomes import Outcome

ANSWERED = (Outcome.PASS, Outcome.UNSUPPORTED, Outcome.FAIL)
"""The outcomes after which there is more to learn from the same server."""


@dataclass(frozen=True)
class _Answer:
    """The result of one request and its exchanges, each with the entry that it is for."""

    number: int
    entry: Mapping[str, Any]
    result: Result

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        return tuple(replace(exchange, entry=self.entry) for exchange in self.result.exchanges)

    @property
    def size(self) -> int:
        return len(json.dumps(self.entry))


@dataclass
class GeneratedResults:
    """The results of generated requests, in the order in which they were sent."""

    answers: list[_Answer] = field(default_factory=list)

    def add(self, number: int, entry: Mapping[str, Any], result: Result) -> None:
        """The result of request `number`, which `entry` describes."""
        self.answers.append(_Answer(number, entry, result))

    @property
    def failure(self) -> _Answer | None:
        """The smallest request that got a wrong answer, or else the one that got none."""
        bad = [answer for answer in self.answers if not answer.result.outcome.harmless]
        wrong = [answer for answer in bad if answer.result.outcome is Outcome.FAIL]
        return min(wrong or bad, key=lambda answer: answer.size, default=None)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Those of the failure, or of all requests if there is none."""
        answers = self.answers if self.failure is None else [self.failure]
        return tuple(exchange for answer in answers for exchange in answer.exchanges)

    def verdict(self) -> Verdict:
        """That of the failure, or of all requests: a server may decline some, but not all."""
        if not self.answers:
            return NO_USABLE_MODEL
        if self.failure is not None:
            return self.failure.result.verdict
        passed = [answer for answer in self.answers if answer.result.outcome is Outcome.PASS]
        if not passed:
            return self.answers[0].result.verdict
        return replace(passed[0].result.verdict, cause=GeneratedRequests(len(passed), None, None))
