"""One pytest session's run of the suite: its engine, its record and what it says at its end."""

from __future__ import annotations

import gc
import json
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from v2_conformance.certifying.progress import announcement, in_words
from v2_conformance.certifying.seeds import seeded
from v2_conformance.certifying.servers import plan_of, today
from v2_conformance.conversations.result import Result
from v2_conformance.errors import ConformanceError
from v2_conformance.formats.ci.github import publish
from v2_conformance.formats.registry import file_names, write_formats
from v2_conformance.formats.text.terminal import problem_lines, summary_lines
from v2_conformance.judging.observed.exchanges import Observation, Observations
from v2_conformance.judging.survival import passed_again
from v2_conformance.judging.verdict import Verdict
from v2_conformance.pytest_plugin.items import NODE, CaseItem, Cases
from v2_conformance.pytest_plugin.junit import add_suite_properties
from v2_conformance.pytest_plugin.options import target_of
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.evidence import Calibration
from v2_conformance.report.expectations.known import (
    Expectation,
    Expectations,
    Judgement,
    judge_expectations,
    load_expectations,
)
from v2_conformance.report.files import as_json, from_json
from v2_conformance.report.folder_lock import sole_run
from v2_conformance.report.recording.recorder import Record
from v2_conformance.report.recording.results import calibration, masked_seen
from v2_conformance.report.verdict.gate import Gate
from v2_conformance.runs.budget import Budget, default_limit_s
from v2_conformance.runs.discovery import discover, server_document, server_from
from v2_conformance.runs.extension_watch import ExtensionWatch
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import in_order
from v2_conformance.runs.targets.readiness import wait_until_ready
from v2_conformance.runs.targets.target import check_claims
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.causes.kinds import OutOfTime

# What xdist's controller hands to its workers in `workerinput`, and they back in `workeroutput`.
_SERVER = "v2_conformance_server"
_LEFT_S = "v2_conformance_left_s"
_SEED = "v2_conformance_seed"
_OBSERVED = "v2_conformance_observed"


class SessionHooks:
    """The hooks of a session that tests a server.

    Under xdist, all cases run in one worker. The record belongs to the controller: if that worker
    crashes, the rest moves to another one.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._given: dict[str, Any] = getattr(config, "workerinput", {})
        self._seed = self._given.get(_SEED, config.getoption("--v2-seed"))
        self._report_dir: Path | None = config.getoption("--v2-report-dir")
        self._engine: Engine | None = None
        self._watch: ExtensionWatch | None = None
        self._record: Record | None = None
        self.report: Report | None = None  # once the run has ended
        self._cases: list[Case] = []
        self._chosen: list[Case] = []  # those of them that are items
        self._expectations: Expectations | None = None
        self._finished: dict[str, CaseResult] = {}  # without their exchanges
        self._observations = Observations()
        self._left: set[str] = set()  # names of cases that xdist's workers leave to this process
        self._interrupted = False
        self._froze = False
        self._budget: Budget | None = None
        self._out_of_time = False
        self._failed_at_first: dict[str, Verdict] = {}
        self._resources = ExitStack()

    def engine(self) -> Engine:
        """The engine, made when first needed. Raises ConformanceError for a wrong target."""
        if self._engine is None:
            target = seeded(
                target_of(self._config),
                self._seed,
                generated=self._config.getoption("--v2-generated"),
                expected=self._expectations,
            )
            known = self._given.get(_SERVER)
            usual_s = default_limit_s(len(self._chosen), target.limits.exchange_s)
            self._budget = Budget(self._given.get(_LEFT_S, target.max_time_s or usual_s))
            if not known:
                wait_until_ready(target, self._config.getoption("--v2-wait-ready"))
            server = server_from(json.loads(known)) if known else discover(target)
            self._engine = Engine(
                target,
                server,
                budget=self._budget,
            )
        return self._engine

    def run(self, case: Case) -> Result:
        """Run one case.

        A case about all exchanges is judged by what was seen of the others. A case that another
        plugin runs again, because it failed, is flaky if it passes then.
        """
        result = self._run(case)
        first = self._failed_at_first.setdefault(case.id, result.verdict)
        return replace(result, verdict=passed_again(result.verdict, first))

    def _run(self, case: Case) -> Result:
        if isinstance(case, ObservedCase):
            return self.engine().judged(case, self._observations)
        watch = self._watch
        if watch is not None and watch.left_out:
            return self.engine().without_extension(case)
        result = self.engine().run(case)
        if watch is not None:
            watch.note(result)
        return result

    def _is_worker(self) -> bool:
        """Return True if this process runs tests for xdist's controller."""
        return hasattr(self._config, "workerinput")

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Give all cases to one worker, unless each worker is to run everything."""
        if config.getoption("dist") == "each":
            return None
        from v2_conformance.pytest_plugin.one_worker import OneWorkerForCases

        return OneWorkerForCases(config, log)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of xdist what its controller knows: one session discovers once."""
        engine = self.engine()
        if self._budget is not None:
            node.workerinput[_LEFT_S] = self._budget.left_s
        node.workerinput[_SEED] = engine.target.seed
        node.workerinput[_SERVER] = json.dumps(server_document(engine.server))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Fail early and in one line where the target is wrong or out of reach."""
        try:
            plan = plan_of(large=self._config.getoption("--v2-large"))
            self._cases, self._chosen = list(plan.planned), list(plan.chosen)
            expect = self._config.getoption("--v2-expect")
            self._expectations = load_expectations(expect) if expect else None
            if self._is_worker():
                self._watch = plan.watch(self.engine().server)
                return
            folder = self._folder()
            self._resources.enter_context(sole_run(folder))
            engine = self.engine()
            check_claims(engine.target)
            self._watch = plan.watch(engine.server)
            self._record = Record(
                folder,
                engine.target,
                engine.server,
                self._cases,
                selection=plan.selection,
                noted=self._noted,
                outdated=file_names(),
            )
        except ConformanceError as error:
            raise pytest.UsageError(f"v2-conformance: {error}") from None

    def _folder(self) -> Path:
        """Return where the record is. Without a folder of the user's, the verdict is still for
        pytest's own reports.
        """
        if self._report_dir is not None:
            return self._report_dir
        made = tempfile.TemporaryDirectory(prefix="v2-conformance-")
        return Path(self._resources.enter_context(made))

    def pytest_report_header(self) -> list[str]:
        """Return how long the run may take, and what its large tensors take."""
        if self._budget is None:
            return []
        seed, limit_s = self.engine().target.seed, self._budget.limit_s
        limit = f"v2-conformance: --v2-seed {seed}, at most {in_words(limit_s)} (--v2-max-time)"
        return [limit, *announcement(self._chosen)]

    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Add the cases behind the vendor's own tests, dangers last."""
        cases = self._items(session)
        items.extend(cases)
        # So that they are counted.
        report = pytest.CollectReport(NODE, "passed", None, list(cases))
        config.hook.pytest_collectreport(report=report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Put what is observed of all exchanges last, whatever order other plugins want.

        A worker of xdist leaves these cases to its controller: it may have begun where another
        one crashed.
        """
        chosen = [item for item in session.items if _is_observed(item)]
        others = [item for item in session.items if not _is_observed(item)]
        if self._is_worker():
            output: dict[str, Any] = self._config.workeroutput  # type: ignore[attr-defined]
            output[_OBSERVED] = [item.name for item in chosen]
            chosen = []
        session.items[:] = [*others, *chosen]
        # Items and cases stay to the end: later searches for garbage need not go through them.
        if not gc.get_freeze_count():  # else somebody else has done it, and wants it to last
            gc.collect()
            gc.freeze()
            self._froze = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Once its workers have run everything else, a controller judges what was left to it."""
        result = yield
        self._judge_observed(session)
        return result

    def _judge_observed(self, session: pytest.Session) -> None:
        """Run the cases that workers have left, as items of this process."""
        if not self._left or session.shouldstop or session.shouldfail:
            return
        items = [item for item in self._items(session) if item.name in self._left]
        for item, following in zip_longest(items, items[1:]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """Take the names of the cases that a worker has left to its controller."""
        self._left.update(getattr(node, "workeroutput", {}).get(_OBSERVED, ()))

    def _items(self, session: pytest.Session) -> list[CaseItem]:
        """Return every chosen case as an item, dangers last."""
        cases = Cases.from_parent(
            session, name=NODE, nodeid=NODE, suite=self, cases=in_order(self._chosen, self._watch)
        )
        return cases.collect()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        """Hand a case's result over with its report, across xdist's process border too."""
        report = yield
        if isinstance(item, CaseItem) and item.result is not None and call.when == "call":
            report.v2_case = as_json(item.result)
            engine = self.engine()
            mask, calibrated = engine.target.mask, engine.calibrations()
            seen = masked_seen((one.seen for one in calibrated), mask)
            report.v2_seen = as_json((*item.seen, *seen))
            report.v2_calibrated = as_json(tuple(calibration(one, mask) for one in calibrated))
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Append a finished case to the record, in the process that writes it."""
        text = getattr(report, "v2_case", None)
        if text is None or self._is_worker():
            return
        case = from_json(text, CaseResult)
        self._observations.add(msgspec.json.decode(report.v2_seen, type=tuple[Observation, ...]))
        case = self._beside_first(case)
        self._out_of_time |= isinstance(case.cause, OutOfTime)
        if self._record is not None:
            for one in from_json(report.v2_calibrated, tuple[Calibration, ...]):
                self._record.add_calibration(one)
            self._record.add_case(case)
        self._finished[case.id] = replace(case, exchanges=())

    def _beside_first(self, case: CaseResult) -> CaseResult:
        """Return `case`, flaky if it passes after it failed in a worker that crashed."""
        first = self._finished.get(case.id)
        if first is None or first.outcome.harmless or not case.outcome.harmless:
            return case
        found = passed_again(Verdict(case.outcome, case.cause), Verdict(first.outcome, first.cause))
        return replace(case, outcome=found.outcome, cause=found.cause, message=found.message)

    def pytest_keyboard_interrupt(self) -> None:
        """Remember it: the report is incomplete then."""
        self._interrupted = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, before pytest's own reports ask for the verdict."""
        if self._froze:
            gc.unfreeze()
        if self._engine is not None:
            self._engine.close()
        judged = self._judgement()
        if judged is not None and judged.problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self._out_of_time and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self._record is None:
            return
        stopped = self._interrupted or self._out_of_time or session.shouldstop or session.shouldfail
        self.report = self._record.finish(complete=not stopped)
        if self._report_dir:
            record = self._record
            write_formats(record.directory, self.report, check=record.mask.check)
        self._record = None
        add_suite_properties(self._config, self.report)

    def expected(self, case: CaseResult) -> tuple[Expectation | None, str]:
        """The entry that excuses the case's failure, and what is wrong with a case that should fail
        in that way and does not."""
        known = self._expectations
        return (known.excuse(case, today()), known.complaint(case)) if known else (None, "")

    def _noted(self, case: CaseResult) -> CaseResult:
        return self._expectations.noted(case, today()) if self._expectations else case

    def _judgement(self) -> Judgement | None:
        """Return what came beside what was expected; None without expectations, or in a worker."""
        if self._expectations is None or self._is_worker():
            return None
        ids = {case.id: case.requirement for case in self._cases}
        finished = list(self._finished.values())
        return judge_expectations(self._expectations, finished, ids, today(), Gate(strict=True))

    def pytest_unconfigure(self) -> None:
        """Leave the report folder, and remove the one that only this session needed."""
        self._resources.close()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the verdict, and tell a CI service of it."""
        folder = self._report_dir
        judged = self._judgement()
        lines = summary_lines(self.report, folder) if self.report and folder else []
        if judged is not None and self._expectations is not None:
            lines += problem_lines(self._expectations.name, judged)
        if lines:
            terminalreporter.section("V2 conformance")
        for line in lines:
            terminalreporter.write_line(line)
        if self.report and self.report.cases:
            publish(self.report, folder, terminalreporter.write_line)


def _is_observed(item: pytest.Item) -> bool:
    return isinstance(item, CaseItem) and isinstance(item.case, ObservedCase)
