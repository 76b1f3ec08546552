"""The steps that a conversation yields, and the answers it receives.

A driver takes the steps: `runs` over connections, `verifying` over the exchanges of a report, a
test over a list. A conversation does no I/O and knows no driver.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from v2_conformance.judging.claims import Claims
from v2_conformance.judging.known_good import Form
from v2_conformance.judging.observed.cases import observe_verdict
from v2_conformance.judging.observed.exchanges import Observation, observe
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import Case, ClientCase, ObservedCase, RequestCase
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.client_lines import ClientResult
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.wire.encode.deployment import Address
from v2_conformance.wire.encode.requests import Prepared
from v2_conformance.wire.exchange import Exchange


@dataclass(frozen=True)
class Known:
    """Facts that a conversation needs: where the server is, and which models it has."""

    address: Address
    claims: Claims


class Calibrate(msgspec.Struct, frozen=True):
    """Find out how the model in `role` answers a known-good request, unless that is known.

    The answer is why the model cannot be tested, or "" if it can.
    """

    role: str
    form: Form


class KnownGood(msgspec.Struct, frozen=True):
    """Send a known-good request to the model in `role`: on the kept connection, in the first of
    `forms` that the server answers exactly; or, if `fresh`, on a new one.

    The answer is a CanaryAnswer, or None if the kept connection closed before an answer.
    """

    role: str
    forms: tuple[Form, ...] = ("binary",)
    fresh: bool = False


class Ask(msgspec.Struct, frozen=True):
    """Send a request and read its answer, an Exchange: on the kept connection, again on a fresh one
    if the server had closed that, or if it was unavailable.

    It is sent `times` times, and the answer is the last; with `fresh`, each time on a connection of
    its own that is closed then.
    """

    prepared: Prepared
    purpose: Purpose
    fresh: bool = False
    times: int = 1


class AskTogether(msgspec.Struct, frozen=True):
    """Send each of these requests `rounds` times on a connection of its own, all at once.

    The answer has their exchanges, each with the number of its request, in the requests' order.
    """

    prepared: tuple[Prepared, ...]
    rounds: int


class AskApart(msgspec.Struct, frozen=True):
    """Have a conversation of its own about a generated `case`, made of `entry`.

    The answer is its result, or None if the server is dead.
    """

    case: RequestCase
    entry: Mapping[str, Any]


class CanaryAnswer(msgspec.Struct, frozen=True):
    """The answer to a known-good request, and what is wrong with it, None if it is as calibrated.

    `liveness` is the answer to a GET of /v2/health/live while a gateway could not reach the server,
    None if it could.
    """

    exchange: Exchange
    problem: Cause | None
    liveness: Exchange | None = None


Step = Calibrate | Ask | AskTogether | KnownGood
"""The next action of a case that sends one kind of request."""

Answer = str | Exchange | Sequence[tuple[int, Exchange]] | CanaryAnswer | None
"""The result of a step; each step says which of these it gets."""

Conversation = Generator[Step, Any, "Result"]
"""All that belongs to a case: steps, each of which is sent its Answer, and the result."""

_S = TypeVar("_S")
_A = TypeVar("_A")
_R = TypeVar("_R")


def play(conversation: Generator[_S, _A, _R], answer: Callable[[_S], _A]) -> _R:
    """Take the steps of a conversation one by one, and return its result."""
    try:
        step = next(conversation)
        while True:
            step = conversation.send(answer(step))
    except StopIteration as end:
        result: _R = end.value
        return result


class Calibrated(msgspec.Struct, frozen=True):
    """The known-good requests of one form to the model in a role, before any case of it."""

    role: str
    form: Form
    exchanges: tuple[Exchange, ...]


class Result(msgspec.Struct, frozen=True):
    """Result of one case; of a scenario, also what the client `reported`."""

    case: Case
    verdict: Verdict
    duration_s: float = 0.0
    exchanges: tuple[Exchange, ...] = ()
    reported: ClientResult | None = None

    def seen(self) -> tuple[Observation, ...]:
        """Return what its exchanges show about rules that every exchange must follow."""
        if isinstance(self.case, ObservedCase | ClientCase) or not self.exchanges:
            return ()
        return (*observe(self.case, self.exchanges), *observe_verdict(self.case, self.verdict))

    @property
    def outcome(self) -> Outcome:
        """The verdict's outcome."""
        return self.verdict.outcome

    @property
    def cause(self) -> Cause | None:
        """The verdict's cause."""
        return self.verdict.cause

    @property
    def message(self) -> str:
        """The verdict in words, for people."""
        return self.verdict.message


class CaseFinished(msgspec.Struct, frozen=True):
    """The event that a run yields, `number` of `total`."""

    result: Result
    number: int
    total: int
