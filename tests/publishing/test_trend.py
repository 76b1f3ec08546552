"""What got better and worse from version to version, and in which order versions are."""

from __future__ import annotations

import random

import msgspec
import pytest

from support.reports import case, report_of
from v2_conformance.report.document import CaseResult, Report
from v2_publishing.trend import Step, findings, steps, tallies, version_order


def of(*cases: CaseResult, version: str = "1", **more: object) -> Report:
    return report_of(cases, server=("Server", version), **more)  # type: ignore[arg-type]


def step(before: list[CaseResult], after: list[CaseResult]) -> Step:
    (found,) = steps([findings(of(*before)), findings(of(*after, version="2"))])
    return found


SHOULD = {"level": "SHOULD"}
FAILED, PASSED = case("P2/a", "fail"), case("P2/a")
BEFORE = [FAILED, case("P2/b", "fail"), case("P2/c"), case("H6/a")]
AFTER = [PASSED, case("P2/b", "fail"), case("P2/c"), case("H6/a", "not_run")]
LENIENT = [case("P2/a", "fail", **SHOULD), case("H6/a", "fail")]


@pytest.mark.parametrize(
    ("before", "after", "better", "worse"),
    [
        (BEFORE, AFTER, [("P2", 1, 3, "MUST")], [("H6", 1, 1, "MUST")]),
        (
            [FAILED, case("P2/b")],
            [PASSED, case("P2/b", "fail")],
            [("P2", 1, 2, "MUST")],
            [("P2", 1, 2, "MUST")],
        ),
        ([FAILED], [case("P2/a", "unsupported")], [], []),
        (
            LENIENT,
            [case("P2/a", **SHOULD), case("H6/a")],
            [("H6", 1, 1, "MUST"), ("P2", 1, 1, "SHOULD")],
            [],
        ),
    ],
    ids=["by its cases", "better and worse", "not claimed any more", "the strictest level first"],
)
def test_requirements_get_better_and_worse(
    before: list[CaseResult], after: list[CaseResult], better: object, worse: object
) -> None:
    found = step(before, after)
    assert [(one.id, one.cases, one.of, one.level) for one in found.better] == better
    assert [(one.id, one.cases, one.of, one.level) for one in found.worse] == worse
    assert (found.before, found.after) == ("1", "2")


def test_a_case_that_sends_something_else_is_counted_and_not_compared() -> None:
    found = step([FAILED], [msgspec.structs.replace(PASSED, content="f" * 16)])
    assert (found.better, found.other_cases) == ((), 1)
    more = report_of([PASSED], profiles=["binary", "raw"])
    (changed,) = steps([findings(of(PASSED)), findings(more)])
    assert changed.profiles_changed
    assert not found.profiles_changed


def test_what_did_not_run_counts_neither_as_a_pass_nor_as_a_failure() -> None:
    outcomes = {"H6/b": "unsupported", "H7/a": "not_run", "P4/a": "fail", "P2/b": "fail"}
    cases = [case(name, outcome) for name, outcome in outcomes.items()]
    counted = tallies(findings(of(PASSED, case("H6/a"), case("H7/b"), *cases)))
    found = [(one.level, one.passing, one.failing, one.not_shown, one.all) for one in counted]
    assert found == [("MUST", 1, 1, 1, 3), ("SHOULD", 0, 1, 0, 1)]


@pytest.mark.parametrize(
    "ordered",
    [
        ["0.9", "0.10.1", "1.0rc1", "1.0", "1.0.post1", "2.0"],
        ["release-2", "release-10", "release-10-b"],
        ["1.0", "nightly"],
        ["", "a"],
    ],
    ids=" ".join,
)
def test_versions_are_in_the_order_that_people_expect(ordered: list[str]) -> None:
    mixed = random.Random(7).sample(ordered, len(ordered))
    assert sorted(mixed, key=version_order) == ordered


@pytest.mark.parametrize("version", ["9" * 10_000, "\ud800", "²", "1." * 5000, "v" * 10_000])
def test_a_hostile_version_has_a_place(version: str) -> None:
    assert sorted([version, "1.0", "x"], key=version_order)
