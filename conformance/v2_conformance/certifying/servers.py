"""A run of the suite from its plan to its report. Nothing here prints.

plan = plan_of(["H6"])
started = start(make_target("http://localhost:8000"), plan, Path("reports"))
report = started.finish(workers=4)

A plan says which cases a verdict is about and which of them are sent. Starting a run finds the
server and opens the record, so whatever is wrong with either is known before the first case is
sent; finishing it runs the cases and turns the record into the report, even if it is stopped.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from functools import partial
from pathlib import Path

from v2_conformance.conversations.discovery import Server
from v2_conformance.conversations.steps import CaseFinished
from v2_conformance.errors import CaseFileError
from v2_conformance.formats.registry import file_names, write_formats
from v2_conformance.judging.observed.cases import OBSERVED
from v2_conformance.protocol.names import LARGEST_SEED
from v2_conformance.report.document import Report
from v2_conformance.report.expectations import Expectations
from v2_conformance.report.recorder import Record, sole_run
from v2_conformance.report.tested import EVERYTHING, Relations, Selection
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.patience import Budget, default_limit_s
from v2_conformance.runs.scheduling.deaths import Recovery
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import ExtensionWatch, run
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.reaching import wait_until_ready
from v2_conformance.runs.targets.target import Target, checked_target
from v2_conformance.suite.case_files import load_cases
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.choosing import select
from v2_conformance.suite.library import suite_cases
from v2_conformance.terminal_safe_text import did_you_mean
from v2_conformance.wire.exchange import Exchange

NO_EXPECTATIONS = Expectations("")


@dataclass(frozen=True)
class Plan:
    """The cases that a verdict is about, `planned`, and those that the run sends, `chosen` by the
    `selection`. A run whose cases are not the suite's `own` certifies nothing; one with `relations`
    compares models with themselves. The `server` is set once it is found."""

    planned: Sequence[Case]
    chosen: Sequence[Case]
    own: bool = True
    selection: Selection = EVERYTHING
    server: Server | None = None
    relations: Relations | None = None

    def watch(self, server: Server) -> ExtensionWatch:
        """Return the watch that notices if the `server` leaves the extension out."""
        chosen = self.chosen if self.own else ()
        return ExtensionWatch(self.planned, chosen, server.info.extensions)


def plan_of(
    patterns: Sequence[str] = (), *, large: bool = False, case_files: Path | None = None
) -> Plan:
    """Return the plan for the cases that match. Raises CaseFileError and NothingRanError."""
    own = case_files is None
    cases = suite_cases(large=large) if case_files is None else load_cases(case_files)
    for case in cases:
        if isinstance(case, ObservedCase) and case.observed not in OBSERVED:
            hint = did_you_mean(case.observed, OBSERVED, "judging/observed has the rules")
            raise CaseFileError(f"{case.id}: there is no rule {case.observed!a:.60}: {hint}")
    return Plan(cases, select(cases, patterns), own, Selection(tuple(patterns), large))


@dataclass(frozen=True)
class StartedRun:
    """A run with server found and record open; `finish` runs its cases, for `limit_s` at most."""

    engine: Engine
    plan: Plan
    record: Record
    limit_s: float

    @property
    def usual_workers(self) -> int:
        """How many cases to run at a time by default: more for a server that is farther away."""
        return usual_workers(self.engine.server.asked)

    def finish(
        self,
        *,
        workers: int | None = None,
        on_case: Callable[[CaseFinished], object] = lambda event: None,
    ) -> Report:
        """Run the chosen cases, `workers` at a time, write report.json and return the report.

        `on_case` is called after each case that was added to the record. Whatever stops the run
        leaves a report that says it is incomplete.
        """
        complete = False
        watch = self.plan.watch(self.engine.server)
        count = workers or self.usual_workers
        try:
            for event in run(self.engine, self.plan.chosen, count, watch):
                self.record.calibrated(self.engine.live.canary.news())
                self.record.add(event.result)
                on_case(event)
            complete = not self.engine.out_of_time
        finally:
            report = self.record.finish(complete=complete)
        return report


def start(
    target: Target,
    plan: Plan,
    directory: Path,
    *,
    recovery: Recovery | None = None,
    expectations: Expectations = NO_EXPECTATIONS,
) -> StartedRun:
    """Begin the record of a run in `directory`, in place of an older one, after finding the server
    if the plan has none.

    Cases that fail as `expectations` say are marked as expected in the report; the verdict is the
    same without them. Raises UsageError, UnreachableError and NothingRanError; no case was sent
    then, and an older report is still there unless its folder is what is wrong.
    """
    server = plan.server or find(target, plan, None)
    limit_s = target.max_time_s or default_limit_s(len(plan.chosen), target.limits.exchange_s)
    record = Record(
        directory,
        target,
        server,
        plan.planned,
        own=plan.own,
        selection=plan.selection,
        relations=plan.relations,
        outdated=file_names(),
        noted=partial(expectations.noted, today=today()),
        restart_command=recovery is not None and recovery.command is not None,
    )
    engine = Engine(target, server, recovery=recovery, budget=Budget(limit_s))
    return StartedRun(engine, plan, record, limit_s)


def find(target: Target, plan: Plan, ready_within_s: float | None) -> Server:
    """Return the server that a run of `plan` is about, which may take `ready_within_s` seconds to
    become ready (see `wait_until_ready`). Raises as `start` does."""
    wait_until_ready(target, ready_within_s)
    return discover(target, without_models=plan.own)


def today() -> date:
    """Return today's date in UTC, by which expectations expire."""
    return datetime.now(timezone.utc).date()


MOST_WORKERS = 8
"""How many cases run at most at the same time, unless the user says otherwise."""

_WORTH_A_WORKER_MS = 10.0


def usual_workers(asked: Sequence[Exchange]) -> int:
    """Return how many cases to run at once: one for each 10 ms that discovery waited for the
    fastest response, on a kept connection if any."""
    kept = [e.duration_ms for e in asked if e.reused]
    round_trip_ms = min(kept or [e.duration_ms for e in asked], default=0.0)
    return max(1, min(MOST_WORKERS, int(round_trip_ms / _WORTH_A_WORKER_MS)))


def certify(
    target: Target | str,
    *,
    cases: Sequence[str] = (),
    large: bool = False,
    workers: int | None = None,
    report_dir: Path | str | None = None,
    on_case: Callable[[CaseFinished], object] | None = None,
) -> Report:
    """Run the suite against a server and return the report, which includes the verdict.

    `target` is a base URL, or a Target that says more: profiles, header fields, model names. With
    `cases`, ids or patterns such as "H6/*" or requirements, only those run; then the verdict says
    that the run is incomplete. `large` adds tensors of 64 MiB. `workers` is how many cases run at
    the same time; by default more the farther away the server is. `report_dir` gets the files that
    the command `run` writes; by default no file is left. `on_case` is called after each case.

    Raises UsageError for a wrong target, UnreachableError if no V2 server answers there, and
    NothingRanError if no case matches: all are ConformanceErrors.
    """
    plan = plan_of(cases, large=large)
    tested = seeded(make_target(target) if isinstance(target, str) else checked_target(target))
    with ExitStack() as stack:
        folder = report_dir
        if folder is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(sole_run(Path(folder)))
        started = start(tested, plan, Path(folder))
        report = started.finish(workers=workers, on_case=on_case or (lambda event: None))
        if report_dir is not None:
            write_formats(Path(folder), report)
    return report


def seeded(
    target: Target,
    seed: int | None = None,
    *,
    generated: int | None = None,
    expected: Expectations = NO_EXPECTATIONS,
) -> Target:
    """Return `target` with the number of generated requests, and with the seed that they and all
    values follow from: the given one, else the target's, else that of the file of known failures,
    so that the run sends what these were written for, else a fresh one."""
    if generated is not None:
        target = replace(target, generated=generated)
    if seed is None and target.seed is not None:
        return target
    return replace(target, seed=given_or_fresh(expected.seed if seed is None else seed))


def given_or_fresh(seed: int | None) -> int:
    """Return `seed` or, for None, one that nobody can predict."""
    return secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed
