"""The suite's cases as items of pytest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pytest

from v2_conformance.conversations.result import Result
from v2_conformance.judging.observed.exchanges import Observation
from v2_conformance.pytest_plugin.junit import set_properties
from v2_conformance.report.document import CaseResult
from v2_conformance.report.expectations.known import Expectation
from v2_conformance.report.recording.results import case_result, masked_seen
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.suite.cases import Case
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.terminal_safe_text import plain

NODE = "v2-conformance"


class Suite(Protocol):
    """Runs the cases of a session."""

    def engine(self) -> Engine:
        """Return what talks to the server under test."""

    def run(self, case: Case) -> Result:
        """Run one case."""

    def expected(self, case: CaseResult) -> tuple[Expectation | None, str]:
        """Return the entry that excuses this failure, and a complaint about its absence."""


class Cases(pytest.Collector):
    """The collector that the cases stand under."""

    def __init__(self, *, suite: Suite, cases: Sequence[Case], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._suite = suite
        self._cases = cases

    def collect(self) -> list[CaseItem]:
        """Return each case as an item."""
        return [
            CaseItem.from_parent(
                self, name=case.id, nodeid=f"{NODE}::{case.id}", case=case, suite=self._suite
            )
            for case in self._cases
        ]


class CaseItem(pytest.Item):
    """One case as a test."""

    def __init__(self, *, case: Case, suite: Suite, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.suite = suite
        self.result: CaseResult | None = None
        self.seen: tuple[Observation, ...] = ()
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
        found = self.suite.run(self.case)
        target = self.suite.engine().target
        result = case_result(found, target.profiles, target.mask)
        self.result, self.seen = result, masked_seen(found.seen(), target.mask)
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
