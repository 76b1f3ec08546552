"""The badge: true to its report, and harmless wherever it is shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from support.commands import Cli
from support.reports import report_of, saved
from support.responses import HOSTILE
from v2_conformance.formats.badge import endpoint, svg
from v2_conformance.report.document import OverallVerdict, Report
from v2_conformance.suite.requirements import catalogue_version

SVG = "{http://www.w3.org/2000/svg}"
REPORTS: dict[str, Report] = {
    "conformant, robust": report_of(),
    "conformant, not robust": report_of(outcomes={"H6": "fail"}),
    "not conformant": report_of(outcomes={"P2": "fail"}),
    "incomplete run": report_of(complete=False),
}


class Endpoint(msgspec.Struct, forbid_unknown_fields=True):
    """What shields.io reads."""

    schemaVersion: int
    label: str
    message: str
    color: str


def endpoint_of(report: Report) -> Endpoint:
    return msgspec.json.decode(endpoint(report), type=Endpoint)


def texts(report: Report) -> list[str]:
    """The words that the drawing shows."""
    return [node.text or "" for node in ElementTree.fromstring(svg(report)).iter(f"{SVG}text")]


@pytest.mark.parametrize("words", REPORTS)
def test_both_forms_say_the_verdict(words: str) -> None:
    report = REPORTS[words]
    release = catalogue_version().rpartition(".")[0]
    claimed, of = words, ": "
    if "not" in words and "consistent" not in words:
        kind = "malformed" if words.startswith("conformant") else "correct"
        claimed, of = f"{words}; from {kind} requests: breaks clients (1)", "; of "
    if words.startswith("conformant"):
        claimed += f"{of}binary; without BF16 (catalogue {release})"
    assert texts(report) == ["V2 binary tensors", claimed]
    document = endpoint_of(report)
    assert (document.schemaVersion, document.message) == (1, claimed)
    assert document.label == "V2 binary tensors"
    assert f"#{document.color}" in svg(report)


@pytest.mark.parametrize(
    "report",
    [report_of(complete=False), report_of(left_out=["W1", "P2"]), report_of(left_out=["P4"])],
    ids=["stopped", "a MUST left out", "a SHOULD left out"],
)
def test_a_part_of_a_run_is_never_called_conformant(report: Report) -> None:
    # Even if someone wrote so.
    report = msgspec.structs.replace(report, verdict=OverallVerdict(True, True, (), ()))
    assert "conformant" not in endpoint_of(report).message
    assert "conformant" not in "".join(texts(report))
    title = ElementTree.fromstring(svg(report)).findtext(f"{SVG}title") or ""
    assert title.startswith("V2 binary tensors: incomplete run (")


def test_the_title_says_for_what_the_verdict_is() -> None:
    root = ElementTree.fromstring(svg(report_of(profiles=["binary", "raw"])))
    title = root.findtext(f"{SVG}title") or ""
    assert root.attrib["aria-label"] == title
    assert root.attrib["role"] == "img"
    for words in ("Server 9.8.7", "binary, raw", "2025-01-02", "v2-conformance 1.2.3"):
        assert words in title


def test_a_hostile_server_gets_no_markup_into_it() -> None:
    report = report_of(server=(HOSTILE * 100, HOSTILE))
    drawing = svg(report)
    root = ElementTree.fromstring(drawing)  # well-formed, without what XML forbids
    assert {node.tag for node in root.iter()} == {
        f"{SVG}{name}" for name in ("svg", "title", "clipPath", "rect", "g", "text")
    }
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e\ufffe]", drawing)
    assert len(drawing) < 4000
    assert "forged" not in endpoint(report)


def test_what_a_step_of_a_job_reads_is_one_line() -> None:
    report = msgspec.structs.replace(
        report_of(profiles=["binary", "raw\nexit-code=0"]),
        verdict=OverallVerdict(True, True, (), ()),
    )
    assert r"raw\nexit-code=0" in endpoint_of(report).message


def test_the_command_writes_both_beside_each_other(tmp_path: Path, cli: Cli) -> None:
    path = saved(REPORTS["not conformant"], tmp_path / "report.json")
    ended = cli("badge", path, tmp_path / "new", code=0)
    assert ended.out.split() == [
        str(tmp_path / "new" / name) for name in ("badge.svg", "badge.json")
    ]
    assert json.loads((tmp_path / "new" / "badge.json").read_text())["message"] == (
        "not conformant; from correct requests: breaks clients (1)"
    )
