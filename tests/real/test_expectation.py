"""The comparison of a report with a committed expectation, and the committed files themselves."""

from __future__ import annotations

import configparser
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from expectation import SOMETIMES, Expectation, differences, expectation_files, load_expectation
from support.reports import case, document, report_of
from v2_conformance.report.bodies import Streams
from v2_conformance.report.document import Report
from v2_conformance.suite.library import every_case, suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import catalogue
from v2_conformance.terminal_safe_text import matches

FILES = expectation_files()
ROOT = Path(__file__).parents[2]


@pytest.fixture
def expected() -> Expectation:
    return Expectation(
        path=Path("some-1.0.yaml"),
        server="some",
        version="1.0",
        package="some==1.0",
        profiles=("binary",),
        survives=True,
        verdict="not conformant",
        requirements={"H6": "fail", "H7": "pass", "W6": "unsupported"},
        cases={"H6/not-a-number[*]": "fail"},
        seen={"H6": "Answered with 200."},
        reasons={"H6": "It reads with atoi."},
    )


@pytest.fixture
def report() -> dict[str, Any]:
    """A report as its JSON is: of three requirements, for a change to be made in it."""
    whole = report_of(
        [
            case("H6/not-a-number[letters]", "fail", "accepted", level="SHOULD"),
            case("H6/not-a-number[empty]", "fail", "accepted", level="SHOULD"),
            case("H7/too-large-to-be-true[wraps_32]", level="SHOULD"),
            case("W6/several-variable-dimensions[INT32]", "unsupported"),
        ]
    )
    found = document(whole)
    found["target"]["server"].update(name="some", version="1.0")
    trio = {"model": "trio", "inputs": [], "outputs": []}
    found["target"].update(profiles=["binary"], absent={}, models={"trio": trio})
    found["verdict"]["conformant"] = False
    rows = {row["id"]: row for row in found["requirements"]}
    found["requirements"] = [
        {**rows["H7"], "id": name, "outcome": outcome}
        for name, outcome in (("H6", "fail"), ("H7", "pass"), ("W6", "unsupported"))
    ]
    return found


def compared(expected: Expectation, report: dict[str, Any]) -> list[str]:
    return differences(expected, msgspec.convert(report, Report, dec_hook=Streams().body))


FAILED = {"outcome": "fail", "message": "accepted with 200"}
PASSED = {"outcome": "pass", "message": ""}


def test_as_expected(expected: Expectation, report: dict[str, Any]) -> None:
    assert compared(expected, report) == []


@pytest.mark.parametrize(
    ("place", "members", "line"),
    [
        ("target.server", {"version": "1.1"}, "version: expected 1.0, got 1.1"),
        ("target", {"absent": {"trio": "x"}}, "absent models: expected none, got trio"),
        ("", {"complete": False}, "complete: expected True, got False"),
        ("cases.2", FAILED, "H7/too-large-to-be-true[wraps_32]: expected pass, got fail accepted"),
        ("cases.1", PASSED, "H6/not-a-number[empty]: expected fail, got pass "),
        (
            "cases.3",
            PASSED,
            "W6/several-variable-dimensions[INT32]: expected unsupported, got pass ",
        ),
        ("requirements.1", {"outcome": "not_run"}, "H7: expected pass, got not_run"),
        (
            "requirements.1",
            {"id": "H6", "outcome": "fail"},
            "H7: some-1.0.yaml has it, the report does",
        ),
        ("requirements.1", {"id": "Z1"}, "Z1: got pass, but some-1.0.yaml does not have it"),
    ],
)
def test_a_difference_is_one_line(
    expected: Expectation, report: dict[str, Any], place: str, members: dict[str, Any], line: str
) -> None:
    changed: Any = report
    for step in place.split(".") if place else ():
        changed = changed[int(step) if step.isdigit() else step]
    changed.update(members)
    found = compared(expected, report)
    if members.get("id") == "Z1":
        assert found.pop() == "H7: some-1.0.yaml has it, the report does not"
    (only,) = found
    assert only.startswith(line)


def test_a_case_may_fail_sometimes(expected: Expectation, report: dict[str, Any]) -> None:
    known = replace(expected, cases={**expected.cases, "H7/too-large-to-be-true[*": "sometimes"})
    assert compared(known, report) == []
    report["cases"][2].update(FAILED)
    report["requirements"][1]["outcome"] = "fail"
    assert compared(known, report) == []
    report["requirements"][1]["outcome"] = "not_run"
    assert compared(known, report) != []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_committed_file_fits_the_catalogue(path: Path) -> None:
    expected = load_expectation(path)
    assert path.stem == expected.name
    others = {case.requirement for case in every_case()} - {c.requirement for c in suite_cases()}
    wanted = [
        key
        for key, r in catalogue().items()
        if r.profile in expected.profiles and key not in others
    ]
    if not expected.implemented:  # of the others no case is sent
        wanted = [key for key in wanted if key in expected.requirements]
    assert list(expected.requirements) == wanted
    failing = {
        case.requirement
        for case in suite_cases()
        if case.profile in expected.profiles
        and expected.outcome_of(case.id) in (Outcome.FAIL, SOMETIMES)
    }
    for requirement, outcome in expected.requirements.items():
        assert outcome in ("pass", "fail", "disputed", "not_run"), requirement
        # Whatever does not pass has a reason, and nothing else.
        partly = outcome == Outcome.PASS and requirement in failing
        other = any(
            expected.outcome_of(case.id) != Outcome.PASS
            for case in suite_cases()
            if case.requirement == requirement
        )
        assert (outcome != Outcome.PASS or other) == (requirement in expected.reasons), requirement
        # What the server was seen to do is published.
        published = outcome in (Outcome.FAIL, Outcome.DISPUTED) or partly
        assert published == (requirement in expected.seen), requirement
    ids = [case.id for case in suite_cases()]
    for pattern in expected.cases:
        assert any(matches(case_id, pattern) for case_id in ids), f"{pattern} matches no case"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_committed_file_is_run_by_tox_and_its_reports_can_be_committed(path: Path) -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    (real,) = (tox[name] for name in tox.sections() if name.startswith("testenv:{triton"))
    expected = load_expectation(path)
    assert f": {expected.package}\n" in real["deps"] + "\n"
    assert f": V2_REAL_SERVER = {expected.name}\n" in real["set_env"] + "\n"
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert f"!/reports/{expected.name}/" in ignored
