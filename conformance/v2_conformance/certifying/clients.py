"""A run of scenarios against a client, from its plan to its report: nothing here prints."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from v2_conformance.bench.clients import Client
from v2_conformance.bench.judging.judge import skipped_scenario
from v2_conformance.bench.listener import BENCH
from v2_conformance.bench.scenarios import run_scenario
from v2_conformance.certifying.servers import NO_EXPECTATIONS, Plan, today
from v2_conformance.errors import UsageError
from v2_conformance.judging.observed.exchanges import Observations
from v2_conformance.judging.verdict import Verdict
from v2_conformance.report.document import Report
from v2_conformance.report.expectations.known import Expectations
from v2_conformance.report.recording.recorder import Record
from v2_conformance.report.tested import ClientInfo, Selection
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.result import CaseFinished, Result
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, ClientCase, ObservedCase
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.choosing.claimed import CLIENT_PROFILES
from v2_conformance.suite.choosing.selection import select
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.scenario_files import load_scenarios

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
    chosen = select(cases, patterns)
    return Plan(cases, chosen, files is None, Selection(patterns=tuple(patterns)))


@dataclass(frozen=True)
class ClientRun:
    """A run whose record is open; `finish` runs its scenarios, one after the other."""

    target: Target
    plan: Plan
    record: Record

    @property
    def scenarios(self) -> list[ClientCase]:
        """The chosen scenarios that have something to do."""
        return [case for case in self.plan.chosen if isinstance(case, ClientCase)]

    def add(self, result: Result, observations: Observations) -> None:
        """Record the result of a scenario, and what it shows of all."""
        observations.add(result.seen())
        self.record.add(result)

    def observed(self, observations: Observations) -> list[Result]:
        """The results of what is observed over all scenarios."""
        return [
            Result(case, self.skipped(case) or observations.verdict(case))
            for case in self.plan.chosen
            if isinstance(case, ObservedCase)
        ]

    def skipped(self, case: Case) -> Verdict | None:
        """The verdict on a scenario of a profile that the client does not claim."""
        return skipped_scenario(case, self.target.profiles)

    def finish(
        self,
        client: Client,
        *,
        timeout_s: float,
        on_case: Callable[[CaseFinished], object] = lambda event: None,
    ) -> Report:
        """Run the chosen scenarios, write report.json and return the report.

        Whatever stops the run leaves a report that says it is incomplete. Raises UsageError if the
        client cannot be started.
        """
        complete = False
        observations = Observations()
        scenarios = self.scenarios
        total = len(self.plan.chosen)
        try:
            for number, case in enumerate(scenarios, 1):
                skip = self.skipped(case)
                result = (
                    run_scenario(case, client, timeout_s=timeout_s)
                    if skip is None
                    else Result(case, skip)
                )
                self.add(result, observations)
                on_case(CaseFinished(result, number, total))
            for number, result in enumerate(self.observed(observations), len(scenarios) + 1):
                self.record.add(result)
                on_case(CaseFinished(result, number, total))
            complete = True
        finally:
            report = self.record.finish(complete=complete)
        return report


def check_client(plan: Plan, client: Client, *, timeout_s: float) -> None:
    """Try `client` with some scenarios of a plan, and raise UsageError if it fails in each of them
    before it does anything: what cannot work at all is no client that could be judged.

    With fewer scenarios than would be tried nothing is done: their run says as much.
    """
    _check_limit(timeout_s)
    scenarios = [case for case in plan.chosen if isinstance(case, ClientCase)]
    if len(scenarios) <= _TRIED:
        return
    how = printed = ""
    for number in range(_TRIED):
        case = scenarios[number * (len(scenarios) - 1) // (_TRIED - 1)]
        result = run_scenario(case, client, timeout_s=timeout_s)
        said = result.said
        if said is None or said.ended != "exit" or not said.exit:
            return
        if result.exchanges or said.lines or said.garbage is not None:
            return
        how = f"exit code {said.exit}" if said.exit > 0 else f"signal {-said.exit}"
        printed = printable(said.stderr.strip(), 2 * _SHOWN)[-_SHOWN:] or "nothing"
    raise UsageError(
        f"the command does not work: in {_TRIED} scenarios it sent no request, said nothing and "
        f"ended with {how}; it printed: {printed}"
    )


class ByHand:
    """A run whose client somebody else starts: results come as they are said, and the last one of a
    scenario counts."""

    def __init__(self, run: ClientRun) -> None:
        self._run = run
        self._observations = Observations()
        self._done: set[str] = set()
        self._lock = threading.Lock()

    def add(self, result: Result) -> None:
        """Record what came of a scenario. Any thread may call this."""
        with self._lock:
            self._run.add(result, self._observations)
            self._done.add(result.case.id)

    def finish(self, unsaid: Sequence[Result]) -> Report:
        """Record `unsaid`, which are scenarios of which nothing was said, and write report.json."""
        for result in unsaid:
            self.add(result)
        with self._lock:
            for case in self._run.scenarios:
                skip = self._run.skipped(case)
                if skip is not None and case.id not in self._done:
                    self._run.record.add(Result(case, skip))
            for result in self._run.observed(self._observations):
                self._run.record.add(result)
            return self._run.record.finish(complete=True)


def start_client_run(
    target: Target,
    plan: Plan,
    directory: Path,
    *,
    command: Sequence[str],
    timeout_s: float,
    expectations: Expectations = NO_EXPECTATIONS,
    outdated: Collection[str] = (),
) -> ClientRun:
    """Begin the record of a run in `directory`, replacing an older one; see `certifying.start`.

    Raises UsageError.
    """
    _check_limit(timeout_s)
    record = Record(
        directory,
        target,
        Server("", "", ()),
        plan.planned,
        own=plan.own,
        selection=plan.selection,
        outdated=outdated,
        noted=partial(expectations.noted, today=today()),
        client=ClientInfo(tuple(command), timeout_s),
    )
    return ClientRun(target, plan, record)


def _check_limit(timeout_s: float) -> None:
    if not 0 < timeout_s <= 600:
        raise UsageError("the time limit of a client must be from 0 to 600 seconds")
