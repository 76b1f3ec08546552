"""Deaths of a server or its models: which case killed what, and how it is brought back."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from msgspec.structs import replace

from v2_conformance.conversations.steps import CanaryAnswer, Result
from v2_conformance.judging.availability import down, unavailable
from v2_conformance.judging.survival import survived, time_needed_s
from v2_conformance.redaction import Mask
from v2_conformance.runs.canary import TIMES, Canary
from v2_conformance.runs.patience import Budget, answered, liveness
from v2_conformance.runs.targets.started import signal_group
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, RelationCase, RequestCase
from v2_conformance.suite.causes.causes import DidNotSurvive, difference_in, left_dead, unsurvived
from v2_conformance.suite.causes.kinds import Unavailable
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending
from v2_conformance.wire.transport import Connection

RESTART_WITHIN_S = 120.0

_CONFIRMED_WITHIN_S = 5.0  # how long a model may take to show that it lives after all
_TRIES = 2  # the path may lose the first
_BETWEEN_S = 0.2
_LONGEST = 1 << 20
_SAME = Purpose.CANARY_SAME


@dataclass(frozen=True)
class Recovery:
    """How to restart a dead server: the user's shell command, and how long that and the server may
    take, 0 for the usual time."""

    command: str | None = None
    wait_s: float = 0.0


class Deaths:
    """Dead roles, and the ids of the cases that killed them (`killers`); None is the whole server.

    What is dead shows in known-good requests. No conversation may be under way on the `connection`
    on which they go.
    """

    def __init__(self, target: Target, canary: Canary, recovery: Recovery, budget: Budget) -> None:
        self._target = target
        self._canary = canary
        self._recovery = recovery
        self._budget = budget
        self.killers: dict[str | None, str] = {}

    def killer_of(self, role: str | None) -> str | None:
        """Return the id of the case that killed `role` or the whole server, None while it lives."""
        return self.killers.get(None) or self.killers.get(role)

    def killed_by(self, case: Case) -> bool:
        """Return True if a case killed something that it needs and that is still dead."""
        needed = [role for role, killer in self.killers.items() if killer == case.id]
        return bool(needed) and (case.role is None or None in needed or case.role in needed)

    def examine(self, result: Result, connection: Connection) -> bool:
        """If a case that ran alone left something dead, note that, and bring it back if the user
        said how. Return True if it left something dead, even if that was brought back."""
        case = result.case
        if not isinstance(case, RequestCase) or not left_dead(result.cause):
            return False
        # An arbitrary model may not repeat its answers.
        times = TIMES if isinstance(case, RelationCase) else 1
        if any(self._lives(case.model, connection) for _ in range(times)):
            return False  # one request was lost, the model lives
        death = unsurvived(result.cause)
        wrong = None if death is None else difference_in(death.fresh_connection)
        if wrong is not None and self._canary.answers_json(case.model, connection):
            return False  # it answers, but not to what was sent, as from a cache
        dead = self._dead(case.model, connection)
        self.killers.setdefault(dead, case.id)
        if self._recovered(case.model, connection):
            if dead is None or self._recovery.command:
                self.killers.clear()
            else:
                self.killers.pop(dead)
        return True

    def among(self, unclear: Sequence[Result], connection: Connection) -> dict[str, Result]:
        """Return the results of those cases, by id, that are to blame for what is dead now. They
        ran beside others, and nothing is in flight.

        If what is dead can be brought back, nobody is blamed: the case will kill it again, alone.
        Otherwise it is the first that got no whole answer, or else the first.
        """
        sent = [r for r in unclear if isinstance(r.case, RequestCase) and _own(r) is not None]
        blamed: dict[str, Result] = {}
        for role in dict.fromkeys(role for result in sent for role in result.case.roles):
            if self.killer_of(role) is not None:
                continue
            connection.close()
            answer = self._canary.send_patiently(role, connection)
            if answer.problem is None or isinstance(answer.problem, Unavailable):
                continue
            if self._lives(role, connection) or self._recovered(role, connection):
                continue  # one request was lost, or it could be brought back
            dead = self._dead(role, connection)
            suspects = [r for r in sent if dead is None or role in r.case.roles]
            silent = (r for r in suspects if (own := _own(r)) and own.ending is not Ending.COMPLETE)
            first = next(silent, suspects[0])
            self.killers.setdefault(dead, first.case.id)
            others = tuple(r.case.id for r in suspects if r is not first)
            blamed[first.case.id] = _killed(first, answer, others)
        return blamed

    def _dead(self, role: str, connection: Connection) -> str | None:
        """Return what is dead if the model in `role` is: None for the whole server, which does not
        say that it lives, or leaves another model's requests without an answer, too, or is
        unavailable for them."""
        if down(liveness(connection, self._target.address)):
            return None
        living = (one for one in self._canary.roles() if self.killer_of(one) is None)
        other = next((one for one in living if one != role), None)
        if other is None:
            return role
        answer = self._sent(other, connection).exchange
        return None if answer.ending is Ending.TIMEOUT or unavailable(answer) else role

    def _sent(self, role: str, connection: Connection) -> CanaryAnswer:
        """Return the answer to a canary on a fresh connection. An earlier one had all of its time
        in vain, so this one has less; if the path loses its answer, it is sent again."""
        needed = time_needed_s(0, 0.0, self._canary.slowest_s)
        limit_s = min(self._target.limits.exchange_s, max(_CONFIRMED_WITHIN_S, needed))
        answers: list[CanaryAnswer] = []

        def send() -> Exchange:
            connection.close()
            answers.append(self._canary.send(role, connection, limit_s=limit_s))
            return answers[-1].exchange

        answered(send)
        return answers[-1]

    def _lives(self, role: str, connection: Connection) -> bool:
        return any(self._sent(role, connection).problem is None for _ in range(_TRIES))

    def _recovered(self, role: str, connection: Connection) -> bool:
        usual_s = RESTART_WITHIN_S if self._recovery.command else 0.0
        within_s = min(self._recovery.wait_s or usual_s, self._budget.left_s)
        if not within_s:
            return False
        deadline = time.monotonic() + within_s
        if self._recovery.command:
            restart(self._recovery.command, self._target.mask, within_s)
        while not self._lives(role, connection):
            if time.monotonic() >= deadline:
                return False
            threading.Event().wait(_BETWEEN_S)
        return True


def restart(command: str, mask: Mask, within_s: float) -> None:
    """Run a shell command and wait for it. If it does not return in time, or the run is
    interrupted, it is ended with its process group. If there are secrets, its output so far is
    shown on standard error without them.

    It prints into a file, not a pipe, because a server that it leaves in the background outlives
    the run.
    """
    with ExitStack() as stack:
        output = stack.enter_context(tempfile.TemporaryFile()) if mask.hides_anything else None
        process = subprocess.Popen(
            command,
            shell=True,
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(within_s)
        except subprocess.TimeoutExpired:
            print(
                f"the restart command did not return in {within_s:.0f} s (--wait-ready, "
                "--max-time), so it was ended",
                file=sys.stderr,
            )
        finally:
            if process.returncode is None:
                signal_group(process, signal.SIGKILL)
                process.wait()
        if output is not None:
            output.seek(0)
            sys.stderr.write(mask.excerpt(output.read(_LONGEST)).decode("utf-8", "replace"))


def _own(result: Result) -> Exchange | None:
    """Return the case's own exchange, if anything of it was sent."""
    own = next((e for e in result.exchanges if e.purpose.own), None)
    return own if own is not None and own.sent else None


def _killed(first: Result, answer: CanaryAnswer, others: tuple[str, ...]) -> Result:
    """Return `first` as the result of a case that killed something, alone or as one of `others`."""
    before = first.cause if isinstance(first.cause, DidNotSurvive) else None
    if before is not None and before.fresh_connection is not None:
        cause, exchanges = before, first.exchanges
    else:
        result = survived(first.verdict, None, answer.problem, answer.liveness).cause
        assert isinstance(result, DidNotSurvive)
        cause = result
        if before is not None:
            cause = replace(before, fresh_connection=result.fresh_connection)
        alive = () if answer.liveness is None else (answer.liveness.for_purpose(Purpose.LIVENESS),)
        kept = (e for e in first.exchanges if not e.purpose.after or e.purpose is _SAME)
        exchanges = (*kept, *alive, answer.exchange)
    verdict = replace(first.verdict, outcome=Outcome.FAIL, cause=replace(cause, beside=others))
    return replace(first, verdict=verdict, exchanges=exchanges)
