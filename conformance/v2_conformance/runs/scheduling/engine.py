"""Runs cases against a server: whether each is sent, its result, and who killed what.

A server may die from a case. The case after which the canary fails is the one that fails; later
cases that need what it killed are `not_run` and name it, so that there are no collateral failures.
"""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from v2_conformance.conversations.case import known_good_needed
from v2_conformance.conversations.generated import generated, sendable
from v2_conformance.conversations.steps import AskApart, Concluded, Known, play
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.observed.exchanges import Observations
from v2_conformance.judging.survival import (
    FLOODED,
    LEFT_OUT,
    MOST_SURPLUS,
    Claims,
    needs_the_dead,
    not_sent,
    out_of_time,
    skipped,
    surplus,
)
from v2_conformance.judging.verdict import Verdict
from v2_conformance.runs.budget import Budget
from v2_conformance.runs.canary import Canary, DisturbedError
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.distance import round_trip_s
from v2_conformance.runs.generated import first_failure, usable_roles
from v2_conformance.runs.hangs import Hangs
from v2_conformance.runs.live import Live
from v2_conformance.runs.patience import Patience
from v2_conformance.runs.result import Calibrated, Result
from v2_conformance.runs.scheduling.blame import Blame, Killing
from v2_conformance.runs.scheduling.deaths import Deaths, Recovery
from v2_conformance.runs.scheduling.repeating import Repeats
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, GeneratedCase, GetCase, ObservedCase, RequestCase
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.causes import GeneratedFailure
from v2_conformance.suite.causes.circumstances import InvalidCase, SuiteError
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.stand_ins import stood_in
from v2_conformance.wire.transport import Transport


class Engine:
    """Runs single cases against one target.

    `run` runs a case that has the server to itself. `run_beside` runs one concurrently with others;
    its result counts only once it is `settled`.
    """

    def __init__(
        self,
        target: Target,
        server: Server,
        *,
        transport: Transport | None = None,
        recovery: Recovery | None = None,
        patience: Patience | None = None,
        budget: Budget | None = None,
    ) -> None:
        """Make an engine; `transport` is how to reach the target, its own by default.

        `patience` is how long it waits for a server that is unavailable, by default as long as for
        an answer. `budget` is the time of the run, unlimited by default.
        """
        self.target = target
        self.server = server
        self.round_trip_s = round_trip_s(server.asked)
        self.out_of_time = False  # True if a case was not sent because the time was spent
        self.cuts_off = False  # True if a case was cut off that no other can have disturbed
        self.deaths = Deaths()
        self._claims = Claims(target.profiles, target.unsupported, server.present, server.absent)
        patience = patience or Patience(target.limits.exchange_s)
        self._canary = Canary(target, server, patience)
        self._hangs = Hangs(target.limits)
        self.live = Live(
            Known(target.address, self._claims),
            transport or target.transport(),
            patience,
            self._canary,
            self._hangs,
        )
        self.repeats = Repeats(self._canary)
        self._blame = Blame(target, self._canary, self.deaths, recovery or Recovery(), budget)
        self._fatal: dict[str, Result] = {}
        self._surplus = 0
        self._budget = budget

    def run(self, case: Case, *, in_any_case: bool = False) -> Result:
        """Run one case while nothing else runs. Never raises for what the server does.

        If the target cannot have the case's model, the case goes to the model that stands in for
        it, if any. It is not sent once the time is spent, unless `in_any_case`.
        """
        if isinstance(case, GeneratedCase):
            return self.run_generated(case)
        moved, started = self._moved(case), time.perf_counter()
        fatal = self._still_fatal(moved)
        if fatal is not None:
            return fatal
        unsent = self._unsent(moved, in_any_case=in_any_case)
        if unsent is not None:
            return Result(moved, unsent)
        result = self._guarded(moved, lambda: self._alone(moved))
        result = replace(result, duration_s=time.perf_counter() - started)
        self._count(result)
        if self.deaths.killer_of(moved.role) == moved.id:
            self._fatal[moved.id] = result
        return result

    def run_beside(self, case: Case) -> Result:
        """Run one case while others run. Any of them may be why it goes wrong, so the result does
        not count before it is `settled`.
        """
        if isinstance(case, GeneratedCase | ObservedCase):
            raise TypeError("such a case has the server for itself")
        moved, started = self._moved(case), time.perf_counter()
        unsent = self._unsent(moved)
        if unsent is not None:
            return Result(moved, unsent)
        result = self._guarded(moved, lambda: self._beside(moved))
        return replace(result, duration_s=time.perf_counter() - started, beside=True)

    def settled(self, result: Result) -> Result:
        """Return the final result of a case that ran early, now that all earlier cases are settled.

        If the case could not have been sent had all run one by one, it counts as not sent.
        """
        case = result.case
        if not result.exchanges or not isinstance(case, RequestCase | GetCase):
            return result
        fatal = self._still_fatal(case)
        if fatal is not None:
            return fatal
        unsent = self._skip(case)
        if unsent is not None:
            return Result(case, unsent)
        if result.beside:
            self._count(result)
            self._note_hang(result)
        return replace(result, beside=False)

    def run_generated(self, case: GeneratedCase, answers: Sequence[Result] = ()) -> Result:
        """Run the generated requests whose models the server has.

        `answers` are the results of the first ones, which have already run.
        """
        started = time.perf_counter() - sum(answer.duration_s for answer in answers)
        fatal = self._fatal.get(case.id)
        killed = (self.deaths.killer_of(role) == case.id for role in (None, *self.server.present))
        if fatal is not None and fatal.case is case and any(killed):
            return fatal
        known = iter(answers)

        def answer(asked: AskApart) -> Concluded | None:
            result = next(known, None)
            if result is None:
                result = self.run(asked.case)
                if result.case is not asked.case:
                    return None  # an earlier request killed what this one needs
            return Concluded(result.verdict, result.exchanges)

        came = play(generated(case, sendable(case, self._claims)), answer)
        if came.verdict.outcome is Outcome.PASS and self.target.generated:
            came = self._drawn(case) or came
        result = Result(case, came.verdict, time.perf_counter() - started, came.exchanges)
        if case.id in self._fatal:
            self._fatal[case.id] = result
        return result

    def _drawn(self, case: GeneratedCase) -> Concluded | None:
        """Send more requests, which are drawn from the run's seed, and return what the first that
        fails comes to.
        """
        roles, seed = usable_roles(self.target, self.server), self.target.seed or 0
        found = first_failure(self.run, roles, self.target.generated, seed)
        if found is None:
            return None
        failed = Concluded(found.result.verdict, found.result.exchanges)
        asked = AskApart(found.case, found.entry)
        came = play(generated(case, [asked]), lambda _: failed)
        cause = came.verdict.cause
        if isinstance(cause, GeneratedFailure):
            cause = replace(cause, number=found.number, seed=seed, hypothesis=found.hypothesis)
        return Concluded(replace(came.verdict, cause=cause), came.exchanges)

    def without_extension(self, case: Case) -> Result:
        """Return the result of a case that is not sent because the server leaves the extension
        out.
        """
        moved = case if isinstance(case, GeneratedCase) else self._moved(case)
        return Result(moved, skipped(moved, self._claims) or LEFT_OUT)

    def generated(self, case: GeneratedCase) -> list[Case]:
        """Return the requests of `case` that the target gets, each as its own case."""
        return [asked.case for asked in sendable(case, self._claims)]

    def judged(self, case: ObservedCase, observations: Observations) -> Result:
        """Return the result of a case about all exchanges, which sends nothing."""
        observations.add(self._canary.seen(self.repeats.differing))
        return Result(case, skipped(case, self._claims) or observations.verdict(case))

    def killings(self, unclear: Sequence[Result]) -> list[Killing]:
        """Return who killed what: see Blame. Nothing else may be in flight."""
        return self._blame.killings(unclear, self.live.fresh_connection())

    def blame(self, killing: Killing) -> None:
        """Record a killing: see Blame."""
        self._blame.note(killing)
        self._fatal[killing.result.case.id] = killing.result

    def sends(self, case: Case) -> bool:
        """Return True if a case can be sent to this target and what it needs is alive."""
        return isinstance(case, RequestCase | GetCase) and self._skip(case) is None

    def calibrate(self, case: Case) -> None:
        """Look for the canaries that a case needs, if it is sent, while others are found. Once the
        time of the run is spent, look for none.
        """
        spent = self._budget is not None and self._budget.spent
        if spent or not isinstance(case, RequestCase) or skipped(case, self._claims) is not None:
            return
        for role, form in known_good_needed(case):
            with contextlib.suppress(DisturbedError):
                self._canary.calibrate(role, self.live.connection(), form=form, alone=False)

    def start_over(self) -> bool:
        """Forget what was learned of the server, as if no case had run. Return False if a case has
        killed something, which stays dead.
        """
        if self.deaths.killer_of(None) or any(map(self.deaths.killer_of, self.server.present)):
            return False
        self.live.hang_up()
        self._canary.forget()
        return True

    def calibrations(self) -> list[Calibrated]:
        """Return the calibrations of canaries since the last call, for the record."""
        return self._canary.news()

    def close(self) -> None:
        """End all use of the server; no thread may be running a case."""
        self.live.hang_up()

    def _moved(self, case: Case) -> RequestCase | GetCase:
        """Return the case, or the one that stands in for it."""
        moved = stood_in(case, self.target.unsupported)
        if not isinstance(moved, RequestCase | GetCase):
            raise TypeError(f"{case.id} sends no request to a server")
        return moved

    def _alone(self, case: RequestCase | GetCase) -> Result:
        def once(case: RequestCase | GetCase) -> Result:
            came = self.live.converse(case)
            result = Result(case, came.verdict, exchanges=came.exchanges)
            self._note_hang(result)
            self._blame.examine(result, self.live.connection())
            return result

        return self.repeats.checked(once(case), once, self.live.fresh_connection)

    def _beside(self, case: RequestCase | GetCase) -> Result:
        try:
            came = self.live.converse(case, alone=False)
        except DisturbedError as error:
            if error.heard is not None and error.heard.problem is not None:
                unclear = Verdict(Outcome.INCONCLUSIVE, error.heard.problem)
                return Result(case, unclear, exchanges=(error.heard.exchange,))
            assert isinstance(case, RequestCase)
            return Result(case, not_sent(case, error.silence))
        return Result(case, came.verdict, exchanges=came.exchanges)

    def _guarded(self, case: Case, run: Callable[[], Result]) -> Result:
        """Return the result of `run`, or that the case or the suite itself is wrong."""
        try:
            return run()
        except CaseFileError as error:
            return Result(case, Verdict(Outcome.ERROR, InvalidCase(str(error))))
        except Exception as error:  # a bug in the suite must neither end the run nor pass the case
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno}"
            cause = SuiteError(printable(repr(error), 500), where)
            return Result(case, Verdict(Outcome.ERROR, cause))

    def _still_fatal(self, case: RequestCase | GetCase) -> Result | None:
        """Return the result showing that the case killed what is still dead; one try is enough."""
        killed = case.id in self._fatal and self.deaths.killer_of(case.role) == case.id
        return self._fatal[case.id] if killed else None

    def _note_hang(self, result: Result) -> None:
        case = result.case
        if isinstance(case, RequestCase) and result.exchanges and "client" not in case.request:
            came = (one.transcript for one in result.exchanges if one.purpose.own)
            self._hangs.note(case, result.verdict, came)

    def _count(self, result: Result) -> None:
        present = self.server.present
        known = [present[role].known for role in result.case.roles if role in present]
        answer = max((one.answer_bytes for one in known if one is not None), default=0)
        self._surplus += sum(surplus(e.transcript, answer) for e in result.exchanges)

    def _unsent(self, case: RequestCase | GetCase, *, in_any_case: bool = False) -> Verdict | None:
        """Return why the case is not sent now, None if it is."""
        unsent = self._skip(case)
        if unsent is None and not in_any_case and self._budget is not None and self._budget.spent:
            self.out_of_time = True
            return out_of_time(self._budget.limit_s)
        return unsent

    def _skip(self, case: RequestCase | GetCase) -> Verdict | None:
        """Return why the case is never, or no longer, sent to this target; None if it is sent."""
        return skipped(case, self._claims) or next(self._lost(case), None)

    def _lost(self, case: RequestCase | GetCase) -> Iterator[Verdict]:
        for role in case.roles or (None,):
            killer = self.deaths.killer_of(role)
            if killer is not None:
                yield needs_the_dead(case, killer)
        if self._surplus > MOST_SURPLUS:
            yield FLOODED
