"""A run of scenarios against a client, from its plan to its report: nothing here prints."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from v2_clients.bench.answers import check_answers
from v2_clients.bench.at_once import at_once
from v2_clients.bench.clients import STARTUP_S, Client
from v2_clients.bench.listener import BENCH
from v2_clients.findings import ClientGarbage, ClientKeptHanging, ClientSaidLess
from v2_clients.judging.judge import skipped_scenario
from v2_clients.scenarios import run_scenario
from v2_conformance.certifying.servers import NO_EXPECTATIONS, Plan, today
from v2_conformance.conversations.discovery import Server
from v2_conformance.conversations.steps import CaseFinished, Result
from v2_conformance.errors import UsageError
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.judging.observed.exchanges import Observations
from v2_conformance.judging.verdict import Verdict
from v2_conformance.report.document import Report
from v2_conformance.report.expectations import Expectations
from v2_conformance.report.recorder import Record
from v2_conformance.report.tested import ClientInfo, Selection
from v2_conformance.runs.patience import Budget, default_limit_s
from v2_conformance.runs.targets.numbers import LONGEST_RUN_S
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.case_files import load_scenarios
from v2_conformance.suite.cases import Case, ClientCase, ObservedCase
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.kinds import OutOfTime
from v2_conformance.suite.choosing import CLIENT_PROFILES, select
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import Outcome

MOST_HUNG = 8
"""Scenarios in a row in which a client may hang: after that, it hangs in all of them."""
_TRIED = 3
_SHOWN = 300


def client_target(profiles: Sequence[str] = (), secrets: Sequence[str] = ()) -> Target:
    """Return what stands for the client under test. Raises UsageError for a profile of servers."""
    for profile in profiles:
        if profile not in CLIENT_PROFILES:
            raise UsageError(
                f"unknown profile {profile!r} of clients: expected one of "
                f"{', '.join(CLIENT_PROFILES)}"
            )
    claimed = tuple(dict.fromkeys(("client", *profiles)))
    return Target(BENCH, profiles=claimed, more_secrets=tuple(secrets))


def make_client_plan(patterns: Sequence[str] = (), files: Path | None = None) -> Plan:
    """The suite's own scenarios, or all of `files`; of these it chooses what `patterns` match.

    Raises CaseFileError and NothingRanError.
    """
    cases: Sequence[Case] = client_cases() if files is None else load_scenarios(files)
    if files is not None:
        check_answers(cases)
    chosen = select(cases, patterns)
    return Plan(cases, chosen, files is None, Selection(patterns=tuple(patterns)))


@dataclass(frozen=True)
class ClientRun:
    """A run whose record is open; `finish` runs its scenarios, as long as there is `budget`."""

    target: Target
    plan: Plan
    record: Record
    budget: Budget
    lacks: tuple[str, ...] = ()

    @property
    def scenarios(self) -> list[ClientCase]:
        """The chosen scenarios that have something to do."""
        return [case for case in self.plan.chosen if isinstance(case, ClientCase)]

    def skipped(self, case: Case) -> Verdict | None:
        """The verdict on a scenario of a profile that the client does not claim, or that needs what
        it lacks."""
        return skipped_scenario(case, self.target.profiles, self.lacks)

    def finish(
        self,
        client: Client,
        *,
        timeout_s: float,
        jobs: int = 1,
        on_case: Callable[[CaseFinished], object] = lambda event: None,
    ) -> Report:
        """Run the chosen scenarios, `jobs` at the same time, write report.json and return the
        report.

        Once the run is out of time, or the client hangs again and again, no more are run. Whatever
        stops the run leaves a report that says it is incomplete. Raises UsageError if the client
        cannot be started.
        """
        complete = False
        observations = Observations()
        total = len(self.plan.chosen)
        limit = HangLimit()
        run = partial(run_scenario, timeout_s=timeout_s, budget=self.budget)
        claimed = [case for case in self.scenarios if self.skipped(case) is None]
        try:
            with closing(_results(claimed, client, jobs, run)) as results:
                for number, case in enumerate(self.scenarios, 1):
                    verdict = self.skipped(case) or limit.not_run
                    result = next(results) if verdict is None else Result(case, verdict)
                    limit.count(result)
                    observations.add(result.seen())
                    self.record.add(result)
                    on_case(CaseFinished(result, number, total))
            observed = [case for case in self.plan.chosen if isinstance(case, ObservedCase)]
            for number, rule in enumerate(observed, len(self.scenarios) + 1):
                result = Result(rule, self.skipped(rule) or observations.verdict(rule))
                self.record.add(result)
                on_case(CaseFinished(result, number, total))
            complete = limit.not_run is None
        finally:
            report = self.record.finish(complete=complete)
        return report


class HangLimit:
    """Decides when a run has had enough of a client, from its results in the plan's order."""

    not_run: Verdict | None = None
    """The verdict on the scenarios that are left, None while they run."""
    _hung = 0  # scenarios in a row

    def count(self, result: Result) -> None:
        """Count a result, which counts if the client ran."""
        if isinstance(result.cause, OutOfTime):
            self.not_run = result.verdict
        if result.reported is not None:
            self._hung = self._hung + 1 if result.reported.ended == "timeout" else 0
        if self._hung >= MOST_HUNG:
            self.not_run = Verdict(Outcome.NOT_RUN, ClientKeptHanging(self._hung))


def _results(
    cases: Sequence[ClientCase], client: Client, jobs: int, run: Callable[..., Result]
) -> Generator[Result]:
    """Yield the result of each scenario, and close the client."""
    if jobs > 1:
        clients = [client, *(client.another() for _ in range(jobs - 1))]
        yield from at_once(cases, clients, run)
        return
    try:
        for case in cases:
            yield run(case, client)
    finally:
        client.close()


def run_budget(plan: Plan, timeout_s: float, limit_s: float | None = None) -> Budget:
    """Return the time that a run has from now on, by default far more than slow clients need.
    Raises UsageError."""
    if not 0 < timeout_s <= 600:
        raise UsageError("the time limit of a client must be above 0, at most 600 seconds")
    if limit_s is None:
        limit_s = default_limit_s(len(plan.chosen), STARTUP_S + timeout_s)
    elif not 0 < limit_s <= LONGEST_RUN_S:
        raise UsageError(f"--max-time must be above 0, at most {LONGEST_RUN_S:.0f} seconds")
    return Budget(limit_s)


def check_client(plan: Plan, client: Client, *, timeout_s: float, budget: Budget) -> None:
    """Try `client` with some scenarios of a plan, and raise UsageError if it fails in each of them
    before it does anything: a client that cannot work at all cannot be judged.

    With fewer scenarios than would be tried nothing is done: their run says as much.
    """
    scenarios = [case for case in plan.chosen if isinstance(case, ClientCase)]
    if len(scenarios) <= _TRIED:
        return
    how = ""
    for number in range(_TRIED):
        case = scenarios[number * (len(scenarios) - 1) // (_TRIED - 1)]
        result = run_scenario(case, client, timeout_s=timeout_s, budget=budget)
        if not (how := _unusable(result)):
            return
    raise UsageError(f"the command does not work: in {_TRIED} scenarios {how}")


def _unusable(result: Result) -> str:
    """Return why nothing that a client said of a scenario can be judged, "" if something can."""
    reported = result.reported
    if reported is None or reported.ended not in ("exit", "timeout") or reported.lines:
        return ""
    if reported.ended == "timeout":
        return f"{result.message}: {reported.garbage}" if reported.garbage else ""
    if isinstance(result.cause, ClientGarbage | ClientSaidLess):
        return result.message
    if not reported.exit or result.exchanges or reported.garbage is not None:
        return ""
    how = f"exit code {reported.exit}" if reported.exit > 0 else f"signal {-reported.exit}"
    printed = printable(reported.stderr.strip(), 2 * _SHOWN)[-_SHOWN:] or "nothing"
    return f"it sent no request, said nothing and ended with {how}; it printed: {printed}"


def start_client_run(
    target: Target,
    plan: Plan,
    directory: Path,
    *,
    command: Sequence[str],
    timeout_s: float,
    budget: Budget | None = None,
    lacks: Sequence[str] = (),
    expectations: Expectations = NO_EXPECTATIONS,
    outdated: Collection[str] = (),
) -> ClientRun:
    """Begin the record of a run in `directory`, replacing an older one; see `servers.start`.

    Without a `budget` it has the usual one. Raises UsageError.
    """
    budget = budget or run_budget(plan, timeout_s)
    record = Record(
        directory,
        target,
        Server(ServerInfo("", "", ())),
        plan.planned,
        own=plan.own,
        selection=plan.selection,
        outdated=outdated,
        noted=partial(expectations.noted, today=today()),
        client=ClientInfo(tuple(command), timeout_s, lacks=tuple(dict.fromkeys(lacks))),
    )
    return ClientRun(target, plan, record, budget, tuple(lacks))
