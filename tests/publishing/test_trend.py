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


def step(before: Report, after: Report) -> Step:
    (found,) = steps([findings(before), findings(after)])
    return found


def test_requirements_get_better_and_worse_by_their_cases() -> None:
    found = step(
        of(case("P2/a", "fail"), case("P2/b", "fail"), case("P2/c"), case("H6/a")),
        of(case("P2/a"), case("P2/b", "fail"), case("P2/c"), case("H6/a", "not_run"), version="2"),
    )
    assert [(one.id, one.cases, one.of, one.level) for one in found.better] == [
        ("P2", 1, 3, "MUST")
    ]
    assert [(one.id, one.cases, one.of) for one in found.worse] == [("H6", 1, 1)]
    assert (found.before, found.after) == ("1", "2")


def test_a_requirement_can_be_better_and_worse() -> None:
    found = step(
        of(case("P2/a", "fail"), case("P2/b")), of(case("P2/a"), case("P2/b", "fail"), version="2")
    )
    assert [one.id for one in found.better] == [one.id for one in found.worse] == ["P2"]


def test_a_case_that_is_not_claimed_any_more_is_not_better() -> None:
    found = step(of(case("P2/a", "fail")), of(case("P2/a", "unsupported"), version="2"))
    assert found.better == ()


def test_a_case_that_sends_something_else_is_counted_and_not_compared() -> None:
    other = msgspec.structs.replace(case("P2/a"), content="f" * 16)
    found = step(of(case("P2/a", "fail")), of(other, version="2"))
    assert (found.better, found.other_cases) == ((), 1)


def test_the_strictest_level_comes_first_and_is_that_of_the_cases_that_changed() -> None:
    should = {"level": "SHOULD"}
    found = step(
        of(case("P2/a", "fail", **should), case("H6/a", "fail")),
        of(case("P2/a", **should), case("H6/a"), version="2"),
    )
    assert [(one.id, one.level) for one in found.better] == [("H6", "MUST"), ("P2", "SHOULD")]


def test_profiles_that_changed_are_said() -> None:
    more = report_of([case("P2/a")], profiles=["binary", "raw"])
    assert step(of(case("P2/a")), more).profiles_changed
    assert not step(of(case("P2/a")), of(case("P2/a"))).profiles_changed


def test_what_did_not_run_counts_neither_as_a_pass_nor_as_a_failure() -> None:
    cases = (
        case("P2/a"),
        case("P2/b", "fail"),
        case("H6/a"),
        case("H6/b", "unsupported"),
        case("H7/a", "not_run"),
        case("H7/b"),
        case("P4/a", "fail"),
    )
    counted = tallies(findings(of(*cases)))
    found = [(one.level, one.passing, one.failing, one.not_shown, one.all) for one in counted]
    assert found == [("MUST", 1, 1, 1, 3), ("SHOULD", 0, 1, 0, 1)]


@pytest.mark.parametrize(
    "ordered",
    [
        ["0.9", "0.10.1", "1.0rc1", "1.0", "1.0.post1", "2.0"],
        ["2.36.0", "2.51.0", "23.01"],
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
