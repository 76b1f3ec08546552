"""Runs cases against a server and yields results as events: canary, blame, recovery, concurrency.

A server may die from a case. The case after which the canary fails is the one that fails; later
cases that need what it killed are `not_run` and name it, so that nothing is a collateral failure.
"""

from __future__ import annotations

import subprocess
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from v2_conformance.engine.canary import Canary
from v2_conformance.engine.discovery import Server, server_alive
from v2_conformance.engine.target import Target
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.judge import ERROR, FAIL, INCONCLUSIVE, PASS, Verdict, judge
from v2_conformance.judging.response import Difference
from v2_conformance.judging.survival import (
    FLOODED,
    FRESH,
    JSON,
    MOST_SURPLUS,
    REPEATED,
    SAME,
    Claims,
    needs_canary,
    of_several,
    orphaned,
    skipped,
    stale,
    surplus,
    survived,
    unsent,
)
from v2_conformance.suite.cases import Case
from v2_conformance.wire.encode import Prepared, prepare
from v2_conformance.wire.http1 import Connection, Transcript


@dataclass(frozen=True)
class Exchange:
    """A transcript and what it was for.

    `wanted` is the answer that a canary has to get again where the server answers none exactly.
    `entry` is the case file's entry of a generated request.
    """

    transcript: Transcript
    note: str
    wanted: str = ""
    entry: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Result:
    """What became of one case."""

    case: Case
    outcome: str
    message: str = ""
    duration_s: float = 0.0
    exchanges: tuple[Exchange, ...] = ()
    difference: Difference | None = None


@dataclass(frozen=True)
class CaseFinished:
    """The event that a run yields, `number` of `total`."""

    result: Result
    number: int
    total: int


class Killed(Protocol):
    """Which roles are dead, and by which case; "" stands for the whole server."""

    def culprit(self, role: str) -> str | None:
        """The id of the case that killed `role`, None while it lives."""

    def add(self, role: str, case_id: str) -> None:
        """Say that `case_id` killed `role`."""

    def clear(self, role: str) -> None:
        """Say that `role` lives again, everything for ""."""


@dataclass
class KilledHere:
    """The dead of one process."""

    _dead: dict[str, str] = field(default_factory=dict)

    def culprit(self, role: str) -> str | None:
        """See Killed."""
        return self._dead.get("") or self._dead.get(role)

    def add(self, role: str, case_id: str) -> None:
        """See Killed."""
        self._dead.setdefault(role, case_id)

    def clear(self, role: str) -> None:
        """See Killed."""
        for name in [role] if role else list(self._dead):
            self._dead.pop(name, None)


@dataclass(frozen=True)
class Recovery:
    """How a run gets a dead server back: a shell command of the user's, and how long to wait."""

    command: str | None = None
    wait_s: float = 0.0


_ROUNDS = 5


class Engine:
    """Runs single cases against one target; one connection for each thread."""

    def __init__(
        self,
        target: Target,
        server: Server,
        *,
        recovery: Recovery | None = None,
        killed: Killed | None = None,
    ) -> None:
        self.target = target
        self.server = server
        self._recovery = recovery or Recovery()
        self._killed = killed or KilledHere()
        self._endpoint = target.endpoint()
        self._address = target.address
        self._claims = Claims(target.profiles, target.unsupported, server.present, server.absent)
        self._canary = Canary(target, server)
        self._local = threading.local()
        self._connections: list[Connection] = []
        self._fatal: dict[str, Result] = {}
        self._surplus = 0

    def run(self, case: Case) -> Result:
        """One case with all that belongs to it. Never raises for what the server does."""
        started = time.perf_counter()
        if case.id in self._fatal and self._killed.culprit(case.model) == case.id:
            return self._fatal[case.id]  # what it killed is still dead; once is enough
        skipped = self._skip(case)
        if skipped is not None:
            return Result(case, skipped.outcome, skipped.message)
        try:
            result = self._run(case)
        except CaseFileError as error:
            result = Result(case, ERROR, str(error))
        except Exception as error:  # the suite's own mistake ends neither the run nor in a pass
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno}"
            result = Result(case, ERROR, f"error of the suite: {error!a:.500} at {where}")
        result = replace(result, duration_s=time.perf_counter() - started)
        self._surplus += sum(surplus(exchange.transcript) for exchange in result.exchanges)
        if self._killed.culprit(case.model) == case.id:
            self._fatal[case.id] = result
        return result

    def close(self) -> None:
        """Close the connections of all threads, none of which may be in use."""
        for connection in self._connections:
            connection.close()

    def _skip(self, case: Case) -> Verdict | None:
        verdict = skipped(case, self._claims)
        culprit = None if verdict else self._killed.culprit(case.model)
        if culprit is not None:
            return orphaned(case, culprit)
        return FLOODED if verdict is None and self._surplus > MOST_SURPLUS else verdict

    def _run(self, case: Case) -> Result:
        binding = self.server.present.get(case.model)
        prepared = prepare(case, self._address, binding)
        if case.model:
            silence = self._canary.calibrate(case.model)
            if case.canary == JSON and not silence:
                silence = self._canary.calibrate(case.model, json=True)
            if silence:
                verdict = unsent(case, silence)
                return Result(case, verdict.outcome, verdict.message)
        connection = self._connection()
        if connection.pending():
            connection.close()  # bytes that nobody asked for: they are not this case's
        if case.together > 1:
            verdict, exchanges = self._together(case)
        else:
            transcript, exchanges = self._exchange(prepared, connection)
            verdict = judge(case, prepared, transcript)
            if not transcript.sent:  # the server was away before: not this case's doing
                return _result(case, verdict, exchanges)
        if needs_canary(case, verdict.outcome):
            verdict, more = self._survived(case, verdict, connection)
            exchanges += more
        return _result(case, verdict, exchanges)

    def _exchange(
        self, prepared: Prepared, connection: Connection
    ) -> tuple[Transcript, list[Exchange]]:
        """The case's own exchange, on the kept connection or else a fresh one."""
        transcript = connection.exchange(prepared.pieces, pause_s=prepared.pause_s)
        if stale(transcript):
            again = connection.exchange(prepared.pieces, fresh=True, pause_s=prepared.pause_s)
            if again.sent:  # else the first request may be what ended the server
                return again, [Exchange(again, REPEATED)]
        return transcript, [Exchange(transcript, "")]

    def _together(self, case: Case) -> tuple[Verdict, list[Exchange]]:
        """The case on several connections at once, in rounds; its first failure counts (C6)."""
        binding = self.server.present[case.model]
        variants = [prepare(case, self._address, binding, variant=n) for n in range(case.together)]
        start = threading.Barrier(case.together)

        def talk(prepared: Prepared) -> list[Transcript]:
            connection = Connection(self._endpoint, self.target.limits)
            start.wait()
            try:
                return [connection.exchange(prepared.pieces) for _ in range(_ROUNDS)]
            finally:
                connection.close()

        with ThreadPoolExecutor(case.together) as pool:
            transcripts = list(pool.map(talk, variants))
        judged = [
            (judge(case, prepared, transcript), transcript)
            for prepared, rounds in zip(variants, transcripts, strict=True)
            for transcript in rounds
            if not stale(transcript)
        ]
        bad = [item for item in judged if item[0].outcome != PASS]
        verdict, transcript = (bad or judged)[0]
        exchange = Exchange(transcript, f"one of {len(judged)}, {case.together} at a time")
        return of_several(verdict, len(bad), len(judged)), [exchange]

    def _survived(
        self, case: Case, verdict: Verdict, connection: Connection
    ) -> tuple[Verdict, list[Exchange]]:
        """`verdict`, or a failure where the canary says that the server did not survive."""
        exchanges = []
        same = ""
        if connection.open:
            json = case.canary == JSON
            transcript, problem = self._canary.send(case.model, connection, json=json)
            if not stale(transcript):
                wanted = self._canary.wanted(case.model, json=json)
                exchanges.append(Exchange(transcript, SAME, wanted))
                same = problem
        connection.close()
        transcript, fresh = self._canary.send(case.model, connection)
        exchanges.append(Exchange(transcript, FRESH, self._canary.wanted(case.model)))
        if fresh:
            self._bury(case, connection)
        return survived(verdict, same, fresh), exchanges

    def _bury(self, case: Case, connection: Connection) -> None:
        """Find out what is dead, note who killed it, and get it back if the user said how."""
        connection.close()
        if not self._canary.send(case.model, connection)[1]:
            return  # one request was lost, the model lives
        dead = case.model if server_alive(self.target) else ""
        self._killed.add(dead, case.id)
        recovery = self._recovery
        if recovery.command:
            subprocess.run(recovery.command, shell=True, check=False)
        if (recovery.command or recovery.wait_s) and self._await_recovery(case.model, connection):
            self._killed.clear("" if recovery.command else dead)

    def _await_recovery(self, role: str, connection: Connection) -> bool:
        deadline = time.monotonic() + self._recovery.wait_s
        pause = threading.Event()
        while True:
            connection.close()
            if not self._canary.send(role, connection)[1]:
                return True
            if time.monotonic() >= deadline:
                return False
            pause.wait(0.2)

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = Connection(self._endpoint, self.target.limits)
            self._local.connection = connection
            self._connections.append(connection)
        return connection


def in_order(cases: Sequence[Case]) -> list[Case]:
    """Plan order, but what may leave a server damaged comes after what cannot, dangers last."""
    return sorted(cases, key=lambda case: (case.dangerous, case.negative))


def run(engine: Engine, cases: Sequence[Case], workers: int = 1) -> Iterator[CaseFinished]:
    """Run `cases`, yielding each result as it comes.

    Only cases that cannot damage the server share time with others; whatever of them does not pass
    is run again alone, so that the verdict never depends on what ran beside it.
    """
    with closing(engine):
        yield from _events(engine, in_order(cases), workers)


def _events(engine: Engine, ordered: list[Case], workers: int) -> Iterator[CaseFinished]:
    total = len(ordered)
    count = 0
    alone: list[Case] = []
    shared = [case for case in ordered if not case.alone]
    if workers > 1:
        pool = ThreadPoolExecutor(workers)
        try:
            for future in as_completed([pool.submit(engine.run, case) for case in shared]):
                result = future.result()
                if result.outcome in (FAIL, INCONCLUSIVE):
                    alone.append(result.case)
                    continue
                count += 1
                yield CaseFinished(result, count, total)
        finally:  # a run that is stopped does not do the rest first
            pool.shutdown(cancel_futures=True)
        again = {case.id for case in alone}
        ordered = [c for c in ordered if c.id in again or c not in shared]
    for case in ordered:
        count += 1
        yield CaseFinished(engine.run(case), count, total)


def _result(case: Case, verdict: Verdict, exchanges: Sequence[Exchange]) -> Result:
    return Result(
        case,
        verdict.outcome,
        verdict.message,
        exchanges=tuple(exchanges),
        difference=verdict.difference,
    )
