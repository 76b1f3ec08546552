"""The suite's cases as items of pytest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pytest

from v2_conformance.certifying.servers import StartedRun
from v2_conformance.conversations.result import Result
from v2_conformance.pytest_plugin.junit import set_properties
from v2_conformance.report.document import CaseResult
from v2_conformance.report.expectations.known import Expectation
from v2_conformance.report.recording.results import case_result
from v2_conformance.suite.cases import Case
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.terminal_safe_text import plain

NODE = "v2-conformance"


class Suite(Protocol):
    """Runs the cases of a session."""

    @property
    def started(self) -> StartedRun:
        """The run that the cases belong to."""

    def run(self, case: Case) -> Result:
        """Run one case."""

    def expected(self, case: CaseResult) -> tuple[Expectation | None, str]:
        """Return the entry that excuses this failure, and a complaint about its absence."""


class Cases(pytest.Collector):
    """The collector that the cases stand under."""

    @classmethod
    def of(
        cls, session: pytest.Session, cases: Sequence[Case], suite: Suite | None = None
    ) -> list[CaseItem]:
        """Return each case as an item, which `suite` runs, and count them as collected."""
        parent = cls.from_parent(session, name=NODE, nodeid=NODE)
        items = [
            CaseItem.from_parent(
                parent, name=case.id, nodeid=f"{NODE}::{case.id}", case=case, suite=suite
            )
            for case in cases
        ]
        report = pytest.CollectReport(NODE, "passed", None, list(items))
        session.config.hook.pytest_collectreport(report=report)
        return items

    def collect(self) -> list[CaseItem]:
        """Return nothing: `of` makes the items."""
        return []


class CaseItem(pytest.Item):
    """One case as a test."""

    def __init__(self, *, case: Case, suite: Suite | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.suite = suite
        self.result: CaseResult | None = None
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
        assert self.suite is not None
        target = self.suite.started.engine.target
        result = case_result(self.suite.run(self.case), target.profiles, target.mask)
        self.result = result
        set_properties(self, self.case, result)
        outcome, message = result.outcome, plain(result.message)
        entry, complaint = self.suite.expected(result)
        if complaint:
            raise CaseFailed(result, f"{complaint}\n{message}")
        if entry is not None and outcome is not Outcome.NOT_RUN:
            pytest.xfail(entry.reason)
        if outcome in (Outcome.PASS, Outcome.DISPUTED):
            return
        if outcome in (Outcome.UNSUPPORTED, Outcome.NOT_RUN):
            pytest.skip(f"{outcome.value}: {message}")
        if outcome in (Outcome.FAIL, Outcome.FLAKY) and result.level in ("MAY", "DISPUTED"):
            pytest.skip(f"{result.level}: {message}")
        raise CaseFailed(result, message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """The case's message and why, without a traceback, which takes long to render."""
        if isinstance(excinfo.value, CaseFailed | pytest.xfail.Exception):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Where the item comes from: the suite."""
        return NODE, None, self.case.id


class CaseFailed(Exception):
    """A case that did not pass."""

    def __init__(self, case: CaseResult, message: str) -> None:
        words = f"{case.outcome.upper()} {case.grade} {case.id}"
        super().__init__(f"{words}\n{message}\nwhy: {case.why}")
