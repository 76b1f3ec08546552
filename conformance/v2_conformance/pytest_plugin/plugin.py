"""The pytest plugin: `pytest --v2-url URL` collects the suite's cases as items.

Without --v2-url it does nothing at all. Under xdist each worker runs cases one at a time, and a
lock that all share keeps negative cases from running beside anything else, as the command does.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Generator, Iterator, Mapping
from dataclasses import asdict
from datetime import date, datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from v2_conformance.engine.engine import Engine, Result
    from v2_conformance.report.expectations import Expectation, Expectations, Judgement
    from v2_conformance.report.recorder import Record
    from v2_conformance.suite.cases import Case

_URL = "v2_url"
_NODE = "v2-conformance"
# What xdist's controller hands to its workers.
_FOLDER = "v2_conformance_folder"
_SERVER = "v2_conformance_server"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The plugin's options, in a group of their own."""
    group = parser.getgroup("v2-conformance", "V2 binary tensor data conformance")
    group.addoption("--v2-url", dest=_URL, metavar="URL", help="server under test; turns it on")
    group.addoption("--v2-target", metavar="FILE", help="target file (YAML or JSON)")
    group.addoption("--v2-profile", action="append", default=[], metavar="NAME")
    group.addoption("--v2-header", action="append", default=[], metavar="'NAME: VALUE'")
    group.addoption("--v2-timeout", type=float, metavar="S", help="seconds for one exchange")
    group.addoption("--v2-large", action="store_true", help="also send tensors of 64 MiB")
    group.addoption("--v2-expect", metavar="FILE", help="known failures, which then are xfail")
    group.addoption("--v2-report-dir", metavar="DIR", help="write report.json and report.html here")


def pytest_configure(config: pytest.Config) -> None:
    """Register markers; with a URL, the plugin proper."""
    for line in (
        "v2_requirement(id): the requirement that a conformance case tests",
        "v2_level(level): MUST, SHOULD or MAY",
        "v2_family(letter): the requirement's family",
        "v2_profile(name): the profile that the case belongs to",
    ):
        config.addinivalue_line("markers", line)
    if not config.getoption(_URL) and not config.getoption("--v2-target"):
        return
    from v2_conformance.suite.requirements import catalogue

    for requirement in catalogue().values():
        for name in (requirement.id, requirement.level, f"family_{requirement.family}"):
            config.addinivalue_line("markers", f"{name}: v2-conformance, see --markers v2_*")
    for profile in ("binary", "raw", "bf16", "compression"):
        config.addinivalue_line("markers", f"profile_{profile}: v2-conformance profile")
    suite = Suite(config)
    config.pluginmanager.register(suite, "v2-conformance-suite")
    if config.pluginmanager.hasplugin("html") and config.getoption("htmlpath", None):
        from v2_conformance.pytest_plugin.html import Page

        config.pluginmanager.register(Page(lambda: suite.report), "v2-conformance-html")


class Suite:
    """One pytest session's run of the suite."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._engine: Engine | None = None
        self._record: Record | None = None
        self.report: dict[str, Any] | None = None  # once the run has ended
        self._shared = _shared_folder(config)
        self._cases: list[Case] = []
        self._expectations: Expectations | None = None
        self._finished: list[Mapping[str, Any]] = []
        self._interrupted = False

    @property
    def _is_worker(self) -> bool:
        return hasattr(self._config, "workerinput")

    def engine(self) -> Engine:
        """The engine, made when first needed. Raises pytest.UsageError for a wrong target."""
        if self._engine is None:
            from v2_conformance.engine.discovery import discover, server_from
            from v2_conformance.engine.fuzzing import CertifyingEngine
            from v2_conformance.engine.target import make_target

            option = self._config.getoption
            file = option("--v2-target")
            target = make_target(
                option(_URL),
                file=Path(file) if file else None,
                profiles=tuple(option("--v2-profile")),
                headers=tuple(option("--v2-header")),
                timeout=option("--v2-timeout"),
            )
            known = getattr(self._config, "workerinput", {}).get(_SERVER)
            server = server_from(json.loads(known)) if known else discover(target)
            folder = option("--v2-report-dir")
            self._engine = CertifyingEngine(
                target,
                server,
                killed=KilledShared(self._shared),
                directory=Path(folder) if folder else None,
            )
        return self._engine

    def run(self, case: Case) -> Result:
        """Run one case; what may damage the server has it for itself."""
        with _locked(self._shared, exclusive=case.alone):
            result = self.engine().run(case)
        if not case.alone and result.outcome in ("fail", "inconclusive"):
            with _locked(self._shared, exclusive=True):
                result = self.engine().run(case)
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of xdist what its controller knows: one session discovers once."""
        node.workerinput[_FOLDER] = str(self._shared)
        node.workerinput[_SERVER] = json.dumps(asdict(self.engine().server))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Fail early and in one line where the target is wrong or out of reach."""
        from v2_conformance.engine.target import check_claims
        from v2_conformance.errors import ConformanceError
        from v2_conformance.report.expectations import load_expectations
        from v2_conformance.report.recorder import Record
        from v2_conformance.suite.library import suite_cases

        try:
            self._cases = suite_cases(large=self._config.getoption("--v2-large"))
            expect = self._config.getoption("--v2-expect")
            self._expectations = load_expectations(Path(expect)) if expect else None
            if self._is_worker:
                return
            engine = self.engine()
            check_claims(engine.target, self._cases)
            # Without a folder for it the verdict is still for pytest's own reports.
            folder = Path(self._config.getoption("--v2-report-dir") or self._shared)
            self._record = Record(
                folder, engine.target, engine.server, self._cases, noted=self._noted
            )
        except ConformanceError as error:
            raise pytest.UsageError(f"v2-conformance: {error}") from None

    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Add the cases behind the vendor's own tests, dangers last."""
        collector = Cases.from_parent(session, name=_NODE, nodeid=_NODE, suite=self)
        cases = collector.collect()
        items.extend(cases)
        # So that they are counted.
        report = pytest.CollectReport(_NODE, "passed", None, list(cases))
        config.hook.pytest_collectreport(report=report)

    def items(self, collector: Cases) -> list[CaseItem]:
        """Every case as an item, dangers last."""
        from v2_conformance.engine.engine import in_order

        return [
            CaseItem.from_parent(
                collector, name=case.id, nodeid=f"{_NODE}::{case.id}", case=case, suite=self
            )
            for case in in_order(self._cases)
        ]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        """Hand a case's result over with its report, across xdist's process border too."""
        report = yield
        if isinstance(item, CaseItem) and item.record is not None and call.when == "call":
            report.v2_case = json.dumps(item.record)
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Append a finished case to the record, in the process that writes it."""
        case = getattr(report, "v2_case", None)
        if case is None or self._is_worker:
            return
        record = json.loads(case)
        if self._record is not None:
            self._record.add_record(record)
        if self._expectations is not None:
            self._finished.append({**record, "exchanges": ()})

    def pytest_keyboard_interrupt(self) -> None:
        """Remember it: the report is incomplete then."""
        self._interrupted = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, before pytest's own reports ask for the verdict."""
        if self._engine is not None:
            self._engine.close()
        judged = self._judgement()
        if judged is not None and judged.problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self._record is None:
            return
        from v2_conformance.formats.page_files import write_page
        from v2_conformance.pytest_plugin.junit import add_suite_properties

        stopped = self._interrupted or session.shouldstop or session.shouldfail
        self.report = self._record.finish(complete=not stopped)
        if self._config.getoption("--v2-report-dir"):
            write_page(self._record.directory, self.report)
        self._record = None
        add_suite_properties(self._config, self.report)

    def expected(self, case: Mapping[str, Any]) -> tuple[Expectation | None, str]:
        """The entry that a case of report.json fails as expected by, and what is wrong with a case
        that should fail so and does not."""
        known = self._expectations
        return (known.excuse(case, _today()), known.complaint(case)) if known else (None, "")

    def _noted(self, case: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._expectations.noted(case, _today()) if self._expectations else case

    def _judgement(self) -> Judgement | None:
        """What came beside what was expected; None without expectations, or in a worker."""
        if self._expectations is None or self._is_worker:
            return None
        from v2_conformance.report.expectations import judge_expectations

        ids = {case.id: case.requirement for case in self._cases}
        return judge_expectations(self._expectations, self._finished, ids, _today(), strict=True)

    def pytest_unconfigure(self) -> None:
        """Remove what only this session's processes needed."""
        if not self._is_worker:
            shutil.rmtree(self._shared, ignore_errors=True)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the verdict, and tell a CI service of it."""
        from v2_conformance.formats.github import publish
        from v2_conformance.formats.terminal import problem_lines, summary_lines

        folder = self._config.getoption("--v2-report-dir")
        judged = self._judgement()
        lines = summary_lines(self.report, Path(folder)) if self.report and folder else []
        if judged is not None and self._expectations is not None:
            lines += problem_lines(self._expectations.name, judged)
        if lines:
            terminalreporter.section("V2 conformance")
        for line in lines:
            terminalreporter.write_line(line)
        if self.report and self.report["cases"]:
            publish(self.report, Path(folder) if folder else None, terminalreporter.write_line)


class Cases(pytest.Collector):
    """The collector that the cases stand under."""

    def __init__(self, *, suite: Suite, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._suite = suite

    def collect(self) -> list[CaseItem]:
        """See Suite.items."""
        return self._suite.items(self)


class CaseItem(pytest.Item):
    """One case as a test."""

    def __init__(self, *, case: Case, suite: Suite, **kwargs: Any) -> None:
        from v2_conformance.pytest_plugin.junit import set_properties

        super().__init__(**kwargs)
        self.case = case
        self.suite = suite
        self.record: dict[str, Any] | None = None
        for name, value in (
            ("v2_requirement", case.requirement),
            ("v2_level", case.level),
            ("v2_family", case.requirement[0]),
            ("v2_profile", case.profile),
        ):
            self.add_marker(getattr(pytest.mark, name)(value))
        for name in (case.requirement, case.level, f"family_{case.requirement[0]}"):
            self.add_marker(getattr(pytest.mark, name))
        self.add_marker(getattr(pytest.mark, f"profile_{case.profile}"))
        set_properties(self, case)

    def runtest(self) -> None:
        """Run the case; anything but a pass fails or skips the test with the case's message.

        What fails as expected is an xfail. What passes against expectation, or fails in another
        way, is a failure.
        """
        from v2_conformance.pytest_plugin.junit import set_properties
        from v2_conformance.report.recorder import case_record
        from v2_conformance.terminal_safe_text import plain

        result = self.suite.run(self.case)
        target = self.suite.engine().target
        mask = target.mask
        self.record = case_record(result, target.profiles, mask)
        set_properties(self, self.case, self.record)
        message = plain(mask.text(result.message))
        entry, complaint = self.suite.expected(self.record)
        if complaint:
            raise CaseFailed(result.outcome, self.case, f"{complaint}\n{message}")
        if entry is not None and result.outcome != "not_run":
            pytest.xfail(entry.reason)
        if result.outcome in ("pass", "disputed"):
            return
        if result.outcome in ("unsupported", "not_run"):
            pytest.skip(f"{result.outcome}: {message}")
        if result.outcome == "fail" and self.case.level in ("MAY", "DISPUTED"):
            pytest.skip(f"{self.case.level}: {message}")
        raise CaseFailed(result.outcome, self.case, message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """The case's message and why, without a traceback."""
        if isinstance(excinfo.value, CaseFailed):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Where the item comes from: the suite."""
        return _NODE, None, self.case.id


class CaseFailed(Exception):
    """A case that did not pass."""

    def __init__(self, outcome: str, case: Case, message: str) -> None:
        super().__init__(f"{outcome.upper()} {case.level} {case.id}\n{message}\nwhy: {case.why}")


class KilledShared:
    """Which models are dead, known to every worker through files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def culprit(self, role: str) -> str | None:
        """See v2_conformance.engine.engine.Killed."""
        for name in ("", role):
            with contextlib.suppress(FileNotFoundError):
                return self._path(name).read_text(encoding="utf-8")
        return None

    def add(self, role: str, case_id: str) -> None:
        """See v2_conformance.engine.engine.Killed."""
        with contextlib.suppress(FileExistsError), self._path(role).open("x") as file:
            file.write(case_id)

    def clear(self, role: str) -> None:
        """See v2_conformance.engine.engine.Killed."""
        for path in [self._path(role)] if role else self._folder.glob("killed-*"):
            path.unlink(missing_ok=True)

    def _path(self, role: str) -> Path:
        return self._folder / f"killed-{re.sub(r'[^A-Za-z0-9]', '_', role)}"


def _today() -> date:
    return datetime.now(timezone.utc).date()


def _shared_folder(config: pytest.Config) -> Path:
    """A folder that this session's processes share, and no other session does."""
    folder = getattr(config, "workerinput", {}).get(_FOLDER)
    return Path(folder or tempfile.mkdtemp(prefix="v2-conformance-"))


@contextlib.contextmanager
def _locked(folder: Path, *, exclusive: bool) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # no such lock here; without xdist none is needed
        yield
        return
    with (folder / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield
