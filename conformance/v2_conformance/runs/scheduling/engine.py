"""Runs single cases against a server: whether each is sent, its result, and what it killed.

A server may die from a case. The case after which the canary fails is the one that fails; later
cases that need what it killed are `not_run` and name it, so that there are no collateral failures.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from v2_conformance.conversations.discovery import Server
from v2_conformance.conversations.steps import Known, Result
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.claims import Claims, skipped
from v2_conformance.judging.extension import LEFT_OUT
from v2_conformance.judging.observed.exchanges import Observations
from v2_conformance.judging.survival import FLOODED, MOST_SURPLUS, is_of_path, surplus
from v2_conformance.judging.verdict import Verdict, passed_again
from v2_conformance.runs.canary import Canary
from v2_conformance.runs.generated import run_generated
from v2_conformance.runs.live import Live
from v2_conformance.runs.patience import Budget, Hangs, Patience
from v2_conformance.runs.repeating import Repeats
from v2_conformance.runs.scheduling.deaths import Deaths, Recovery
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, GeneratedCase, GetCase, ObservedCase, RequestCase
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.causes import DidNotSurvive
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.inputs import stood_in

_TRIES = 3
_SURE = 3


class Engine:
    """Runs single cases against one target, and knows what a run has to know of its server. If the
    target cannot have a case's model, the case goes to the model that stands in for it."""

    def __init__(
        self,
        target: Target,
        server: Server,
        *,
        recovery: Recovery | None = None,
        patience: Patience | None = None,
        budget: Budget | None = None,
    ) -> None:
        """`patience` is how long to wait for a server that is unavailable, by default as long as
        for an answer. `budget` is the time of the run, unlimited by default."""
        self.target = target
        self.server = server
        self.out_of_time = False  # True if a case was not sent because the time was spent
        self._budget = budget or Budget(math.inf)
        self._claims = Claims(target.profiles, target.unsupported, server.present, server.absent)
        patience = patience or Patience(target.limits.exchange_s)
        self._canary = Canary(target, server, patience)
        self._hangs = Hangs(target.limits)
        known = Known(target.address, self._claims)
        self.live = Live(known, target.connection, patience, self._canary, self._hangs)
        self.repeats = Repeats(self._canary)
        self.deaths = Deaths(target, self._canary, recovery or Recovery(), self._budget)
        self._fatal: dict[str, Result] = {}  # of the cases that killed something, by id
        self._surplus = 0
        self._died = False  # True if the last case that ran alone killed something
        self._stayed = 0  # cases in a row that got no whole answer, however often sent

    def run(self, case: Case) -> Result:
        """Run one case while nothing else runs. Never raises for what the server does. A case that
        killed what is still dead is not tried again."""
        fatal = self._fatal.get(case.id)
        if fatal is not None and self.deaths.killed_by(case):
            return fatal
        if isinstance(case, GeneratedCase):
            result = run_generated(case, self.target, self.server, self._claims, self.run)
        else:
            result = self._sent(case, self._alone)
            self.count(result)
        if self.deaths.killed_by(case):
            self._fatal[case.id] = result
        return result

    def run_alongside(self, case: Case) -> Result:
        """Run one case while others run, any of which may be why it fails."""
        return self._sent(case, lambda moved: self.live.converse(moved, alone=False))

    def count(self, result: Result) -> None:
        """Add the bytes that the answers of a counted result did not need."""
        present = self.server.present
        known = [present[role].known for role in result.case.roles if role in present]
        answer = max((one.answer_bytes for one in known if one is not None), default=0)
        self._surplus += sum(surplus(e, answer) for e in result.exchanges)

    def without_extension(self, case: Case) -> Result:
        """Return the result of a case that is not sent, as the server leaves the extension out."""
        moved = case if isinstance(case, GeneratedCase) else self._moved(case)
        return Result(moved, skipped(moved, self._claims) or LEFT_OUT)

    def judged(self, case: ObservedCase, observations: Observations) -> Result:
        """Return the result of a case about all exchanges, which sends nothing."""
        observations.add(self._canary.seen(self.repeats.differing))
        return Result(case, skipped(case, self._claims) or observations.verdict(case))

    def killers(self, unclear: Sequence[Result]) -> dict[str, Result]:
        """Return which of the cases killed what is dead now, by their ids: see Deaths.among."""
        return self.deaths.among(unclear, self.live.fresh_connection())

    def close(self) -> None:
        """End all use of the server."""
        self.live.hang_up()

    def _sent(self, case: Case, run: Callable[[RequestCase | GetCase], Result]) -> Result:
        """Return what `run` makes of a case, why it is not sent, or an error of the case or us."""
        started, moved = time.perf_counter(), self._moved(case)
        unsent = self._unsent(moved)
        if unsent is not None:
            return Result(moved, unsent)
        try:
            result = run(moved)
        except CaseFileError as error:
            result = Result(moved, Verdict(Outcome.ERROR, kinds.InvalidCase(str(error))))
        except Exception as error:  # a bug in the suite must neither end the run nor pass the case
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno}"
            cause = kinds.SuiteError(printable(repr(error), 500), where)
            result = Result(moved, Verdict(Outcome.ERROR, cause))
        return replace(result, duration_s=time.perf_counter() - started)

    def _moved(self, case: Case) -> RequestCase | GetCase:
        moved = stood_in(case, self.target.unsupported)
        if not isinstance(moved, RequestCase | GetCase):
            raise TypeError(f"{case.id} sends no request to a server")
        return moved

    def _unsent(self, case: RequestCase | GetCase) -> Verdict | None:
        """Return why the case is not, or no longer, sent to this target; None if it is sent."""
        never = skipped(case, self._claims)
        if never is not None:
            return never
        for role in case.roles or (None,):
            killer = self.deaths.killer_of(role)
            if killer is not None:
                return Verdict(Outcome.NOT_RUN, kinds.KilledBy(killer, case.role))
        if self._surplus > MOST_SURPLUS:
            return FLOODED
        if self._budget.spent:
            self.out_of_time = True
            return Verdict(Outcome.NOT_RUN, kinds.OutOfTime(self._budget.limit_s))
        return None

    def _alone(self, case: RequestCase | GetCase) -> Result:
        def once(case: RequestCase | GetCase, *, again: bool = False) -> Result:
            result = self.live.converse(case, again=again)
            self._died = self.deaths.examine(result, self.live.connection())
            return result

        first = once(case)
        result = self._confirmed(first, partial(once, again=True))
        if first.exchanges and isinstance(case, RequestCase) and "client" not in case.request:
            lost = result.outcome is Outcome.FLAKY  # on the path: the server did not hang
            own = [one for one in first.exchanges if one.purpose.own and not lost]
            self._hangs.note(case, result.verdict, own)
        return self.repeats.checked(result, once, self.live.fresh_connection)

    def _confirmed(self, first: Result, once: Callable[[Any], Result]) -> Result:
        """Return the result of a case that ran alone, and runs up to three times again if nothing
        but the path to the server may be to blame: what passes then is flaky.

        Once several in a row have failed each time, it is the server: each runs once more, or not
        at all if it had less time.
        """
        sure = self._stayed >= _SURE
        if not is_of_path(first.cause) or (sure and isinstance(first.cause, kinds.TimedOutEarly)):
            return first
        stays = first
        for _ in range(1 if sure else _TRIES):
            if self._died or self._budget.spent:
                return first
            self.live.fresh_connection()
            again = once(first.case)
            if again.outcome.harmless:
                self._stayed = 0
                return replace(again, verdict=passed_again(again.verdict, first.verdict))
            if again.outcome is Outcome.FAIL and not is_of_path(again.cause):
                return again
            if isinstance(first.cause, DidNotSurvive):
                stays = again  # which the server may have survived
        self._stayed += 1
        return stays
