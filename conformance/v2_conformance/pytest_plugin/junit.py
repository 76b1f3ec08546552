"""Properties of test cases and of the suite, for JUnit XML; pytest escapes them for XML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from v2_conformance.report.annotate import visible
from v2_conformance.report.standing import profiles, server_name, standing
from v2_conformance.suite.cases import Case
from v2_conformance.suite.requirements import catalogue


def set_properties(item: pytest.Item, case: Case, record: Mapping[str, Any] | None = None) -> None:
    """Set the properties of a case's test; `record` is its result as report.json has it.

    Until there is a result it is a case that the suite could not judge.
    """
    found = record or {"level": case.level, "outcome": "error", "message": ""}
    values = {
        "requirement": case.requirement,
        "level": found["level"],
        "basis": catalogue()[case.requirement].basis,
        "profile": case.profile,
        "outcome": found["outcome"],
        "message": visible(found["message"]),
    }
    others = [pair for pair in item.user_properties if pair[0] not in values]
    item.user_properties = [*others, *values.items()]


def add_suite_properties(config: pytest.Config, report: Mapping[str, Any]) -> None:
    """Give the run's verdict and what it is about to pytest's JUnit XML, where one is written."""
    target, suite = report["target"], report["suite"]
    values = {
        "v2_verdict": standing(report).words,
        "v2_server": server_name(report),
        "v2_url": visible(target["url"]),
        "v2_profiles": profiles(report),
        "v2_suite": f"{suite['name']} {suite['version']}",
        "v2_catalogue": suite["catalogue"],
    }
    for plugin in config.pluginmanager.get_plugins():
        if hasattr(plugin, "add_global_property"):
            for name, value in values.items():
                plugin.add_global_property(name, value)
