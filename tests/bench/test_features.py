"""What a client lacks is said once, and no scenario that needs it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.scenarios import scenario
from v2_clients.bench.features import FEATURES, needed
from v2_clients.bench.tasks import asked_of
from v2_clients.findings import ClientLacks
from v2_clients.judging.judge import skipped_scenario
from v2_conformance.cli.main import main
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.report.diff import diff_reports
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import Outcome

CLAIMED = ("client", "bf16")
MANUAL = Path(__file__).parents[2] / "docs" / "clients.md"


def scenarios() -> list[ClientCase]:
    """Those whose tensors are small."""
    return [
        case
        for case in client_cases()
        if isinstance(case, ClientCase) and case.requirement != "K40"
    ]


def test_some_scenario_needs_each_feature_and_none_needs_all() -> None:
    found = [
        {name for asked in asked_of(case) for name in needed(asked.request, FEATURES)}
        for case in scenarios()
    ]
    assert set().union(*found) == set(FEATURES)
    for feature in FEATURES:
        assert any(feature not in one for one in found), feature


def test_the_manual_lists_every_feature() -> None:
    manual = MANUAL.read_text(encoding="utf-8")
    table = manual[manual.index("| feature |") : manual.index("## What *unsupported* means")]
    assert [name for name in FEATURES if f"`{name}`" not in table] == [*DATATYPES]


def test_a_scenario_that_needs_what_is_lacked_is_unsupported(tmp_path: Path) -> None:
    case = scenario(tmp_path)
    assert skipped_scenario(case, CLAIMED) is None
    assert skipped_scenario(case, CLAIMED, ("FP64", "id")) is None
    skipped = skipped_scenario(case, CLAIMED, ("id", "INT32", "named-outputs"))
    assert skipped is not None
    assert skipped.outcome is Outcome.UNSUPPORTED
    assert skipped.cause == ClientLacks("INT32, named-outputs", basic=True)


@pytest.mark.parametrize(
    ("default", "forms", "in_json"),
    [
        (None, None, False),
        (True, None, False),
        (False, None, True),
        (False, ["binary"], False),
        (False, ["binary", None], True),
        (True, ["json"], True),
        (None, [None], False),
    ],
)
def test_outputs_in_json_are_needed_if_the_caller_asks_for_them(
    default: bool | None, forms: list[str | None] | None, in_json: bool, tmp_path: Path
) -> None:
    entries = [{"name": n, "datatype": "INT8", "shape": [1], "values": [1]} for n in "AB"]
    asked: dict[str, Any] = {"model": "two", "inputs": entries}
    if default is not None:
        asked["binary_data_output"] = default
    if forms is not None:
        asked["outputs"] = [
            {"tensor": number, **({} if form is None else {"form": form})}
            for number, form in enumerate(forms)
        ]
    (one,) = asked_of(scenario(tmp_path, request=asked))
    assert needed(one.request, ["json-outputs"]) == ["json-outputs"] * in_json


def test_an_unknown_feature_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--scenario", "K5/*", "--report-dir", str(tmp_path), "--lacks", "column-mayor")
    assert main(["client", *words, "--", sys.executable, "-c", ""]) == 2
    assert "column-major" in capsys.readouterr().err


def test_what_is_lacked_does_not_run_and_the_report_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = ("--", sys.executable, "-c", "raise SystemExit('it ran')")
    words = ("--scenario", "K10/layout*big-endian,binary,FP32*", "--report-dir", str(tmp_path))
    assert main(["client", *words, "--lacks", "big-endian", *broken]) != 1
    assert "without big-endian, BF16" in " ".join(capsys.readouterr().out.split())
    path = tmp_path / REPORT
    report = load_report(path)
    assert report.target.client is not None
    assert report.target.client.lacks == ("big-endian",)
    assert [case.outcome for case in report.cases] == [Outcome.UNSUPPORTED]
    assert main(["verify", str(path)]) == 0
    assert "client, without big-endian<" in (tmp_path / "report.html").read_text()
    target = replace(report.target, client=replace(report.target.client, lacks=()))
    noted = diff_reports(replace(report, target=target), report).notes
    assert "unsupported changed: none -> big-endian" in noted
    path.write_text(path.read_text().replace('"lacks":["big-endian"]', '"lacks":["id"]'))
    assert main(["verify", str(path)]) == 1
