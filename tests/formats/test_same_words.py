"""The verdict and its claim have the same words wherever people read them."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import msgspec
import pytest

from support.commands import Cli
from support.reports import case, passes, report_of, saved
from v2_conformance.formats.badge import endpoint, svg
from v2_conformance.formats.github import annotation_lines, markdown
from v2_conformance.formats.html.page import render
from v2_conformance.formats.text.diff import as_text
from v2_conformance.formats.text.terminal import summary_lines
from v2_conformance.pytest_plugin.html import verdict_html
from v2_conformance.pytest_plugin.session import add_suite_properties
from v2_conformance.report.diff import diff_reports
from v2_conformance.report.document import Report
from v2_conformance.report.files import as_json, load_report
from v2_conformance.report.tested import Selection
from v2_conformance.report.verdict.summary import concluded
from v2_conformance.suite.causes.kinds import DatatypesUnsupported, RoleAbsent
from v2_publishing.matrix.columns import column_of
from v2_publishing.matrix.page import render as render_matrix

WITHOUT = case("D8/x", "unsupported", cause=DatatypesUnsupported(("FP16",)))
SELECTED = [case("P2/x"), case("P5/x")]
REPORTS: dict[str, tuple[str, str, Report]] = {
    "whole": ("conformant, robust", "binary; without BF16", report_of()),
    "lacking": (
        "conformant, robust",
        "binary, raw; without FP16, BF16, the model trio; 1 requirement untested",
        report_of(
            [
                *passes(WITHOUT),
                case("M1/plain"),
                case("M1/x", "unsupported", cause=RoleAbsent("trio", "absent")),
                *(case(f"W{n}/x") for n in range(1, 11)),
            ],
            profiles=("binary", "raw"),
            unsupported=("FP16",),
        ),
    ),
    "derived": (
        "conformant, not robust",
        "binary; without BF16",
        report_of(outcomes={"H6": "fail"}),
    ),
    "failed": ("not conformant", "binary; without BF16", report_of(outcomes={"P2": "fail"})),
    "selection": (
        "incomplete run",
        "binary; without BF16",
        report_of(SELECTED, planned={"P2": 1, "P5": 1, "P8": 3}),
    ),
    "failed selection": (
        "incomplete run",
        "binary; without BF16",
        report_of([*SELECTED, case("P8/x", "fail")], planned={"P2": 1, "P5": 1, "P8": 3}),
    ),
    "stopped": ("incomplete run", "binary; without BF16", report_of(complete=False)),
    "stopped after a failure": (
        "not conformant",
        "binary; without BF16",
        report_of(outcomes={"P2": "fail"}, complete=False),
    ),
    "stopped after a failure that blocks less": (
        "incomplete run",
        "binary; without BF16",
        report_of(outcomes={"H6": "fail"}, complete=False),
    ),
    "stopped after an error of the suite": (
        "incomplete run",
        "binary; without BF16",
        report_of(outcomes={"P2": "error"}, complete=False),
    ),
    "failed selection that was stopped": (
        "incomplete run",
        "binary; without BF16",
        concluded(
            msgspec.structs.replace(
                report_of(outcomes={"P2": "fail"}, complete=False),
                selection=Selection(patterns=("P*",)),
            )
        ),
    ),
}


class _Properties:
    """Something like pytest's JUnit plugin."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self.pluginmanager = self

    def get_plugins(self) -> list[_Properties]:
        return [self]

    def add_global_property(self, name: str, value: str) -> None:
        self.found[name] = value


def flat(text: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", text)).split())


def renderings(report: Report) -> dict[str, str]:
    """Each thing that names the verdict, as one line of text."""
    properties = _Properties()
    add_suite_properties(properties, report)  # type: ignore[arg-type]
    verdict = json.loads(as_json(report))["verdict"]
    return {
        "terminal": flat(" ".join(summary_lines(report, Path("reports")))),
        "page": flat(render(report)),
        "json": f"{verdict['standing']} {verdict['claim']}",
        "badge.svg": flat(svg(report)) + svg(report).partition("aria-label=")[2],
        "markdown": flat(markdown(report)),
        "annotations": annotation_lines(report)[0].replace("%2C", ","),
        "junit": " ".join(properties.found.values()),
        "pytest-html": flat(verdict_html(report)),
        "matrix": flat(render_matrix([("r", column_of(report, ""))])),
    }


@pytest.mark.parametrize("name", REPORTS)
def test_everything_says_the_same(name: str) -> None:
    words, claim, report = REPORTS[name]
    others = {"conformant, robust", "conformant, not robust", "not conformant", "incomplete run"}
    if name == "selection":  # of one, no case was sent
        claim += "; 1 requirement untested"
    for where, text in renderings(report).items():
        lowered = text.lower()
        assert words in lowered, where
        assert not any(other in lowered for other in others - {words}), where
        assert claim.lower() in lowered, where
    message = json.loads(endpoint(report))["message"]
    assert message.startswith(words)
    assert (claim in message) is report.verdict.conformant
    before = diff_reports(report, report)
    assert f"verdict: {words}, as before" in "\n".join(as_text(before))


def test_a_report_without_the_words_has_them_all_the_same() -> None:
    """As one that an older suite wrote."""
    for words, claim, report in REPORTS.values():
        plain = msgspec.structs.replace(report.verdict, standing="", claim="")
        older = msgspec.structs.replace(report, verdict=plain)
        text = flat(markdown(older))
        assert words in text
        assert claim in text


def test_selection_is_an_incomplete_run(tmp_path: Path, cli: Cli) -> None:
    printed = cli("run", "--case", "P2", "--report-dir", tmp_path, code=0).out
    assert "INCOMPLETE RUN" in printed
    assert "NOT CONFORMANT" not in printed
    assert load_report(tmp_path / "report.json").verdict.standing == "incomplete run"
    assert json.loads((tmp_path / "badge.json").read_text())["message"] == "incomplete run"
    ended = cli("verify", tmp_path / "report.json", code=0)
    assert "the verdict holds: INCOMPLETE RUN" in ended.out
    report = saved(load_report(tmp_path / "report.json"), tmp_path / "again" / "report.json")
    (tmp_path / "none.yaml").write_text("expected: []\n")
    assert "incomplete run; " in cli("expect", report, tmp_path / "none.yaml").out
