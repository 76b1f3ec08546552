"""Plays the conversations of cases with a server, on one connection for each thread.

A server may close an idle connection at any time (RFC 9112, section 9.5). So a request that only
finds its connection closed is sent again on a fresh one, unless the server is gone. Requests that
are sent at once have a connection each, opened before, in smaller groups if it serves only few."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from v2_conformance.conversations.case import conversation
from v2_conformance.conversations.steps import (
    Answer,
    Ask,
    AskTogether,
    Calibrate,
    CanaryAnswer,
    Known,
    KnownGood,
    Result,
    Step,
    play,
)
from v2_conformance.judging.availability import hung, unavailable
from v2_conformance.judging.survival import stale
from v2_conformance.runs.canary import Canary
from v2_conformance.runs.patience import LOST, Hangs, Patience
from v2_conformance.suite.cases import ROUNDS, GetCase, RequestCase
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.encode.requests import get_request
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending
from v2_conformance.wire.transport import WAKING_S, Connection, Request

_In = TypeVar("_In")
_Out = TypeVar("_Out")

_SHORTEST_PAUSE_S = 0.001
_REFUSAL_S = 1.0  # until a server ends a connection beyond its limit
_LOOKS = 3  # attempts in a run to find a limit of connections
_RESENT_S = 0.9  # TCP sends a lost SYN again after a second
_LONG_S = 3.0  # after this, requests that are sent at once are sent only a few times


class Live:
    """Has conversations with one server. The engine decides whether a case has a conversation at
    all, and what it counts for."""

    def __init__(
        self,
        known: Known,
        connect: Callable[[], Connection],
        patience: Patience,
        canary: Canary,
        hangs: Hangs,
    ) -> None:
        self._known = known
        self._patience = patience
        self.hangs = hangs
        self._local = threading.local()
        self._connections: list[Connection] = []
        self.canary = canary
        self._connect = connect
        self._most_connections = sys.maxsize  # at once
        self._looks_for_it = _LOOKS
        self._queue_was_full = False

    def converse(
        self, case: RequestCase | GetCase, *, alone: bool = True, again: bool = False
    ) -> Result:
        """Have the conversation of a case, `alone` or beside others. Raises CaseFileError for one
        that cannot be sent.

        What is sent in many rounds is sent in one if the case is sent `again`: on a path that loses
        one message in a hundred, some of hundreds would be lost each time.
        """
        one = _Driver(self, case, self.connection(), alone, again)
        return play(conversation(case, self._known), one.answer)

    def confirming_s(self) -> float:
        """Return the time limit of a request of a case that is sent again."""
        return self.hangs.confirming_s(self.canary.slowest_s)

    def paced(self, request: Request) -> Request:
        """Return `request` with pauses of at most two of this server's fastest answers."""
        if not 0 < request.pause_s <= WAKING_S:
            return request
        pause_s = max(_SHORTEST_PAUSE_S, 2 * self.canary.fastest_s)
        return replace(request, pause_s=min(request.pause_s, pause_s))

    def connection(self) -> Connection:
        """Return this thread's connection."""
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._connect()
            self._local.connection = connection
            self._connections.append(connection)
        return connection

    def fresh_connection(self) -> Connection:
        """Return this thread's connection, closed: the next exchange opens it again."""
        connection = self.connection()
        connection.close()
        return connection

    def hang_up(self) -> None:
        """Close and forget the connections of all threads, none of which may be in use."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._local = threading.local()

    def exchange(self, connection: Connection, request: Request) -> tuple[Exchange, Purpose]:
        """Exchange a case's own request, on the kept connection or a fresh one."""
        exchange, retried = self._patience.exchange(connection, request)
        if stale(exchange):
            again, again_retried = self._patience.exchange(connection, request, fresh=True)
            if again.sent:  # otherwise the first request may have killed the server
                return again, Purpose.RETRIED if again_retried else Purpose.REPEATED
        return exchange, Purpose.RETRIED if retried else Purpose.CASE

    def serves_together(self, number: int) -> bool:
        """Return True if this many connections, all kept open, each get an answer. A server may
        serve one connection after the other, have few threads for them, or answer 503 to those
        beyond its limit."""
        self.hang_up()
        request = get_request(self._known.address, "/v2")
        connections = [self._connect() for _ in range(number)]
        coming = in_threads(lambda one: one.exchange(request), connections, number)
        exchanges = [one.result() for one in coming]
        for connection in connections:
            connection.close()
        return all(one.ending is Ending.COMPLETE and not unavailable(one) for one in exchanges)

    def together(self, requests: Sequence[Request], rounds: int) -> list[tuple[int, Exchange]]:
        """Send each request on a connection of its own, all at once, in rounds: fewer than
        asked for if they take long, since a server far away needs a round trip for each. A server
        that ends connections beyond a limit gets no more at once than it serves, and one whose
        queue of new connections is short gets fewer: the kernel loses those beyond it, which come
        again a second later, and may reset them then."""
        most = min(self._most_connections, len(requests))
        groups = [requests[at : at + most] for at in range(0, len(requests), most)]
        by_connection = [each for group in groups for each in self._at_once(group, rounds)]
        exchanges = [(number, one) for number, each in enumerate(by_connection) for one in each]
        unanswered = any(
            one.ending in (*LOST, Ending.TIMEOUT) and not (one.reused or one.received)
            for _, one in exchanges
        )
        if unanswered and self._queue_was_full and most > 2:
            self._queue_was_full, self._most_connections = False, (most + 1) // 2
            return self.together(requests, rounds)
        if unanswered and self._looks_for_it and self._finds_limit(len(requests)):
            return self.together(requests, rounds)
        return [item for item in exchanges if not stale(item[1])]

    def _at_once(self, requests: Sequence[Request], rounds: int) -> list[list[Exchange]]:
        start = threading.Barrier(len(requests))

        def talk(request: Request) -> list[Exchange]:
            connection = self._connect()
            began = time.monotonic()
            connection.connect()  # the time that it takes would spread the requests
            self._queue_was_full |= time.monotonic() - began > _RESENT_S
            start.wait()
            began, exchanges = time.monotonic(), []
            try:
                for number in range(rounds):
                    if number >= ROUNDS and time.monotonic() - began > _LONG_S:
                        break
                    exchange = self._patience.exchange(connection, request, unasked=True)
                    exchanges.append(exchange[0])
                    if exchanges[-1].ending is Ending.TIMEOUT:
                        break  # one is enough
                return exchanges
            finally:
                connection.close()

        return [one.result() for one in in_threads(talk, requests, len(requests))]

    def _finds_limit(self, number: int) -> bool:
        """Open `number` idle connections. If the server keeps the first and ends others, as it may
        (RFC 9112, section 9.4), open at most half as many at once from then on as it kept, because
        it may not have noticed yet that some were closed. Return True if that is fewer."""
        self._looks_for_it -= 1
        connections = [self._connect() for _ in range(number)]
        for connection in connections:
            connection.connect()
        time.sleep(_REFUSAL_S)
        kept = [connection.open for connection in connections]
        for connection in connections:
            connection.close()
        before = self._most_connections
        if kept[0] and not all(kept):
            self._most_connections = min(before, (sum(kept) + 1) // 2)
        return self._most_connections < before


def in_threads(
    work: Callable[[_In], _Out], items: Iterable[_In], number: int
) -> list[Future[_Out]]:
    """Start `work` on all `items` in so many daemon threads. An interrupted run leaves them behind;
    with a ThreadPoolExecutor, the process would wait until they have their answers."""
    coming = [(item, Future[_Out]()) for item in items]
    left = deque(coming)

    def take() -> None:
        with suppress(IndexError):
            while True:
                item, future = left.popleft()
                try:
                    future.set_result(work(item))
                except BaseException as error:
                    future.set_exception(error)

    for _ in range(number):
        threading.Thread(target=take, daemon=True).start()
    return [future for _, future in coming]


@dataclass
class _Driver:
    """Takes the steps of one conversation."""

    _live: Live
    _case: RequestCase | GetCase
    _connection: Connection
    _alone: bool
    _again: bool
    _ready: bool = False  # what was left on the connection is gone

    def answer(self, step: Step) -> Answer:
        """Do what a step says, and return its answer."""
        if isinstance(step, Calibrate):
            calibrate = self._live.canary.calibrate
            return calibrate(step.role, self._connection, form=step.form, alone=self._alone)
        if not self._ready:
            self._ready = True
            if self._connection.pending():
                self._connection.close()  # unsolicited bytes, which do not belong to this case
        if isinstance(step, Ask):
            return self._broken_off(step) if step.fresh else self._asked(step)
        if isinstance(step, AskTogether):
            assert isinstance(self._case, RequestCase)
            self._connection.close()  # a server may serve just as many connections as this needs
            requests = [
                self._in_time(one.request, self._case.member(number).negative)
                for number, one in enumerate(step.prepared)
            ]
            return self._live.together(requests, 1 if self._again else step.rounds)
        if step.fresh:
            self._connection.close()
            return self._live.canary.send_patiently(step.role, self._connection)
        return self._sent_on_kept(step)

    def _in_time(self, request: Request, negative: bool) -> Request:
        """Return a request, which may have to be refused if `negative`, with its time limit."""
        request = self._live.paced(request)
        if self._again:
            pauses_s = request.pause_s * len(request.http1)
            return replace(request, limit_s=self._live.confirming_s() + pauses_s)
        if isinstance(self._case, GetCase):
            return request
        return self._live.hangs.hurried(negative, request, self._live.canary.slowest_s)

    def _asked(self, step: Ask) -> Exchange:
        before = step.purpose is Purpose.BEFORE
        request = self._in_time(step.prepared.request, self._case.negative or before)
        if before and request.limit_s is None:
            limit_s = self._live.hangs.before_s(self._live.canary.slowest_s)
            request = replace(request, limit_s=limit_s)
        exchange, purpose = self._live.exchange(self._connection, request)
        if before and hung(exchange):
            self._live.hangs.note_before()
        for _ in range(1, step.times):
            if hung(exchange):
                break  # one is enough
            exchange, purpose = self._live.exchange(self._connection, request)
        return exchange.for_purpose(purpose)

    def _broken_off(self, step: Ask) -> Exchange:
        self._connection.close()
        request = self._live.paced(step.prepared.request)
        exchange = self._connection.exchange(request, fresh=True)
        for _ in range(1, step.times):
            again = self._connection.exchange(request, fresh=True)
            if not again.sent:
                break  # the previous one may have killed the server
            exchange = again
        self._connection.close()
        return exchange.for_purpose(step.purpose)

    def _sent_on_kept(self, step: KnownGood) -> CanaryAnswer | None:
        if not self._connection.open:
            return None
        *preferred, last = step.forms
        serves = self._live.canary.serves
        form = next((form for form in preferred if serves(step.role, form)), last)
        answer = self._live.canary.send(
            step.role,
            self._connection,
            form=form,
            limit_s=self._live.confirming_s() if self._again else None,
        )
        return None if stale(answer.exchange) else answer
