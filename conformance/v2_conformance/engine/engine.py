"""Runs one case against a server: its exchanges, the canary after it, and who killed what.

A server may die from a case. The case after which the canary fails is the one that fails; later
cases that need what it killed are `not_run` and name it, so that nothing is a collateral failure.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from v2_conformance.engine.budget import Budget, Hangs
from v2_conformance.engine.canary import Canary
from v2_conformance.engine.counterexamples import remove_counterexample, write_counterexample
from v2_conformance.engine.deaths import Deaths, DeathsHere, Recovery
from v2_conformance.engine.discovery import Server
from v2_conformance.engine.fuzzing import Exploration
from v2_conformance.engine.generated import ANSWERED, GeneratedResults
from v2_conformance.engine.patience import Patience, liveness
from v2_conformance.engine.restarting import restart
from v2_conformance.engine.result import Calibrated, Exchange, Result
from v2_conformance.engine.target import Target
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.availability import down
from v2_conformance.judging.judge import judge
from v2_conformance.judging.known_good import Form, own_form
from v2_conformance.judging.observed import Observations
from v2_conformance.judging.survival import (
    FLOODED,
    MOST_SURPLUS,
    Claims,
    hung,
    needs_canary,
    needs_fresh_canary,
    needs_the_dead,
    not_sent,
    of_hang,
    of_several,
    on_same_connection,
    out_of_time,
    passed_alone,
    skipped,
    stale,
    surplus,
    survived,
)
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import (
    Case,
    ClientCase,
    GeneratedCase,
    GetCase,
    ObservedCase,
    RequestCase,
)
from v2_conformance.suite.causes import (
    GeneratedFailure,
    InvalidCase,
    SuiteError,
    Unavailable,
    died,
)
from v2_conformance.suite.findings import printable
from v2_conformance.suite.outcomes import Outcome, Purpose, sample_note
from v2_conformance.wire.encode import Prepared, prepare, prepare_get
from v2_conformance.wire.parting import times
from v2_conformance.wire.stand_ins import stood_in
from v2_conformance.wire.transcript import Ending, Transcript
from v2_conformance.wire.transport import Connection, Transport

_ROUNDS = 5


class Engine:
    """Runs single cases against one target; one connection for each thread."""

    def __init__(
        self,
        target: Target,
        server: Server,
        *,
        transport: Transport | None = None,
        recovery: Recovery | None = None,
        deaths: Deaths | None = None,
        patience: Patience | None = None,
        budget: Budget | None = None,
        directory: Path | None = None,
    ) -> None:
        """`transport` is how to reach the target, its own unless given.

        `patience` is how long it waits for a server that is unavailable, by default as long as for
        an answer. `budget` is the time of the run, without end unless given. `directory`, if given,
        gets a generated request that fails as a case file.
        """
        self.target = target
        self.server = server
        self._recovery = recovery or Recovery()
        self._deaths = deaths or DeathsHere()
        self._directory = directory
        self._transport = transport or target.transport()
        self._address = target.address
        self._claims = Claims(
            target.profiles,
            target.unsupported,
            server.present,
            server.absent,
            target.endpoint,
            target.http2,
        )
        self._patience = patience or Patience(target.limits.exchange_s)
        self._canary = Canary(target, server, self._patience)
        self._local = threading.local()
        self._connections: list[Connection] = []
        self._fatal: dict[str, Result] = {}
        self._surplus = 0
        self._budget = budget
        self._hangs = Hangs(target.limits)
        self.out_of_time = False  # whether a case was not sent because the time was spent

    def run(
        self,
        case: Case,
        observations: Observations | None = None,
        *,
        beside: bool = False,
        again: bool = False,
    ) -> Result:
        """One case with all that belongs to it. Never raises for what the server does.

        A case about all exchanges sends nothing: `observations` has what they show. A case whose
        model the target cannot have is sent to the model that stands in for it, if one does.

        With `beside`, other cases run at the same time. What happens then may be their doing, so no
        known-good request follows, and nothing is declared dead: `run_again` finds out. What was
        begun is run `again` even if the time is spent.
        """
        started = time.perf_counter()
        case = stood_in(case, self.target.unsupported)
        if isinstance(case, ObservedCase):
            found = observations or Observations()
            return Result(case, skipped(case, self._claims) or found.verdict(case))
        if isinstance(case, ClientCase):
            raise TypeError("a scenario for a client is run on the bench")
        if isinstance(case, GeneratedCase):
            result = self._run_generated(case)
            return replace(result, duration_s=time.perf_counter() - started)
        if case.id in self._fatal and self._deaths.killer_of(case.role) == case.id:
            return self._fatal[case.id]  # what it killed is still dead; once is enough
        unsent = self._skip(case)
        if unsent is None and not again and self._budget is not None and self._budget.spent:
            self.out_of_time = True
            unsent = out_of_time(self._budget.limit_s)
        if unsent is not None:
            return Result(case, unsent)
        try:
            result = self._run(case, beside=beside)
        except CaseFileError as error:
            result = Result(case, Verdict(Outcome.ERROR, InvalidCase(str(error))))
        except Exception as error:  # the suite's own mistake ends neither the run nor in a pass
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno}"
            cause = SuiteError(printable(repr(error), 500), where)
            result = Result(case, Verdict(Outcome.ERROR, cause))
        result = replace(result, duration_s=time.perf_counter() - started)
        self._surplus += sum(surplus(exchange.transcript) for exchange in result.exchanges)
        if self._deaths.killer_of(case.role) == case.id:
            self._fatal[case.id] = result
        return result

    def run_again(self, first: Result) -> Result:
        """The result, alone, of a case that came to `first` beside others.

        If a known-good request fails even before the case is sent again, `first` is what counts.
        """
        case = first.case
        sent = bool(first.exchanges) and first.exchanges[0].transcript.sent
        if isinstance(case, RequestCase) and sent and self._skip(case) is None:
            verdict, canaries = self._survived(case, first.verdict, self._fresh_connection())
            if died(verdict.cause):
                return replace(first, verdict=verdict, exchanges=(*first.exchanges, *canaries))
        again = self.run(case, again=True)
        return replace(again, verdict=passed_alone(again.verdict, first.verdict))

    def calibrations(self) -> list[Calibrated]:
        """The calibrations of canaries since this was last called, for the record."""
        return self._canary.news()

    def close(self) -> None:
        """Close the connections of all threads, none of which may be in use."""
        for connection in self._connections:
            connection.close()

    def _skip(self, case: RequestCase | GetCase) -> Verdict | None:
        verdict = skipped(case, self._claims)
        killers = [] if verdict else map(self._deaths.killer_of, case.roles or (None,))
        killer = next((killer for killer in killers if killer is not None), None)
        if killer is not None:
            return needs_the_dead(case, killer)
        return FLOODED if verdict is None and self._surplus > MOST_SURPLUS else verdict

    def _run(self, case: RequestCase | GetCase, *, beside: bool) -> Result:
        prepared = self._prepare(case)
        connection = self._connection()
        if isinstance(case, RequestCase):
            silence = next(filter(None, map(self._calibrated(connection), case.roles)), "")
            if not silence and (case.negative or case.canary):
                silence = self._calibrate_own_form(case, connection)
            if silence:
                return Result(case, not_sent(case, silence))
        if connection.pending():
            connection.close()  # bytes that nobody asked for: they are not this case's
        if isinstance(case, RequestCase) and case.together > 1:
            connection.close()  # a server may serve as many as the case needs, and no more
            verdict, exchanges = self._together(case)
        elif isinstance(case, RequestCase) and "client" in case.request:
            return self._break_off(case, prepared)
        else:
            before = self._before(case, connection)
            if isinstance(case, RequestCase):
                prepared = self._hangs.hurried(case, prepared, self._canary.slowest_s)
            transcript, exchanges = self._exchange(prepared, connection)
            exchanges = before + exchanges
            verdict = judge(case, prepared, transcript)
            if not transcript.sent:  # the server was away before: not this case's doing
                return Result(case, verdict, exchanges=tuple(exchanges))
        watched = isinstance(case, RequestCase) and needs_canary(case, verdict.outcome)
        if isinstance(case, RequestCase) and watched and not beside:
            own = exchanges[-1].transcript
            verdict, more = self._survived(case, verdict, connection, own)
            exchanges += more
        if isinstance(case, RequestCase) and not beside:
            self._hangs.note(case, verdict)
        return Result(case, verdict, exchanges=tuple(exchanges))

    def _calibrated(self, connection: Connection) -> Callable[[str], str]:
        return lambda role: self._canary.calibrate(role, connection)

    def _calibrate_own_form(self, case: RequestCase, connection: Connection) -> str:
        """Find the canary in the case's own form. Returns why the case cannot do without, or ""."""
        if case.canary == "json":
            return self._canary.calibrate(case.model, connection, form="json")
        if own_form(case) != "binary":
            self._canary.calibrate(case.model, connection, form=own_form(case))
        return ""

    def _form(self, case: RequestCase) -> Form:
        """The form of the canary on the case's own connection: the case's, if it is served."""
        if case.canary == "json":
            return "json"
        form = own_form(case)
        return form if self._canary.serves(case.model, form) else "binary"

    def _before(self, case: RequestCase | GetCase, connection: Connection) -> list[Exchange]:
        """The request that the case sends first on the same connection, if there is one."""
        first = case.first if isinstance(case, RequestCase) else None
        if first is None:
            return []
        transcript, _ = self._exchange(self._prepare(first), connection)
        return [_exchange(transcript, Purpose.BEFORE)]

    def _break_off(self, case: RequestCase, prepared: Prepared) -> Result:
        """A case whose client breaks off, on one connection after the other, and what survived."""
        connection = self._fresh_connection()
        transcript = connection.exchange(prepared.request, fresh=True)
        for _ in range(1, times(case.request)):
            again = connection.exchange(prepared.request, fresh=True)
            if not again.sent:
                break  # the one before may be what ended the server
            transcript = again
        connection.close()
        verdict = judge(case, prepared, transcript)
        exchanges = [_exchange(transcript, Purpose.CASE)]
        if transcript.sent:  # else the server was away before
            verdict, more = self._survived(case, verdict, connection)
            exchanges += more
        return Result(case, verdict, exchanges=tuple(exchanges))

    def _prepare(self, case: RequestCase | GetCase) -> Prepared:
        if isinstance(case, GetCase):
            return prepare_get(case, self._address)
        return prepare(case, self._address, self.server.present[case.model])

    def _run_generated(self, case: GeneratedCase) -> Result:
        """The generated requests whose models the server has; the smallest failure counts."""
        if self._directory:
            remove_counterexample(self._directory)  # an older run's
        sent = GeneratedResults()
        for number, entry in enumerate(case.requests, 1):
            made = make_case(entry)
            if skipped(made, self._claims) is None:
                result = self.run(made)
                sent.add(number, entry, result)
                if result.case is not made or result.outcome not in ANSWERED:
                    break  # the server is dead or away: nothing more can be learnt
        verdict = sent.verdict()
        failure = sent.failure
        if failure is not None and failure.exchanges and verdict.cause is not None:
            name = None
            if self._directory:
                how = f"generated request {failure.number}"
                found = Exploration(result=failure.result, entry=failure.entry)
                mask = self.target.mask
                name = write_counterexample(found, mask, self._directory, how).name
            cause = GeneratedFailure(verdict.cause, failure.number, None, None, name)
            verdict = replace(verdict, cause=cause)
        return Result(case, verdict, exchanges=sent.exchanges)

    def _exchange(
        self, prepared: Prepared, connection: Connection
    ) -> tuple[Transcript, list[Exchange]]:
        """The case's own exchange, on the kept connection or else a fresh one."""
        transcript, retried = self._patience.exchange(connection, prepared.request)
        if stale(transcript):
            again, retried = self._patience.exchange(connection, prepared.request, fresh=True)
            if again.sent:  # else the first request may be what ended the server
                purpose = Purpose.RETRIED if retried else Purpose.REPEATED
                return again, [_exchange(again, purpose)]
        return transcript, [_exchange(transcript, Purpose.RETRIED if retried else Purpose.CASE)]

    def _together(self, case: RequestCase) -> tuple[Verdict, list[Exchange]]:
        """The case on several connections at once, in rounds; its first failure counts (C6)."""
        members = [case.member(n) for n in range(case.together)]
        variants = [
            prepare(member, self._address, self.server.present[member.model], variant=n)
            for n, member in enumerate(members)
        ]
        start = threading.Barrier(case.together)

        def talk(prepared: Prepared) -> list[Transcript]:
            connection = self._transport.connection()
            start.wait()
            found = []
            try:
                for _ in range(_ROUNDS):
                    found.append(
                        self._patience.exchange(connection, prepared.request, unasked=True)[0]
                    )
                    if found[-1].ending is Ending.TIMEOUT:
                        break  # one is enough
                return found
            finally:
                connection.close()

        with ThreadPoolExecutor(case.together) as pool:
            transcripts = list(pool.map(talk, variants))
        judged = [
            (judge(member, prepared, transcript), transcript)
            for member, prepared, rounds in zip(members, variants, transcripts, strict=True)
            for transcript in rounds
            if not stale(transcript)
        ]
        bad = [item for item in judged if not item[0].outcome.harmless]
        unclear = [item for item in judged if item[0].outcome is not Outcome.PASS]
        verdict, transcript = (bad or unclear or judged)[0]
        note = sample_note(len(judged), case.together)
        exchange = Exchange(transcript, Purpose.SAMPLE, note)
        return of_several(verdict, len(bad), len(judged)), [exchange]

    def _survived(
        self,
        case: RequestCase,
        verdict: Verdict,
        connection: Connection,
        own: Transcript | None = None,
    ) -> tuple[Verdict, list[Exchange]]:
        """`verdict`, or a failure if the canary says that the server did not survive.

        With the case's `own` exchange it is also a failure if the server hung in it.
        """
        exchanges = []
        same = None
        if connection.open:
            form = self._form(case)
            transcript, problem = self._canary.send(case.model, connection, form=form)
            if not stale(transcript):
                expected = self._canary.expected(case.model, form=form)
                exchanges.append(_exchange(transcript, Purpose.CANARY_SAME, expected))
                exact = problem is None and expected is None
                if not needs_fresh_canary(case, verdict.outcome, exact):
                    return verdict, exchanges
                same = on_same_connection(transcript, problem)
        connection.close()
        expected = self._canary.expected(case.model)
        seen = self._canary.send_patiently(case.model, connection)
        if seen.liveness is not None:
            exchanges.append(_exchange(seen.liveness, Purpose.LIVENESS))
        exchanges.append(_exchange(seen.transcript, Purpose.CANARY_FRESH, expected))
        if seen.problem is not None and not isinstance(seen.problem, Unavailable):
            self._record_death(case, connection)
        if own is not None and same is None and seen.problem is None:
            verdict = of_hang(verdict, hung(case, own, seen.transcript))
        return survived(verdict, same, seen.problem, seen.liveness), exchanges

    def _record_death(self, case: RequestCase, connection: Connection) -> None:
        """Find out what is dead, note who killed it, and get it back if the user said how."""
        connection.close()
        if self._canary.send(case.model, connection)[1] is None:
            return  # one request was lost, the model lives
        dead = None if down(liveness(connection, self._address)) else case.model
        self._deaths.add(dead, case.id)
        recovery = self._recovery
        if recovery.command:
            restart(recovery.command, self.target.mask)
        if (recovery.command or recovery.wait_s) and self._await_recovery(case.model, connection):
            self._deaths.clear(None if recovery.command else dead)

    def _await_recovery(self, role: str, connection: Connection) -> bool:
        deadline = time.monotonic() + self._recovery.wait_s
        pause = threading.Event()
        while True:
            connection.close()
            if self._canary.send(role, connection)[1] is None:
                return True
            if time.monotonic() >= deadline:
                return False
            pause.wait(0.2)

    def _fresh_connection(self) -> Connection:
        connection = self._connection()
        connection.close()
        return connection

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._transport.connection()
            self._local.connection = connection
            self._connections.append(connection)
        return connection


def _exchange(transcript: Transcript, purpose: Purpose, expected: str | None = None) -> Exchange:
    return Exchange(transcript, purpose, purpose.note, expected)
