"""The suite's cases as items of pytest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest

from v2_conformance.report.document import CaseResult
from v2_conformance.report.expectations import Expectation
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.suite.cases import Case
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import catalogue
from v2_conformance.terminal_safe_text import plain, visible

NODE = "v2-conformance"
_IDLE = ("capturemanager", "logging-plugin", "threadexception", "tmpdir", "unittest")

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
        for mark in _marks(case.requirement, case.level, case.profile):
            self.add_marker(mark)
        self._set_properties()

    @property
    def ihook(self) -> Any:
        """The hooks of this item."""
        return _hooks(self.config.pluginmanager)

    def runtest(self) -> None:
        """Run the case: what fails of a MUST fails the test, of a SHOULD is a warning unless
        --v2-strict is given, and of a MAY skips it.

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
        gate = Gate("robust", strict=self.config.getoption("--v2-strict"))
        if outcome is Outcome.ERROR or gate.counts(result):
            raise CaseFailed(result, message)
        if result.level != "SHOULD":
            pytest.skip(f"{result.level}: {message}")
        warnings.warn_explicit(f"SHOULD: {message}", V2Warning, NODE, 0)

    def _set_properties(self) -> None:
        """Set what JUnit XML has of the test; without a result, the suite could not judge it."""
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


class _Hooks:
    """The hooks without those plugins that collect what a test prints, logs and leaves behind: a
    case does none of it, and they would take a third of its time."""

    def __init__(self, manager: pytest.PytestPluginManager) -> None:
        self._manager = manager
        self._without = [one for name in _IDLE if (one := manager.get_plugin(name))]

    def __getattr__(self, name: str) -> Any:
        caller = self._manager.subset_hook_caller(name, self._without)
        setattr(self, name, caller)
        return caller


_hooks = cache(_Hooks)


@cache
def _marks(requirement: str, level: str, profile: str) -> list[pytest.MarkDecorator]:
    family, mark = requirement[0], pytest.mark
    names = (requirement, level, f"family_{family}", f"profile_{profile}")
    valued = (mark.v2_requirement(requirement), mark.v2_level(level), mark.v2_family(family))
    return [*valued, mark.v2_profile(profile), *(getattr(mark, name) for name in names)]


class V2Warning(pytest.PytestWarning):
    """A SHOULD that does not hold."""


class CaseFailed(Exception):
    """A case that did not pass. pytest's short summary has the first line."""

    def __init__(self, case: CaseResult, message: str) -> None:
        grade = f"{case.outcome.upper()} {case.grade}"
        super().__init__(f"{message}\n{grade} {case.id}\nwhy: {case.why}")
