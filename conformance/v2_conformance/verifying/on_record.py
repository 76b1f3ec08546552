"""Plays the conversation of a case with its record: each step gets the exchange that
was recorded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.conversations.case import conversation
from v2_conformance.conversations.steps import (
    Answer,
    Ask,
    AskTogether,
    Calibrate,
    Concluded,
    Exchange,
    Heard,
    KnownGood,
    Step,
    exchange_of,
    play,
)
from v2_conformance.errors import CaseFileError
from v2_conformance.suite.cases import GetCase, RequestCase
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.verifying.exchanges import (
    beliefs_of,
    check_liveness,
    matching,
    may_be_closed,
    problem_of_canary,
)
from v2_conformance.verifying.recorded.beliefs import Belief
from v2_conformance.verifying.recorded.transcripts import ReadExchange, RecordedError
from v2_conformance.verifying.setting import Setting
from v2_conformance.wire.transcript import Ending, Transcript

OWN = (Purpose.CASE, Purpose.REPEATED, Purpose.RETRIED)
"""The purposes with which a case's own exchange can be recorded."""

_NOTHING = exchange_of(Transcript(b"", 0, b"", Ending.LEFT), Purpose.CANARY_FRESH)


def concluded(
    case: RequestCase | GetCase, outcome: Outcome, exchanges: Sequence[ReadExchange], known: Setting
) -> tuple[Concluded, list[Belief]]:
    """Return the result of the conversation of a case that was recorded with this `outcome`, and
    what had to be believed for it.

    Raises RecordedError for a record that contradicts itself or the case, and UnconfirmedError.
    """
    if isinstance(case, RequestCase) and not known.same_suite:
        # Which negative case of a requirement is its last depends on the other cases.
        fresh = any(one.recorded.purpose is Purpose.CANARY_FRESH for one in exchanges)
        case = replace(case, last_negative=fresh)
    record = _OnRecord(outcome, exchanges, known)
    try:
        came = play(conversation(case, known.known), record.answer)
    except CaseFileError as error:
        raise RecordedError(f"its request cannot be made again: {error}") from error
    record.check_end(came.verdict.outcome)
    return came, record.believed


class _OnRecord:
    def __init__(self, outcome: Outcome, exchanges: Sequence[ReadExchange], known: Setting) -> None:
        self._outcome = outcome
        self._left = deque(exchanges)
        self._known = known
        self._last: ReadExchange | None = None  # on the connection
        self._stays = False  # True if the connection was left open, and no canary used it
        self._missing: RecordedError | None = None
        self.believed: list[Belief] = []

    def answer(self, step: Step) -> Answer:
        """Return the record of a step. Raises RecordedError and UnconfirmedError."""
        if isinstance(step, Calibrate):
            return ""
        if isinstance(step, Ask):
            return self._asked(step)
        if isinstance(step, AskTogether):
            return self._together(step)
        try:
            return self._heard_on_fresh(step) if step.fresh else self._heard_on_kept(step)
        except RecordedError as error:
            # If the case's own exchange fails it, no canary can make that better.
            if self._outcome is Outcome.FAIL:
                raise
            self._missing = self._missing or error
            self._left.clear()
            return Heard(_NOTHING, None) if step.fresh else None

    def check_end(self, outcome: Outcome) -> None:
        """Raise RecordedError unless the record has all that led to `outcome`, and no more."""
        if self._missing is not None and outcome is not Outcome.FAIL:
            raise self._missing
        if self._stays:
            self.believed.append(Belief.KEPT)
        if self._left:
            raise RecordedError(
                f"{self._purposes()} is recorded, but the suite sends nothing more in this case"
            )

    def _asked(self, step: Ask) -> Exchange:
        exchange = self._next()
        purpose = exchange.recorded.purpose
        if step.purpose is Purpose.BEFORE:
            if purpose is not Purpose.BEFORE:
                raise RecordedError("the request before the case is not recorded first")
            matching([step.prepared], exchange, self._known, "the request before the case")
            return exchange_of(exchange.transcript, purpose)
        if purpose is Purpose.BEFORE:
            raise RecordedError("a request before the case is recorded, but the suite sends none")
        matching([step.prepared], exchange, self._known, "the request")
        if purpose not in OWN:
            raise RecordedError("its first exchange is not marked as its own")
        return self._of_case(exchange)

    def _together(self, step: AskTogether) -> list[tuple[int, Transcript]]:
        """Return the only recorded exchange of many."""
        exchange = self._next()
        prepared = matching(step.prepared, exchange, self._known, "the request")
        if exchange.recorded.purpose is not Purpose.SAMPLE:
            raise RecordedError("its first exchange is not marked as its own")
        transcript = self._of_case(exchange).transcript
        self.believed.append(Belief.OTHERS)
        return [(step.prepared.index(prepared), transcript)]

    def _of_case(self, exchange: ReadExchange) -> Exchange:
        self._last = exchange
        self.believed += beliefs_of(exchange)
        return exchange_of(exchange.transcript, exchange.recorded.purpose)

    def _heard_on_kept(self, step: KnownGood) -> Heard | None:
        last = self._last
        left_open = last is not None and last.transcript.open
        if self._upcoming is not Purpose.CANARY_SAME:
            self._stays = left_open
            return None
        if not left_open:
            raise RecordedError("a canary is recorded on the same connection, which was closed")
        exchange = self._next()
        if last is not None and not exchange.transcript.reused:
            if self._known.same_suite and not may_be_closed(last, exchange, self._known):
                raise RecordedError(
                    "a canary is recorded on the same connection, but a fresh one was used"
                )
            self.believed.append(Belief.KEPT)
        return self._heard(exchange, step)

    def _heard_on_fresh(self, step: KnownGood) -> Heard:
        liveness = None
        if self._upcoming is Purpose.LIVENESS:
            asked = self._next()
            check_liveness(asked, self._known)
            liveness = asked.transcript
        if self._upcoming is not Purpose.CANARY_FRESH:
            raise RecordedError(
                "the known-good request on a fresh connection is left out; recorded instead: "
                f"{self._purposes() or 'nothing'}"
            )
        exchange = self._next()
        if exchange.transcript.reused:
            raise RecordedError(
                "a canary is recorded on a fresh connection, but the one before was used"
            )
        heard = self._heard(exchange, step)
        if self._stays and self._last is not None:
            closed = may_be_closed(self._last, exchange, self._known)
            if self._known.same_suite and heard.problem is None and not closed:
                raise RecordedError(
                    "the connection was left open, but no known-good request is recorded on it"
                )
            self.believed.append(Belief.KEPT)
        self._last, self._stays = exchange, False
        return Heard(heard.exchange, heard.problem, liveness)

    def _heard(self, exchange: ReadExchange, step: KnownGood) -> Heard:
        expected = exchange.recorded.expected
        self.believed += beliefs_of(exchange)
        if expected is not None:
            self.believed.append(Belief.AS_AT_FIRST)
        problem = problem_of_canary(step.role, exchange, self._known, *step.forms)
        told = exchange_of(exchange.transcript, exchange.recorded.purpose, expected)
        return Heard(told, problem)

    @property
    def _upcoming(self) -> Purpose | None:
        return self._left[0].recorded.purpose if self._left else None

    def _next(self) -> ReadExchange:
        if not self._left:
            raise RecordedError("an exchange of the case is not recorded")
        return self._left.popleft()

    def _purposes(self) -> str:
        return ", ".join(one.recorded.purpose.value for one in self._left)
