"""What a case leaves behind: whether the server survived it, what is dead, and who killed that."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from v2_conformance.engine.canary import Canary, Seen
from v2_conformance.engine.deaths import Deaths, Recovery
from v2_conformance.engine.patience import liveness
from v2_conformance.engine.repeating import TIMES
from v2_conformance.engine.restarting import restart
from v2_conformance.engine.result import Exchange, Result
from v2_conformance.engine.target import Target
from v2_conformance.engine.turns import Turns
from v2_conformance.judging.availability import down
from v2_conformance.judging.known_good import Form, own_form
from v2_conformance.judging.survival import (
    hung,
    needs_fresh_canary,
    of_hang,
    on_same_connection,
    stale,
    survived,
    unused,
)
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import RelationCase, RequestCase
from v2_conformance.suite.causes import DidNotSurvive
from v2_conformance.suite.circumstances import Unavailable
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.transcript import Ending, Transcript
from v2_conformance.wire.transport import Connection

_OWN = (Purpose.CASE, Purpose.REPEATED, Purpose.RETRIED, Purpose.SAMPLE)
_ANEW_WITHIN_S = 5.0  # how long a server that was started anew may take for its first answer


@dataclass(frozen=True)
class Killing:
    """The case that is held to have killed `role`, None for the whole server."""

    role: str | None
    result: Result


class Aftermath:
    """Known-good requests after cases of one target, and the record of who killed what."""

    def __init__(self, target: Target, canary: Canary, deaths: Deaths, recovery: Recovery) -> None:
        self._target = target
        self._canary = canary
        self._deaths = deaths
        self._recovery = recovery
        self.turns: Turns | None = None  # while cases share the server
        self.opens_ahead = False  # whether it may have a second connection while one is in use

    def begin(self, case: RequestCase, connection: Connection) -> None:
        """Send the known-good request that `survived` sends first, if it may be sent at once."""
        if self.turns is None:
            self._canary.begin(case.model, connection, form=self.form(case))

    def survived(
        self,
        case: RequestCase,
        verdict: Verdict,
        connection: Connection,
        own: Transcript | None = None,
        *,
        beside: bool = False,
    ) -> tuple[Verdict, list[Exchange]]:
        """`verdict`, or a failure if the canary says that the server did not survive.

        With the case's `own` exchange it is also a failure if the server hung in it. With `beside`,
        other cases run, any of which may be why, so that nothing is declared dead.
        """
        exchanges = []
        same = None
        ahead = self.opens_ahead and connection.open
        if connection.open:
            if ahead and needs_fresh_canary(case, verdict.outcome, exact=True):
                connection.open_ahead()  # it takes a round trip, as the known-good request does
            form = self.form(case)
            if self.turns is not None:
                self.turns.known_good()
                self.turns.leave()
            transcript, problem = self._canary.send(case.model, connection, form=form)
            if not stale(transcript):
                expected = self._canary.expected(case.model, form=form)
                exchanges.append(exchange_of(transcript, Purpose.CANARY_SAME, expected))
                exact = problem is None and expected is None
                if not needs_fresh_canary(case, verdict.outcome, exact):
                    return verdict, exchanges
                same = on_same_connection(transcript, problem)
        connection.close()
        expected = self._canary.expected(case.model)
        seen = self._canary.send_patiently(case.model, connection)
        if ahead and unused(seen.transcript):
            seen = self._canary.send_patiently(case.model, connection)
        exchanges += _on_fresh_connection(seen, expected)
        if not beside and seen.problem is not None and not isinstance(seen.problem, Unavailable):
            self._record_death(case, connection)
        if own is not None and same is None and seen.problem is None:
            verdict = of_hang(verdict, hung(case, own, seen.transcript))
        return survived(verdict, same, seen.problem, seen.liveness), exchanges

    def killings(self, unclear: Sequence[Result], connection: Connection) -> list[Killing]:
        """What is dead now that nothing is in flight, and which of these cases is to blame.

        They ran beside each other. What can be brought back to life is, and nobody is blamed for
        it: the cases are to run again. What cannot be is blamed on the likeliest of them.
        """
        sent = [r for r in unclear if isinstance(r.case, RequestCase) and _own(r) is not None]
        found: list[Killing] = []
        for role in dict.fromkeys(role for result in sent for role in result.case.roles):
            if self._deaths.killer_of(role) is not None or any(k.role is None for k in found):
                continue
            expected = self._canary.expected(role)
            connection.close()
            seen = self._canary.send_patiently(role, connection)
            if seen.problem is None or isinstance(seen.problem, Unavailable):
                continue
            connection.close()
            if self._canary.send(role, connection)[1] is None:
                continue  # one request was lost, the model lives
            if self._revived(role, connection):
                continue
            dead = None if down(liveness(connection, self._target.address)) else role
            suspects = [r for r in sent if dead is None or role in r.case.roles]
            blamed = _likeliest(suspects, seen.transcript)
            others = [r.case.id for r in suspects if r is not blamed]
            fresh = _on_fresh_connection(seen, expected)
            found.append(Killing(dead, _killed(blamed, seen, fresh, others)))
        return found

    def blame(self, killing: Killing) -> None:
        """Note who killed what, once the results of all cases before that one are settled."""
        self._deaths.add(killing.role, killing.result.case.id)

    def form(self, case: RequestCase) -> Form:
        """The form of the canary on the case's own connection: the case's, if it is served."""
        if case.canary == "json":
            return "json"
        form = own_form(case)
        return form if self._canary.serves(case.model, form) else "binary"

    def _record_death(self, case: RequestCase, connection: Connection) -> None:
        """Find out what is dead, note who killed it, and get it back if the user said how."""
        # A model that nobody knows may not repeat its answers.
        times = TIMES if isinstance(case, RelationCase) else 1
        for _ in range(times):
            connection.close()
            if self._canary.send(case.model, connection)[1] is None:
                return  # one request was lost, the model lives
        dead = None if down(liveness(connection, self._target.address)) else case.model
        self._deaths.add(dead, case.id)
        recovery = self._recovery
        if self._recovered(case.model, connection):
            self._deaths.clear(None if recovery.command else dead)

    def _recovered(self, role: str, connection: Connection) -> bool:
        """Whether `role` lives again, as the user said how."""
        recovery = self._recovery
        if recovery.command:
            restart(recovery.command, self._target.mask)
        if not (recovery.command or recovery.wait_s):
            return False
        return self._await_recovery(role, connection, recovery.wait_s)

    def _revived(self, role: str, connection: Connection) -> bool:
        """Whether `role` lives again, if only to find out who killed it."""
        if self._recovered(role, connection):
            return True
        if self._recovery.anew is None:
            return False
        self._recovery.anew()
        return self._await_recovery(role, connection, _ANEW_WITHIN_S)

    def _await_recovery(self, role: str, connection: Connection, within_s: float) -> bool:
        deadline = time.monotonic() + within_s
        pause = threading.Event()
        while True:
            connection.close()
            if self._canary.send(role, connection)[1] is None:
                return True
            if time.monotonic() >= deadline:
                return False
            pause.wait(0.2)


def exchange_of(transcript: Transcript, purpose: Purpose, expected: str | None = None) -> Exchange:
    """A transcript as the record has it."""
    return Exchange(transcript, purpose, purpose.note, expected)


def _on_fresh_connection(seen: Seen, expected: str | None) -> list[Exchange]:
    exchanges = []
    if seen.liveness is not None:
        exchanges.append(exchange_of(seen.liveness, Purpose.LIVENESS))
    return [*exchanges, exchange_of(seen.transcript, Purpose.CANARY_FRESH, expected)]


def _own(result: Result) -> Transcript | None:
    """The case's own exchange, if anything of it was sent."""
    own = next((e.transcript for e in result.exchanges if e.purpose in _OWN), None)
    return own if own is not None and own.sent else None


def _likeliest(suspects: Sequence[Result], dead: Transcript) -> Result:
    """Which of these cases, in the plan's order, killed what now answers as in `dead`.

    The first that got no whole answer; or else the last that was not answered like that, which all
    after it are. Those that were followed by a good known-good request are innocent.
    """
    guilty = [r for r in suspects if _unsurvived_on_fresh_connection(r)] or list(suspects)
    for result in guilty:
        own = _own(result)
        if own is not None and own.ending is not Ending.COMPLETE:
            return result
    alive = [r for r in guilty if not _same_answer(_own(r), dead)]
    return alive[-1] if alive else guilty[0]


def _unsurvived_on_fresh_connection(result: Result) -> bool:
    cause = result.cause
    return isinstance(cause, DidNotSurvive) and cause.fresh_connection is not None


def _same_answer(own: Transcript | None, dead: Transcript) -> bool:
    if own is None or own.response is None or dead.response is None:
        return False
    same_status = own.response.status == dead.response.status
    return same_status and bytes(own.response.body) == bytes(dead.response.body)


def _killed(first: Result, seen: Seen, fresh: Sequence[Exchange], others: Sequence[str]) -> Result:
    """`first` as the result of a case that killed something, or one of `others` did."""
    if not _unsurvived_on_fresh_connection(first):
        verdict = survived(first.verdict, None, seen.problem, seen.liveness)
        own = [e for e in first.exchanges if not e.purpose.after]
        same = [e for e in first.exchanges if e.purpose is Purpose.CANARY_SAME]
        first = replace(first, verdict=verdict, exchanges=(*own, *same, *fresh))
    cause = first.cause
    if isinstance(cause, DidNotSurvive) and others:
        cause = replace(cause, beside=tuple(others))
    return replace(first, verdict=replace(first.verdict, cause=cause))
