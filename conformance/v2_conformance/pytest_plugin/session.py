"""One pytest session's run of the suite: its cases, its record and what it prints at its end.

pytest, not the suite's scheduler, says which cases run and in which order: -k, -m, --lf and plugins
for retries work as they do for other tests. So each case is an item that runs by itself, in this
process, with the same engine and record as `run`; what a run does between cases is done here: the
order in which they are offered, what was observed of all exchanges last, whether the server left
the extension out, and that a case which passes only when it is run again is flaky. xdist's workers
only choose cases; their controller runs these.
"""

from __future__ import annotations

import dataclasses
import gc
import inspect
import shlex
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from v2_conformance.certifying.progress import in_words
from v2_conformance.certifying.servers import (
    NO_EXPECTATIONS,
    StartedRun,
    plan_of,
    seeded,
    start,
    today,
)
from v2_conformance.conversations.steps import Result
from v2_conformance.errors import ConformanceError
from v2_conformance.formats.github import publish
from v2_conformance.formats.junit import suite_properties
from v2_conformance.formats.registry import write_formats
from v2_conformance.formats.text.terminal import problem_lines, summary_lines
from v2_conformance.judging.observed.exchanges import Observations
from v2_conformance.judging.verdict import Verdict, passed_again
from v2_conformance.pytest_plugin.items import NODE, CaseItem, Cases
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.expectations import (
    Expectation,
    Judgment,
    judge_expectations,
    load_expectations,
)
from v2_conformance.report.recorder import case_result, sole_run
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.scheduling.running import ExtensionWatch, in_order
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.reaching import wait_until_ready
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.causes.kinds import OutOfTime
from v2_conformance.suite.outcomes import FAILED, Outcome

_CHOSEN = "v2_conformance_chosen"
"""The key in `workeroutput` under which a worker of xdist names the cases that it would run."""


def named_cases(config: pytest.Config) -> list[str] | None:
    """Take node ids of cases, which are in no file, from the arguments of pytest. Return what they
    name of the suite, [] for all, None if only other files or tests are named."""
    arguments, typed = config.args, config.invocation_params.args
    own = [one for one in arguments if one.partition("::")[0] == NODE]
    arguments[:] = [one for one in arguments if one not in own]
    if not own and any("::" in one or Path(one).is_file() for one in arguments if one in typed):
        return None
    return [name for one in own if (name := one.partition("::")[2])]


def target_of(config: pytest.Config) -> Target:
    """Return the target that pytest's options describe. Raises UsageError."""
    others = {"target_file": "target", "profiles": "profile", "headers": "header"}
    names = inspect.signature(make_target).parameters
    options = {name: f"--v2-{others.get(name, name).replace('_', '-')}" for name in names}
    return make_target(**{name: config.getoption(option) for name, option in options.items()})


class WorkerHooks:
    """The hooks of a worker of xdist, where -k, -m and plugins choose cases for the controller."""

    def __init__(self, config: pytest.Config) -> None:
        self._plan = plan_of(large=config.getoption("--v2-large"))

    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the cases after the vendor's own tests."""
        items.extend(Cases.of(session, self._plan.chosen))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Leave the cases that are chosen to the controller."""
        chosen = [item.name for item in session.items if isinstance(item, CaseItem)]
        session.config.workeroutput[_CHOSEN] = chosen  # type: ignore[attr-defined]
        session.items[:] = [item for item in session.items if not isinstance(item, CaseItem)]


class SessionHooks:
    """The hooks of a session that tests a server. Under xdist, they are the controller's."""

    def __init__(self, config: pytest.Config, patterns: Sequence[str]) -> None:
        """`patterns` name the cases to run; none means the whole suite."""
        config.add_cleanup(gc.unfreeze)  # it is frozen once all tests are there
        self._config = config
        self._patterns = patterns
        self._report_dir: Path | None = config.getoption("--v2-report-dir")
        self._started: StartedRun | None = None
        self._watch: ExtensionWatch
        self.report: Report | None = None  # once the run has ended
        self._expected = NO_EXPECTATIONS
        self._observations = Observations()
        self._chosen: set[str] = set()  # by xdist's workers
        self._interrupted = False
        self._out_of_time = False
        self._first_verdicts: dict[str, Verdict] = {}
        self._resources = ExitStack()

    @property
    def started(self) -> StartedRun:
        """The run, which begins with the session."""
        assert self._started is not None
        return self._started

    def run(self, case: Case) -> tuple[CaseResult, Expectation | None, str]:
        """Run one case: see `Run`. One about all exchanges is judged by what was seen of the
        others; one that another plugin runs again is flaky if it passes then."""
        result = self._run(case)
        self._observations.add(result.seen())
        first = self._first_verdicts.setdefault(case.id, result.verdict)
        result = replace(result, verdict=passed_again(result.verdict, first))
        target = self.started.engine.target
        recorded = case_result(result, target.profiles, target.mask)
        excuse = self._expected.excuse(recorded, today())
        return recorded, excuse, self._expected.complaint(recorded)

    def _run(self, case: Case) -> Result:
        engine = self.started.engine
        if isinstance(case, ObservedCase):
            return engine.judged(case, self._observations)
        if self._watch.left_out:
            return engine.without_extension(case)
        result = engine.run(case)
        self._watch.note(result)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Fail early and in one line where the target is wrong or out of reach."""
        given = self._config.getoption
        try:
            plan = plan_of(self._patterns, large=given("--v2-large"))
            if given("--v2-expect"):
                self._expected = load_expectations(given("--v2-expect"))
            # Without a folder of the user's, the verdict is still for pytest's own reports.
            folder = self._report_dir or Path(
                self._resources.enter_context(tempfile.TemporaryDirectory(prefix="v2-conformance-"))
            )
            self._resources.enter_context(sole_run(folder))
            target = seeded(
                target_of(self._config),
                given("--v2-seed"),
                generated=given("--v2-generated"),
                expected=self._expected,
            )
            wait_until_ready(target, given("--v2-wait-ready"))
            plan = dataclasses.replace(plan, server=discover(target))
            self._started = start(target, plan, folder, expectations=self._expected)
            self._watch = plan.watch(self._started.engine.server)
        except ConformanceError as error:
            raise pytest.UsageError(f"v2-conformance: {error}") from None

    def pytest_report_header(self) -> str:
        """Return how long the run may take."""
        seed, limit = self.started.engine.target.seed, in_words(self.started.limit_s)
        return f"v2-conformance: --v2-seed {seed}, at most {limit} (--v2-max-time)"

    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the cases after the vendor's own tests, dangers last."""
        items.extend(self._items(session))

    def _items(self, session: pytest.Session) -> list[CaseItem]:
        return Cases.of(session, in_order(self.started.plan.chosen, self._watch), self.run)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Put what is observed of all exchanges last, whatever order other plugins want."""
        session.items.sort(
            key=lambda item: isinstance(item, CaseItem) and isinstance(item.case, ObservedCase)
        )
        manager = self._config.pluginmanager
        hypothesis = manager.get_plugin("hypothesispytest")
        if hypothesis and "hypothesis" not in sys.modules and not manager.hasplugin("dsession"):
            # It would import all of Hypothesis, which takes long, to say that no test had used it.
            manager.unregister(hypothesis)
        gc.freeze()  # as a run does: no collection need examine again what was read

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """Take the names of the cases that a worker of xdist leaves to its controller."""
        self._chosen.update(getattr(node, "workeroutput", {}).get(_CHOSEN, ()))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Once xdist's workers have run all other tests, run the cases in this process."""
        result = yield
        if not self._chosen:
            return result
        items = [item for item in self._items(session) if item.name in self._chosen]
        session.testscollected += len(items)
        for item, following in zip_longest(items, items[1:]):
            if session.shouldstop or session.shouldfail:
                break
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        """Append a finished case to the record, and hand it to pytest-html's page."""
        report = yield
        if isinstance(item, CaseItem) and item.result is not None and call.when == "call":
            case = item.result
            page = self._config.pluginmanager.getplugin("v2-conformance-html")
            if page is not None:
                page.cases[report] = case
            self._out_of_time |= isinstance(case.cause, OutOfTime)
            self.started.record.calibrated(self.started.engine.live.canary.news())
            self.started.record.add_case(case)
        return report

    def pytest_keyboard_interrupt(self) -> None:
        """Remember it: the report is incomplete then."""
        self._interrupted = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, before pytest's own reports ask for the verdict."""
        if self._started is None:
            return
        self._started.engine.close()
        record = self._started.record
        stopped = self._interrupted or self._out_of_time or session.shouldstop or session.shouldfail
        self.report = record.finish(complete=not stopped)
        judged = self._judgment()
        wrong = self._out_of_time or (judged is not None and judged.problems)
        outcomes = [case.outcome for case in self.report.cases]
        ran = set(outcomes) - {Outcome.UNSUPPORTED, Outcome.NOT_RUN}
        idle = not ran and session.testscollected <= len(outcomes)
        if session.exitstatus == pytest.ExitCode.OK and (wrong or idle):
            codes = pytest.ExitCode
            session.exitstatus = codes.TESTS_FAILED if wrong else codes.NO_TESTS_COLLECTED
        if self._report_dir:
            write_formats(record.directory, self.report)
        for plugin in self._config.pluginmanager.get_plugins():
            if hasattr(plugin, "add_global_property"):  # that of pytest's JUnit XML
                for name, value in suite_properties(self.report).items():
                    plugin.add_global_property(name, value)

    def _judgment(self) -> Judgment | None:
        if self.report is None or self._expected is NO_EXPECTATIONS:
            return None
        ids = {case.id: case.requirement for case in self.started.plan.planned}
        return judge_expectations(
            self._expected, self.report.cases, ids, today(), Gate(strict=True)
        )

    def _again(self) -> str:
        """Return the command that sends the same once more."""
        target = self.started.engine.target
        seed = () if self._config.getoption("--v2-seed") is not None else ("--v2-seed", target.seed)
        words = ("pytest", *self._config.invocation_params.args, *seed)
        return f"repeat: {target.mask.text(shlex.join(map(str, words)))}"

    def pytest_unconfigure(self) -> None:
        """Leave the report folder, and remove the one that only this session needed."""
        self._resources.close()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the verdict, and tell a CI service of it."""
        folder, report = self._report_dir, self.report
        judged = self._judgment()
        lines = summary_lines(report, folder) if report and (folder or report.cases) else []
        if judged is not None:
            lines += problem_lines(self._expected.name, judged)
        if report and any(report.of(*FAILED)):
            lines.append(self._again())
        if lines:
            terminalreporter.section("V2 conformance")
        for line in lines:
            terminalreporter.write_line(line)
        if report and report.cases:
            publish(report, folder, terminalreporter.write_line)
