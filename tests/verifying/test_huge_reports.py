"""What `verify` makes of a report whose tensors were streamed: it has their beginnings alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.reports import read_document
from support.runs import target_of
from v2_conformance.certifying.servers import Plan, start
from v2_conformance.errors import UsageError
from v2_conformance.formats.html.page import render
from v2_conformance.formats.replay.commands import replay_command, write_replay
from v2_conformance.formats.text.case import find, lines
from v2_conformance.report.digest import document_digest
from v2_conformance.report.files import load_report
from v2_conformance.report.tested import Selection
from v2_conformance.suite.choosing.shrunk import shrunk
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.recorded.beliefs import Belief
from v2_conformance.verifying.verification import Verification, verify
from v2_mutants.servers import MutantServer

FEWER = 14
CASES = shrunk(suite_cases(huge=True), FEWER)
HUGE = [case for case in CASES if case.huge]
FOUR = HUGE[-1].id


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The report of a good server, and one of a server with a fault."""
    found = {}
    for name, faults in {"good": [], "bad": ["offsets-in-32-bits"]}.items():
        with MutantServer(faults, word_bits=32 - FEWER) as server:
            folder = tmp_path_factory.mktemp(name)
            plan = Plan(CASES, HUGE, selection=Selection(huge=True))
            start(target_of(server.url, timeout=20), plan, folder).finish(workers=1)
        found[name] = folder / "report.json"
    return found


def judged(path: Path) -> Verification:
    return verify(path, CASES)


def test_an_honest_report_holds_and_says_what_is_believed(reports: dict[str, Path]) -> None:
    for name, outcome in (("good", Outcome.PASS), ("bad", Outcome.FAIL)):
        found = judged(reports[name])
        cases = {case.id: case for case in found.cases}
        assert not [case.problem for case in found.cases if case.problem]
        assert cases[FOUR].outcome is outcome
        assert cases[FOUR].unjudged is None
        assert Belief.STREAMED in cases[FOUR].believed


def streamed(document: Any) -> Any:
    (case,) = [case for case in document["cases"] if case["id"] == FOUR]
    return case["exchanges"][0]["streamed"]


def changing(**members: Any) -> Callable[[Any], None]:
    return lambda document: streamed(document).update(members)


def without_difference(document: Any) -> None:
    del streamed(document)["difference"]


def of_difference(**members: Any) -> Callable[[Any], None]:
    return lambda document: streamed(document)["difference"].update(members)


@pytest.mark.parametrize(
    ("report", "change"),
    [
        ("good", changing(size=5)),
        ("good", changing(sha256="00" * 32)),
        ("good", changing(came=5)),
        ("good", changing(body=5)),
        ("good", changing(tensor=5)),
        ("good", changing(excess=5)),
        ("bad", without_difference),
        ("bad", of_difference(offset=5)),
        ("bad", of_difference(start=0)),
        ("bad", of_difference(got="00")),
        ("bad", of_difference(differing=0)),
        ("bad", of_difference(offset=2**40, start=2**40)),
    ],
)
def test_a_change_of_what_is_kept_is_seen(
    reports: dict[str, Path], tmp_path: Path, report: str, change: Callable[[Any], None]
) -> None:
    document = read_document(reports[report])
    change(document)
    document["integrity"]["digest"] = document_digest(document)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(document))
    (case,) = [case for case in judged(path).cases if case.id == FOUR]
    assert case.problem is not None


def test_people_are_told_what_the_report_has_of_it(reports: dict[str, Path]) -> None:
    report = load_report(reports["bad"])
    case = find(report, FOUR)
    text = " ".join(
        " ".join(line.plain for line in lines(report, case, path="report.json")).split()
    )
    size = case.exchanges[0].streamed
    assert size is not None
    assert f"{size.size:,} bytes of tensor follow, which the report does not keep" in text
    assert "the report keeps no more" in text
    assert "from byte 262128 of the tensor: expected" in text
    assert "Content-Length is" not in text
    command = f"v2-conformance run --huge --case {FOUR} {report.target.url}"
    assert replay_command(report, case) == command
    assert command in text
    with pytest.raises(UsageError, match="run --huge --case"):
        write_replay(report, case, reports["bad"].parent / "replay")
    assert FOUR in render(report)
