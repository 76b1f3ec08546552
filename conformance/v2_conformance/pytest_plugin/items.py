"""The suite's cases as items of pytest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from v2_conformance.report.document import CaseResult
from v2_conformance.report.expectations import Expectation
from v2_conformance.suite.cases import Case
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import catalogue
from v2_conformance.terminal_safe_text import plain, visible

NODE = "v2-conformance"

Run = Callable[[Case], tuple[CaseResult, Expectation | None, str]]
"""Runs a case; returns its result, the entry that excuses a failure, and what is wrong with a case
that should fail in another way."""


class Cases(pytest.Collector):
    """The collector that the cases stand under."""

    @classmethod
    def of(
        cls, session: pytest.Session, cases: Sequence[Case], run: Run | None = None
    ) -> list[CaseItem]:
        """Return each case as an item, which `run` runs, and count them as collected."""
        parent = cls.from_parent(session, name=NODE, nodeid=NODE)
        items = [
            CaseItem.from_parent(
                parent, name=case.id, nodeid=f"{NODE}::{case.id}", case=case, run=run
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

    def __init__(self, *, case: Case, run: Run | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.run = run
        self.result: CaseResult | None = None
        family = case.requirement[0]
        self.add_marker(pytest.mark.v2_requirement(case.requirement))
        self.add_marker(pytest.mark.v2_level(case.level))
        self.add_marker(pytest.mark.v2_family(family))
        self.add_marker(pytest.mark.v2_profile(case.profile))
        for name in (case.requirement, case.level, f"family_{family}", f"profile_{case.profile}"):
            self.add_marker(name)
        self._set_properties()

    def runtest(self) -> None:
        """Run the case; anything but a pass fails or skips the test with the case's message.

        What fails as expected is an xfail. What passes against expectation, or fails in another
        way, is a failure.
        """
        assert self.run is not None
        self.result, entry, complaint = self.run(self.case)
        result = self.result
        self._set_properties()
        outcome, message = result.outcome, plain(result.message)
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

    def _set_properties(self) -> None:
        """Set what JUnit XML has of the test: until there is a result, the suite could not judge
        it.
        """
        case, result = self.case, self.result
        values = {
            "requirement": case.requirement,
            "level": result.level if result else case.level,
            "grade": result.grade if result else case.grade,
            "basis": catalogue()[case.requirement].basis,
            "profile": case.profile,
            "outcome": (result.outcome if result else Outcome.ERROR).value,
            "message": visible(result.message) if result else "",
        }
        others = [pair for pair in self.user_properties if pair[0] not in values]
        self.user_properties = [*others, *values.items()]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """The case's message and why, without a traceback, which takes long to render."""
        if isinstance(excinfo.value, CaseFailed | pytest.xfail.Exception):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Return the suite as the place of the item."""
        return NODE, None, self.case.id


class CaseFailed(Exception):
    """A case that did not pass."""

    def __init__(self, case: CaseResult, message: str) -> None:
        title = f"{case.outcome.upper()} {case.grade} {case.id}"
        super().__init__(f"{title}\n{message}\nwhy: {case.why}")
