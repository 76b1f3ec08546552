"""A known-good request for each model, to see whether the server survived a case."""

from __future__ import annotations

import math
import threading
from collections.abc import Collection

from msgspec.structs import replace

from v2_conformance.conversations.discovery import FirstAnswer, Server, calibration
from v2_conformance.conversations.learning import learned_again
from v2_conformance.conversations.steps import Calibrated, CanaryAnswer, play
from v2_conformance.judging.availability import hung
from v2_conformance.judging.known_good import Form, known_good, problem_with
from v2_conformance.judging.observed.cases import observe_first_answer
from v2_conformance.judging.observed.exchanges import Observation
from v2_conformance.runs.patience import Patience, answered, liveness
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.encode.requests import Prepared
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending
from v2_conformance.wire.transport import Connection

TIMES = 8
"""How often a request with a wrong answer is sent again: a model that answers half of all requests
differently does so nine times in a row in one of 500 cases."""

_UNCLEAR = "no exact answer while other cases ran"
_MANY_UNANSWERED = 4
_HURRIED_S = 1.0


class Canary:
    """Known-good requests. Each is calibrated before any case has touched the model: it has the
    first form that this server answers exactly, so a case must have caused a later failure.

    A server that left several of them in a row without an answer, or with one that does not end,
    gets little time for the next; otherwise a run against a server that answers none would wait for
    hours."""

    def __init__(self, target: Target, server: Server, patience: Patience) -> None:
        self._patience = patience
        self._target = target
        self._server = server
        self._known: dict[tuple[str, Form], FirstAnswer] = {}
        self._right: dict[tuple[str, Form], bytes] = {}
        self._lock = threading.Lock()
        self._finding: dict[tuple[str, Form], threading.Lock] = {}
        self._news: list[Calibrated] = []
        self._unanswered = 0  # how many calibrations in a row
        self._seen: list[tuple[str, Observation]] = []  # by role
        self.slowest_s = 0.0  # the longest time of a known-good request in calibration
        self.fastest_s = math.inf  # and the shortest

    def news(self) -> list[Calibrated]:
        """Return the calibrations made since the last call."""
        with self._lock:
            news, self._news = self._news, []
        return news

    def seen(self, differing: Collection[str]) -> list[Observation]:
        """Return what calibrations show about first answers, except of roles in `differing`."""
        return [seen for role, seen in self._seen if role not in differing]

    def calibrate(
        self, role: str, connection: Connection, *, form: Form = "binary", alone: bool = True
    ) -> str:
        """Find the canary for `role`, once, in `form`.

        `connection` is the caller's own, opened again and closed afterward: a second open
        connection would wait forever for a server that serves one at a time. Unless nothing else
        runs (`alone`) only an exact answer is kept.

        Returns why the model cannot be tested, or "" if it answers known-good requests, even if not
        well.
        """
        with self._lock:
            finding = self._finding.setdefault((role, form), threading.Lock())
        with finding:
            known = self._known.get((role, form))
            if known is not None:
                return known.silence
            binding = self._server.present[role]
            exchanges: list[Exchange] = []

            def ask(way: Prepared) -> Exchange:
                # Fresh: the server may have closed the connection after refusing the last form.
                hurried = self._unanswered >= _MANY_UNANSWERED
                request = replace(way.request, limit_s=_HURRIED_S) if hurried else way.request
                send = self._patience.exchange
                exchange = answered(lambda: send(connection, request, fresh=True, unasked=True)[0])
                exchanges.append(exchange.for_purpose(Purpose.CALIBRATION))
                self._note(exchange)
                return exchange

            try:
                ways = known_good(role, self._target.address, binding, form)
                first = play(calibration(ways), ask)
            finally:
                connection.close()
            if not alone and first.expected is not None:
                return first.silence or _UNCLEAR
            if first.lasting:
                self._known[role, form] = first
                with self._lock:
                    self._news.append(Calibrated(role, form, tuple(exchanges)))
                    self._seen.append((role, observe_first_answer(role, form, first.wrong)))
            return first.silence

    def _note(self, exchange: Exchange) -> None:
        with self._lock:
            answered = exchange.response is not None
            if answered:
                self.slowest_s = max(self.slowest_s, exchange.duration_ms / 1000)
                self.fastest_s = min(self.fastest_s, exchange.duration_ms / 1000)
            if hung(exchange) or exchange.ending is Ending.TOO_LARGE:
                self._unanswered += 1
            elif answered:
                self._unanswered = 0

    def answered(self, role: str, form: Form) -> bool:
        """Return True if the canary for `role` is known in `form` and gets an answer."""
        known = self._known.get((role, form))
        return known is not None and not known.silence

    def serves(self, role: str, form: Form) -> bool:
        """Return True if the canary for `role` was answered exactly in `form`."""
        return self.answered(role, form) and self._known[role, form].expected is None

    def roles(self) -> list[str]:
        """Return the roles whose canary gets an answer, in the order in which they were found."""
        return [role for role, form in list(self._known) if self.answered(role, form)]

    def send(
        self,
        role: str,
        connection: Connection,
        *,
        form: Form = "binary",
        limit_s: float | None = None,
    ) -> CanaryAnswer:
        """Send the canary, on the connection if it is open, with its own timeout if given."""
        request = self._known[role, form].prepared.request
        if limit_s is not None:
            request = replace(request, limit_s=limit_s)
        exchange = connection.exchange(request)
        return self._judged(role, form, exchange, Purpose.CANARY_SAME)

    def send_patiently(self, role: str, connection: Connection) -> CanaryAnswer:
        """Send the canary on a fresh connection, again while the server is unavailable."""
        alive: list[Exchange] = []
        exchange, _ = self._patience.exchange(
            connection,
            self._known[role, "binary"].prepared.request,
            fresh=True,
            unasked=True,
            at_loss=lambda: alive.append(liveness(connection, self._target.address)),
        )
        answer = self._judged(role, "binary", exchange, Purpose.CANARY_FRESH)
        return replace(answer, liveness=alive[0] if alive else None)

    def answers_json(self, role: str, connection: Connection) -> bool:
        """Return True if the plainest request gets its right answer, on a fresh connection."""
        binding = self._server.present[role]
        ways = known_good(role, self._target.address, binding, "json")
        sent = ((way, connection.exchange(way.request, fresh=True)) for way in ways)
        return any(problem_with(way, None, exchange) is None for way, exchange in sent)

    def repeats(self, role: str, special: int | None, connection: Connection) -> bool:
        """Return True if a model answers what it was learned from with the same values again."""
        binding, address = self._server.present[role], self._target.address

        def ask(prepared: Prepared) -> Exchange:
            return connection.exchange(prepared.request)

        return play(learned_again(binding, address, special, TIMES), ask)

    def expected(self, role: str, form: Form = "binary") -> str | None:
        """Return the answer that the canary must get again, None for the exact one."""
        return self._known[role, form].expected

    def _judged(self, role: str, form: Form, exchange: Exchange, purpose: Purpose) -> CanaryAnswer:
        problem = self._problem(role, form, exchange)
        return CanaryAnswer(
            exchange.for_purpose(purpose, expected=self.expected(role, form)), problem
        )

    def _problem(self, role: str, form: Form, exchange: Exchange) -> Cause | None:
        known = self._known[role, form]
        if known.expected is None:
            right = self._right.get((role, form))
            if exchange.ending is Ending.COMPLETE and exchange.received == right:
                return None  # byte for byte an answer that was right before
        problem = problem_with(known.prepared, known.expected, exchange)
        if problem is None and problem_with(known.prepared, None, exchange) is None:
            self._right[role, form] = bytes(exchange.received)
            self._known[role, form] = replace(known, expected=None)  # from now on it must be exact
        return problem
