"""Sends what one case is made of: its request, and the known-good ones before and behind it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from v2_conformance.engine.aftermath import Aftermath, exchange_of
from v2_conformance.engine.at_once import at_once
from v2_conformance.engine.budget import Hangs
from v2_conformance.engine.canary import Canary
from v2_conformance.engine.discovery import Server
from v2_conformance.engine.patience import Patience
from v2_conformance.engine.result import Exchange, Result
from v2_conformance.engine.target import Target
from v2_conformance.judging.judge import judge
from v2_conformance.judging.known_good import Form, own_form
from v2_conformance.judging.survival import needs_canary, not_sent, stale
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import GetCase, RequestCase
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.wire.encode import Prepared, get_request, prepare, prepare_get
from v2_conformance.wire.parting import times
from v2_conformance.wire.transcript import Ending, Transcript
from v2_conformance.wire.transport import Connection, Transport


class Sender:
    """Sends cases to one target; one connection for each thread.

    Whether a case is sent at all, and what its result counts for, is the engine's to say.
    """

    def __init__(
        self,
        target: Target,
        server: Server,
        *,
        transport: Transport,
        patience: Patience,
        canary: Canary,
        aftermath: Aftermath,
    ) -> None:
        self._server = server
        self._transport = transport
        self._address = target.address
        self._patience = patience
        self._canary = canary
        self._aftermath = aftermath
        self._local = threading.local()
        self._connections: list[Connection] = []
        self.hangs = Hangs(target.limits)

    def send(
        self,
        case: RequestCase | GetCase,
        *,
        beside: bool,
        begun: Prepared | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Result:
        """Everything that belongs to one case, in order, and what it came to.

        With `beside`, other cases run at the same time. `begun` is the case's request, if that was
        sent already. `meanwhile` is called while the server answers a known-good request behind it.
        """
        prepared = self.prepare(case) if begun is None else begun
        connection = self._connection()
        if isinstance(case, RequestCase) and begun is None:
            silence = self._calibrate(case, connection, beside=beside)
            if silence:
                return Result(case, not_sent(case, silence))
        if isinstance(case, RequestCase) and case.negative:
            hurt = self._take_turn(case, connection)
            if hurt is not None:
                return hurt
        if connection.pending():
            connection.close()  # bytes that nobody asked for: they are not this case's
        if isinstance(case, RequestCase) and case.together > 1:
            connection.close()  # a server may serve as many as the case needs, and no more
            verdict, exchanges = self._at_once(case)
        elif isinstance(case, RequestCase) and "client" in case.request:
            return self._break_off(case, prepared, beside=beside)
        else:
            before = self._before(case, connection)
            if begun is None:
                prepared = self._in_time(case, prepared)
            transcript, exchanges = self._exchange(prepared, connection)
            exchanges = before + exchanges
            if isinstance(case, RequestCase) and case.negative and transcript.sent:
                self._aftermath.begin(case, connection)  # whatever the verdict is
            verdict = judge(case, prepared, transcript)
            if meanwhile is not None and case.negative:
                meanwhile()
            if not transcript.sent:  # the server was away before: not this case's doing
                return Result(case, verdict, exchanges=tuple(exchanges))
        if isinstance(case, RequestCase) and needs_canary(case, verdict.outcome):
            own = exchanges[-1].transcript
            verdict, more = self._aftermath.survived(case, verdict, connection, own, beside=beside)
            exchanges += more
        if isinstance(case, RequestCase) and not beside:
            self.hangs.note(case, verdict)
        return Result(case, verdict, exchanges=tuple(exchanges))

    def prepare(self, case: RequestCase | GetCase) -> Prepared:
        """The request of a case. Raises CaseFileError for one that cannot be made."""
        if isinstance(case, GetCase):
            return prepare_get(case, self._address)
        return prepare(case, self._address, self._server.present[case.model])

    def begin(self, case: RequestCase | GetCase, prepared: Prepared) -> Prepared | None:
        """Send the request of a case, whose answer `send` reads; what was sent, None if something
        else has to be sent first."""
        if isinstance(case, RequestCase) and not all(
            self._canary.answered(role, form) for role, form in self._canaries(case)
        ):
            return None
        hurried = self._in_time(case, prepared)
        self._connection().begin(hurried.request)
        return hurried

    def calibrate(self, case: RequestCase) -> None:
        """Find the canaries of a case before it is sent, beside those of others."""
        self._calibrate(case, self._connection(), beside=True)

    def lingers(self, case: RequestCase, *, any_form: bool) -> bool:
        """Whether what `case`, which a server has to reject, leaves behind hurts a known-good
        request on another connection, too: the one that follows it, or one in `any_form`."""
        others = self._canary.forms(case.model) if any_form else []
        request = self.prepare(case).request
        other = self._transport.connection()
        try:
            for form in dict.fromkeys((self._aftermath.form(case), *others)):
                self.fresh_connection().exchange(request)
                if self._canary.send(case.model, other, form=form)[1] is not None:
                    return True
        finally:
            other.close()
        return False

    def serves_together(self, number: int) -> bool:
        """Whether so many connections, all of which stay open, get an answer each.

        A server may serve one connection after the other, or have few threads for them.
        """
        request = get_request(self._address, "/v2")
        connections = [self._transport.connection() for _ in range(number)]
        try:
            with ThreadPoolExecutor(number) as pool:
                found = list(pool.map(lambda one: one.exchange(request).ending, connections))
        finally:
            for connection in connections:
                connection.close()
        return set(found) == {Ending.COMPLETE}

    def fresh_connection(self) -> Connection:
        """The connection of this thread, closed: what is sent next opens it anew."""
        connection = self._connection()
        connection.close()
        return connection

    def hang_up(self, *, forget: bool = False) -> None:
        """Close the connections of all threads, none of which may be in use.

        With `forget`, that the server had closed them before is in no transcript to come.
        """
        for connection in self._connections:
            connection.close()
        if forget:
            self._connections.clear()
            self._local = threading.local()

    def _calibrate(self, case: RequestCase, connection: Connection, *, beside: bool) -> str:
        """Find the canaries of the case. Returns why it cannot do without one, or ""."""
        for role, form in self._canaries(case):
            silence = self._canary.calibrate(role, connection, form=form, beside=beside)
            dispensable = form != "binary" and case.canary != "json"
            if dispensable and beside:
                dispensable = self._canary.found(role, form)
            if silence and not dispensable:
                return silence
        return ""

    def _canaries(self, case: RequestCase) -> list[tuple[str, Form]]:
        """The roles and forms of the known-good requests that the case needs."""
        own: Form = "json" if case.canary == "json" else own_form(case)
        needed: list[tuple[str, Form]] = [(role, "binary") for role in case.roles]
        if own != "binary" and (case.negative or case.canary):
            needed.append((case.model, own))
        return needed

    def _take_turn(self, case: RequestCase, connection: Connection) -> Result | None:
        """Wait until the case may be sent, and see that the one before has left nothing behind if
        no other known-good request does. The result if it has: the case is not sent then."""
        turns = self._aftermath.turns
        if turns is None or (connection.open and turns.left_behind()):
            return None
        form = self._aftermath.form(case)
        for _ in range(2):
            kept = connection.open  # what needs a new one reaches the server later than others
            if kept:
                turns.known_good()
            transcript, problem = self._canary.send(case.model, connection, form=form)
            if problem is not None and not stale(transcript):
                seen = exchange_of(transcript, Purpose.CANARY_SAME)
                return Result(case, Verdict(Outcome.INCONCLUSIVE, problem), exchanges=(seen,))
            if turns.left_behind() or kept or not connection.open:
                break
        return None

    def _before(self, case: RequestCase | GetCase, connection: Connection) -> list[Exchange]:
        """The request that the case sends first on the same connection, if there is one."""
        first = case.first if isinstance(case, RequestCase) else None
        if first is None:
            return []
        transcript, _ = self._exchange(self.prepare(first), connection)
        return [exchange_of(transcript, Purpose.BEFORE)]

    def _break_off(self, case: RequestCase, prepared: Prepared, *, beside: bool) -> Result:
        """A case whose client breaks off, on one connection after the other, and what survived."""
        connection = self.fresh_connection()
        transcript = connection.exchange(prepared.request, fresh=True)
        for _ in range(1, times(case.request)):
            again = connection.exchange(prepared.request, fresh=True)
            if not again.sent:
                break  # the one before may be what ended the server
            transcript = again
        connection.close()
        verdict = judge(case, prepared, transcript)
        exchanges = [exchange_of(transcript, Purpose.CASE)]
        if transcript.sent:  # else the server was away before
            verdict, more = self._aftermath.survived(case, verdict, connection, beside=beside)
            exchanges += more
        return Result(case, verdict, exchanges=tuple(exchanges))

    def _in_time(self, case: RequestCase | GetCase, prepared: Prepared) -> Prepared:
        """`prepared` with the time that its server has for it."""
        if not isinstance(case, RequestCase):
            return prepared
        return self.hangs.hurried(case, prepared, self._canary.slowest_s)

    def _exchange(
        self, prepared: Prepared, connection: Connection
    ) -> tuple[Transcript, list[Exchange]]:
        """The case's own exchange, on the kept connection or else a fresh one."""
        transcript, retried = self._patience.exchange(connection, prepared.request)
        if stale(transcript):
            again, retried = self._patience.exchange(connection, prepared.request, fresh=True)
            if again.sent:  # else the first request may be what ended the server
                purpose = Purpose.RETRIED if retried else Purpose.REPEATED
                return again, [exchange_of(again, purpose)]
        return transcript, [exchange_of(transcript, Purpose.RETRIED if retried else Purpose.CASE)]

    def _at_once(self, case: RequestCase) -> tuple[Verdict, list[Exchange]]:
        members = [case.member(n) for n in range(case.together)]
        variants = [
            prepare(member, self._address, self._server.present[member.model], variant=n)
            for n, member in enumerate(members)
        ]
        return at_once(members, variants, self._transport, self._patience)

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._transport.connection()
            self._local.connection = connection
            self._connections.append(connection)
        return connection
