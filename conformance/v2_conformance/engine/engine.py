"""Runs one case against a server: whether it is sent, what comes of it, and who killed what.

A server may die from a case. The case after which the canary fails is the one that fails; later
cases that need what it killed are `not_run` and name it, so that nothing is a collateral failure.
"""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from v2_conformance.engine.aftermath import Aftermath, Killing
from v2_conformance.engine.ahead import Ahead, goes_ahead
from v2_conformance.engine.budget import Budget
from v2_conformance.engine.canary import Canary
from v2_conformance.engine.counterexamples import remove_counterexample, write_counterexample
from v2_conformance.engine.deaths import Deaths, DeathsHere, Recovery
from v2_conformance.engine.discovery import Server
from v2_conformance.engine.distance import round_trip_s
from v2_conformance.engine.fuzzing import Exploration
from v2_conformance.engine.generated import ANSWERED, GeneratedResults
from v2_conformance.engine.patience import Patience
from v2_conformance.engine.repeating import Repeats
from v2_conformance.engine.result import Calibrated, Result
from v2_conformance.engine.sender import Sender
from v2_conformance.engine.target import Target
from v2_conformance.engine.turns import Turns
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.observed import Observations
from v2_conformance.judging.survival import (
    FLOODED,
    MOST_SURPLUS,
    Claims,
    needs_the_dead,
    out_of_time,
    skipped,
    surplus,
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
from v2_conformance.suite.cause_base import printable
from v2_conformance.suite.causes import GeneratedFailure
from v2_conformance.suite.circumstances import InvalidCase, SuiteError
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.stand_ins import stood_in
from v2_conformance.wire.transport import Transport


class Engine:
    """Runs single cases against one target: whether each is sent, and what it counts for."""

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
        self._deaths = deaths or DeathsHere()
        self._directory = directory
        self._claims = Claims(
            target.profiles,
            target.unsupported,
            server.present,
            server.absent,
            target.endpoint,
            target.http2,
        )
        patience = patience or Patience(target.limits.exchange_s)
        self._canary = Canary(target, server, patience)
        self._repeats = Repeats(self._canary)
        self._aftermath = Aftermath(target, self._canary, self._deaths, recovery or Recovery())
        self._sender = Sender(
            target,
            server,
            transport=transport or target.transport(),
            patience=patience,
            canary=self._canary,
            aftermath=self._aftermath,
        )
        self._fatal: dict[str, Result] = {}
        self._surplus = 0
        self._made: Ahead | None = None
        self._ahead: Ahead | None = None
        self._budget = budget
        self.round_trip_s = round_trip_s(server.asked)
        self.cuts_off = False  # whether a case was cut off that no other can have disturbed
        self.out_of_time = False  # whether a case was not sent because the time was spent

    def run(
        self,
        case: Case,
        observations: Observations | None = None,
        *,
        beside: bool = False,
        again: bool = False,
        answers: Sequence[Result] = (),
        coming: Case | None = None,
    ) -> Result:
        """One case with all that belongs to it. Never raises for what the server does.

        A case about all exchanges sends nothing: `observations` has what they show. A case whose
        model the target cannot have is sent to the model that stands in for it, if one does.

        With `beside`, other cases run at the same time. What happens then may be their doing, so
        nothing is declared dead, and only `settled` counts it. What was begun is run `again` even
        if the time is spent. `coming` is the case that runs next, whose request may be made while
        the server answers a known-good one. `answers` are the results of the requests of a
        GeneratedCase, if they have run already.
        """
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.case is not case:
            ahead = None
        started = time.perf_counter() if ahead is None else ahead.started
        case = stood_in(case, self.target.unsupported)
        if isinstance(case, ObservedCase):
            found = observations or Observations()
            return Result(case, skipped(case, self._claims) or found.verdict(case))
        if isinstance(case, ClientCase):
            raise TypeError("a scenario for a client is run on the bench")
        if isinstance(case, GeneratedCase):
            result = self._run_generated(case, answers)
            before_s = sum(answer.duration_s for answer in answers)
            return replace(result, duration_s=time.perf_counter() - started + before_s)
        if case.id in self._fatal and self._deaths.killer_of(case.role) == case.id:
            return self._fatal[case.id]  # what it killed is still dead; once is enough
        unsent = self._unsent(case, again=again) if ahead is None else None
        if unsent is not None:
            return Result(case, unsent)
        try:
            send = self._sender.send
            begun = None if ahead is None else ahead.prepared
            meanwhile = None if coming is None else partial(self.make_ahead, coming)
            result = send(case, beside=beside, begun=begun, meanwhile=meanwhile)
            if not beside:
                alone = partial(send, beside=False)
                result = self._repeats.checked(result, alone, self._sender.fresh_connection)
        except CaseFileError as error:
            result = Result(case, Verdict(Outcome.ERROR, InvalidCase(str(error))))
        except Exception as error:  # the suite's own mistake ends neither the run nor in a pass
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno}"
            cause = SuiteError(printable(repr(error), 500), where)
            result = Result(case, Verdict(Outcome.ERROR, cause))
        result = replace(result, duration_s=time.perf_counter() - started)
        if beside:
            return replace(result, beside=True)
        self._count(result)
        if self._deaths.killer_of(case.role) == case.id:
            self._fatal[case.id] = result
        return result

    def make_ahead(self, case: Case) -> None:
        """Make the request of `case`, which runs soon, while the server works on another one."""
        moved = stood_in(case, self.target.unsupported)
        if not goes_ahead(moved) or self._skip(moved) is not None:
            return
        with contextlib.suppress(Exception):  # `run` makes it again, and says what is wrong
            self._made = Ahead(case, moved, self._sender.prepare(moved))

    def send_ahead(self, case: Case) -> None:
        """Send the request of `case`, which runs next, so that the server works on it while its
        user is handed the results so far.

        Not if something else has to be sent first, or at the same time, or if it may end the
        server.
        """
        if self._made is None or self._made.case is not case:
            self._made = None
            self.make_ahead(case)
        made, self._made = self._made, None
        if made is None or self._lost(made.moved) is not None:
            return
        if self._budget is not None and self._budget.spent:
            return
        started = time.perf_counter()
        begun = self._sender.begin(made.moved, made.prepared)
        if begun is not None:
            self._ahead = replace(made, prepared=begun, started=started)

    def settled(self, result: Result) -> Result:
        """What an early `result` counts for, once those of all cases before it are settled.

        A case that could not have been sent any more, had they run one by one, was not sent.
        """
        case = result.case
        if not result.exchanges or not isinstance(case, RequestCase | GetCase):
            return result
        unsent = self._skip(case)
        if unsent is not None:
            return Result(case, unsent)
        if result.beside:
            self._count(result)
            if isinstance(case, RequestCase):
                self._sender.hangs.note(case, result.verdict)
        return replace(result, beside=False)

    def killings(self, unclear: Sequence[Result]) -> list[Killing]:
        """See Aftermath. Nothing else may be in flight."""
        return self._aftermath.killings(unclear, self._sender.fresh_connection())

    def lingers(self, case: Case, *, any_form: bool = False) -> bool:
        """See Sender; False for a case that is not sent or that no server has to reject."""
        if not isinstance(case, RequestCase) or not case.negative or self._skip(case) is not None:
            return False
        return self._sender.lingers(case, any_form=any_form)

    def blame(self, killing: Killing) -> None:
        """See Aftermath."""
        self._aftermath.blame(killing)
        self._fatal[killing.result.case.id] = killing.result

    def open_ahead(self) -> None:
        """From now on the server may get a second connection while one is in use."""
        self._aftermath.opens_ahead = True

    def share(self, cases: int) -> Turns:
        """From now on so many cases at a time share the server, in these turns."""
        self.hang_up()
        self._aftermath.turns = turns = Turns(self.round_trip_s / (2 * cases), cases)
        return turns

    def share_no_more(self, *, disturbed: bool) -> None:
        """From now on cases run one by one. Nothing may be in flight. With `disturbed`, one of them
        may have ended the connections of others."""
        self._aftermath.turns = None
        self.hang_up(forget=disturbed)

    def serves_together(self, number: int) -> bool:
        """See Sender."""
        return self._sender.serves_together(number)

    def start_over(self) -> bool:
        """Forget what was learnt of the server, as if no case had run. False if one has killed
        something, which stays dead."""
        if self._deaths.killer_of(None) or any(map(self._deaths.killer_of, self.server.present)):
            return False
        self.hang_up()
        self._canary.forget()
        return True

    def hang_up(self, *, forget: bool = False) -> None:
        """See Sender."""
        self._sender.hang_up(forget=forget)

    def calibrate(self, cases: Sequence[Case]) -> None:
        """Find the canaries of all these cases that are sent, beside each other, before any is."""
        for case in cases:
            if isinstance(case, RequestCase) and skipped(case, self._claims) is None:
                self._sender.calibrate(case)

    def generated(self, case: GeneratedCase) -> list[Case]:
        """The requests of `case` that the target gets, as cases of their own."""
        made = map(make_case, case.requests)
        return [one for one in made if skipped(one, self._claims) is None]

    def calibrations(self) -> list[Calibrated]:
        """The calibrations of canaries since this was last called, for the record."""
        return self._canary.news()

    def allow(self, seconds: float) -> None:
        """Give the run so much more time: something else took it."""
        if self._budget is not None:
            self._budget.allow(seconds)

    def close(self) -> None:
        """End all use of the server; no thread may be running a case."""
        self.hang_up()

    def _count(self, result: Result) -> None:
        self._surplus += sum(surplus(exchange.transcript) for exchange in result.exchanges)

    def _unsent(self, case: RequestCase | GetCase, *, again: bool) -> Verdict | None:
        """Why the case is not sent now, None if it is."""
        unsent = self._skip(case)
        if unsent is None and not again and self._budget is not None and self._budget.spent:
            self.out_of_time = True
            return out_of_time(self._budget.limit_s)
        return unsent

    def _skip(self, case: RequestCase | GetCase) -> Verdict | None:
        return skipped(case, self._claims) or self._lost(case)

    def _lost(self, case: RequestCase | GetCase) -> Verdict | None:
        """Why the case is not sent any more, None if it is: what the run has come to."""
        killers = map(self._deaths.killer_of, case.roles or (None,))
        killer = next((killer for killer in killers if killer is not None), None)
        if killer is not None:
            return needs_the_dead(case, killer)
        return FLOODED if self._surplus > MOST_SURPLUS else None

    def _run_generated(self, case: GeneratedCase, answers: Sequence[Result]) -> Result:
        """The generated requests whose models the server has; the smallest failure counts."""
        known = iter(answers)
        if self._directory:
            remove_counterexample(self._directory)  # an older run's
        sent = GeneratedResults()
        for number, entry in enumerate(case.requests, 1):
            made = make_case(entry)
            if skipped(made, self._claims) is None:
                again = next(known, None)
                result = again or self.run(made)
                sent.add(number, entry, result)
                of_another = again is None and result.case is not made
                if of_another or result.outcome not in ANSWERED:
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
