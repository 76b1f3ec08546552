"""Finds what is dead in a server and which case killed it, and brings the server back."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from v2_conformance.conversations.steps import Exchange, Heard, exchange_of
from v2_conformance.judging.availability import down, unavailable
from v2_conformance.judging.survival import survived, time_needed_s
from v2_conformance.runs.budget import Budget
from v2_conformance.runs.canary import TIMES, Canary
from v2_conformance.runs.patience import liveness
from v2_conformance.runs.result import Result
from v2_conformance.runs.scheduling.deaths import Deaths, Recovery
from v2_conformance.runs.targets.restarting import restart
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import RelationCase, RequestCase
from v2_conformance.suite.causes.causes import DidNotSurvive, left_dead
from v2_conformance.suite.causes.circumstances import Unavailable
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.transcript import Ending, Transcript
from v2_conformance.wire.transport import Connection

_HANG = Ending.TIMEOUT
_CONFIRMED_WITHIN_S = 5.0  # how long a model may take to show that it lives after all
_ANEW_WITHIN_S = 5.0  # how long a restarted server may take for its first answer


@dataclass(frozen=True)
class Killing:
    """The case that is held to have killed `role`, None for the whole server."""

    role: str | None
    result: Result


class Blame:
    """The record of who killed what, and the known-good requests that show what is dead.

    No conversation may be under way on the `connection` that its methods are given.
    """

    def __init__(
        self,
        target: Target,
        canary: Canary,
        deaths: Deaths,
        recovery: Recovery,
        budget: Budget | None = None,
    ) -> None:
        self._target = target
        self._canary = canary
        self._deaths = deaths
        self._recovery = recovery
        self._budget = budget

    def examine(self, result: Result, connection: Connection) -> None:
        """If a case that ran alone left something dead, note that, and bring it back if the user
        said how.
        """
        case = result.case
        if not isinstance(case, RequestCase) or not left_dead(result.cause):
            return
        # An arbitrary model may not repeat its answers.
        times = TIMES if isinstance(case, RelationCase) else 1
        for _ in range(times):
            if self._lives(case.model, connection):
                return  # one request was lost, the model lives
        dead = self._dead(case.model, connection)
        self._deaths.add(dead, case.id)
        if self._recovered(case.model, connection):
            self._deaths.clear(None if self._recovery.command else dead)

    def killings(self, unclear: Sequence[Result], connection: Connection) -> list[Killing]:
        """Find what is dead now that nothing is in flight, and which of these cases is to blame.

        The cases ran concurrently. If what is dead can be brought back, nobody is blamed and the
        cases run again. Otherwise the likeliest case is blamed.
        """
        sent = [r for r in unclear if isinstance(r.case, RequestCase) and _own(r) is not None]
        found: list[Killing] = []
        for role in dict.fromkeys(role for result in sent for role in result.case.roles):
            if self._deaths.killer_of(role) is not None or any(k.role is None for k in found):
                continue
            connection.close()
            heard = self._canary.send_patiently(role, connection)
            if heard.problem is None or isinstance(heard.problem, Unavailable):
                continue
            if self._lives(role, connection) or self._revived(role, connection):
                continue  # one request was lost, or it could be brought back
            dead = self._dead(role, connection)
            suspects = [r for r in sent if dead is None or role in r.case.roles]
            blamed = _likeliest(suspects, heard.transcript)
            others = [r.case.id for r in suspects if r is not blamed]
            found.append(Killing(dead, _killed(blamed, heard, others)))
        return found

    def note(self, killing: Killing) -> None:
        """Note who killed what, once the results of all earlier cases are settled."""
        self._deaths.add(killing.role, killing.result.case.id)

    def _dead(self, role: str, connection: Connection) -> str | None:
        """Return what is dead if the model in `role` is: None for the whole server, which does not
        say that it lives, or leaves another model's requests without an answer, too, or is
        unavailable for them.
        """
        if down(liveness(connection, self._target.address)):
            return None
        living = (one for one in self._canary.roles() if self._deaths.killer_of(one) is None)
        other = next((one for one in living if one != role), None)
        if other is None:
            return role
        heard = self._heard(other, connection).transcript
        return None if heard.ending is _HANG or unavailable(heard) else role

    def _heard(self, role: str, connection: Connection) -> Heard:
        """Return what a canary gets now, on a fresh connection. One that had all of its time was
        lost already, so this one has less."""
        connection.close()
        needed = time_needed_s(0, 0.0, self._canary.slowest_s)
        limit_s = min(self._target.limits.exchange_s, max(_CONFIRMED_WITHIN_S, needed))
        return self._canary.send(role, connection, limit_s=limit_s)

    def _lives(self, role: str, connection: Connection) -> bool:
        return self._heard(role, connection).problem is None

    def _recovered(self, role: str, connection: Connection) -> bool:
        """Return True if `role` lives again after the user's way of recovery."""
        recovery = self._recovery
        within_s = recovery.within_s
        if self._budget is not None:
            within_s = min(within_s, self._budget.left_s)
        if not within_s:
            return False
        deadline = time.monotonic() + within_s
        if recovery.command:
            restart(recovery.command, self._target.mask, within_s)
        return self._await_recovery(role, connection, deadline)

    def _revived(self, role: str, connection: Connection) -> bool:
        """Return True if `role` lives again, if only to find out who killed it."""
        if self._recovered(role, connection):
            return True
        if self._recovery.anew is None:
            return False
        self._recovery.anew()
        return self._await_recovery(role, connection, time.monotonic() + _ANEW_WITHIN_S)

    def _await_recovery(self, role: str, connection: Connection, deadline: float) -> bool:
        pause = threading.Event()
        while not self._lives(role, connection):
            if time.monotonic() >= deadline:
                return False
            pause.wait(0.2)
        return True


def _own(result: Result) -> Transcript | None:
    """Return the case's own exchange, if anything of it was sent."""
    own = next((e.transcript for e in result.exchanges if e.purpose.own), None)
    return own if own is not None and own.sent else None


def _likeliest(suspects: Sequence[Result], dead: Transcript) -> Result:
    """Return which of these cases, in the plan's order, killed what now answers as in `dead`.

    It is the first that got no whole answer; or else the last whose answer was not like that, if
    all after it were. Cases followed by a correctly answered known-good request are innocent.
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


def _killed(first: Result, heard: Heard, others: Sequence[str]) -> Result:
    """Return `first` as the result of a case that killed something, alone or as one of `others`."""
    if not _unsurvived_on_fresh_connection(first):
        verdict = survived(first.verdict, None, heard.problem, heard.liveness)
        kept = [e for e in first.exchanges if not e.purpose.after]
        kept += [e for e in first.exchanges if e.purpose is Purpose.CANARY_SAME]
        first = replace(first, verdict=verdict, exchanges=(*kept, *_fresh(heard)))
    cause = first.cause
    if isinstance(cause, DidNotSurvive) and others:
        cause = replace(cause, beside=tuple(others))
    return replace(first, verdict=replace(first.verdict, cause=cause))


def _fresh(heard: Heard) -> tuple[Exchange, ...]:
    if heard.liveness is None:
        return (heard.exchange,)
    return (exchange_of(heard.liveness, Purpose.LIVENESS), heard.exchange)
