"""Properties of test cases and of the suite, for JUnit XML; pytest escapes them for XML."""

from __future__ import annotations

import pytest

from v2_conformance.formats.junit import suite_properties
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.suite.cases import Case
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import catalogue
from v2_conformance.visible_text import visible


def set_properties(item: pytest.Item, case: Case, result: CaseResult | None = None) -> None:
    """Set the properties of a case's test.

    Until there is a result it is a case that the suite could not judge.
    """
    values = {
        "requirement": case.requirement,
        "level": result.level if result else case.level,
        "grade": result.grade if result else case.grade,
        "basis": catalogue()[case.requirement].basis,
        "profile": case.profile,
        "outcome": (result.outcome if result else Outcome.ERROR).value,
        "message": visible(result.message) if result else "",
    }
    others = [pair for pair in item.user_properties if pair[0] not in values]
    item.user_properties = [*others, *values.items()]


def add_suite_properties(config: pytest.Config, report: Report) -> None:
    """Add the run's verdict and what it is about to pytest's JUnit XML, if one is written."""
    for plugin in config.pluginmanager.get_plugins():
        if hasattr(plugin, "add_global_property"):
            for name, value in suite_properties(report).items():
                plugin.add_global_property(name, value)
