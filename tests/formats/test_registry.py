"""Files and commands: all know the registered formats; `badge` and `show` print what is asked."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from support.commands import Cli
from support.reports import case, passes, report_of, saved
from v2_conformance.cli.main import main
from v2_conformance.errors import UsageError
from v2_conformance.formats import registry
from v2_conformance.formats.badge import endpoint, svg
from v2_conformance.formats.github import publish
from v2_conformance.formats.registry import BADGES, FORMATS, Format, file_names, write_formats
from v2_conformance.report.document import CaseResult, OverallVerdict, Report


def shout(report: Report) -> bytes:
    """A made-up format, in bytes."""
    return f"{report.verdict.words.upper()}!\xff".encode("latin-1")


SHOUT = Format("shout.bin", f"{__name__}:shout")


@pytest.fixture
def shouting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up format is registered."""
    monkeypatch.setattr(registry, "FORMATS", (*FORMATS, SHOUT))


def written(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_writing_a_report_writes_every_format(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    paths = write_formats(folder, report_of(passes()))
    assert [path.name for path in paths] == list(file_names())
    assert written(folder) == set(file_names()) >= {"report.html", "badge.svg", "badge.json"}
    write_formats(tmp_path / "badges", report_of(passes()), BADGES)
    assert written(tmp_path / "badges") == {"badge.svg", "badge.json"}
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write into"):
        write_formats(tmp_path / "file" / "x", report_of(passes()))


@pytest.mark.usefixtures("shouting")
def test_the_command_report_writes_every_format_or_those_asked_for(
    tmp_path: Path, cli: Cli
) -> None:
    path = saved(report_of(passes()), tmp_path / "report.json")
    ended = cli("report", path, code=0)
    assert ended.out.split() == [str(tmp_path / name) for name in file_names()]
    assert (tmp_path / "shout.bin").read_bytes() == b"CONFORMANT, ROBUST!\xff"
    asked = [word for form in FORMATS for word in ("--format", form.file_name)]
    cli("report", path, *asked, code=0)
    assert "<testsuites" in (tmp_path / "junit.xml").read_text()
    assert "conformant, robust" in (tmp_path / "summary.md").read_text()
    said = cli("report", path, "--format", "x", code=2).err
    assert "no format 'x': there are report.html, " in said


@pytest.mark.usefixtures("shouting")
def test_a_run_removes_what_an_older_one_left_and_writes_a_new_format(tmp_path: Path) -> None:
    for name in file_names():
        (tmp_path / name).write_text("of an older run")
    # It ends before it writes anything.
    assert main(["run", "http://127.0.0.1:1", "--report-dir", str(tmp_path)]) == 3
    assert written(tmp_path) == set(file_names())
    assert main(["run", "--report-dir", str(tmp_path), "--case", "P1"]) == 0
    assert (tmp_path / "shout.bin").read_bytes() == b"INCOMPLETE RUN!\xff"
    assert b"older run" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.usefixtures("shouting")
def test_a_run_that_is_interrupted_while_it_writes_leaves_no_older_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shout.bin").write_text("of an older run")
    monkeypatch.setattr(Format, "render", _interrupted)
    assert main(["run", "--report-dir", str(tmp_path), "--case", "P1"]) == 3
    assert written(tmp_path) == {"report.json", "report.jsonl"}


def _interrupted(form: Format, report: Report) -> str:
    raise KeyboardInterrupt


def test_a_run_writes_junit_xml_where_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "ci" / "v2.xml"
    chosen = ["--case", "P5", "--fault", "response-header-length-short"]
    options = ["--report-dir", str(tmp_path / "r"), "--junit-xml", str(path)]
    assert main(["run", *chosen, *options]) == 1
    assert int(ElementTree.parse(path).getroot().attrib["failures"]) > 0


def test_a_step_summary_is_appended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "summary.md"
    path.write_text("# of another step\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    for _ in range(2):
        publish(report_of(outcomes={"P2": "fail"}), None, print)
    assert path.read_text().startswith("# of another step\n### ")
    assert path.read_text().count("V2 binary tensor data: not conformant") == 2


SVG = "{http://www.w3.org/2000/svg}"
ROBUST = OverallVerdict(True, True, (), ())


@pytest.mark.parametrize(
    "report",
    [report_of(complete=False), report_of(left_out=["W1", "P2"]), report_of(left_out=["P4"])],
    ids=["stopped", "a MUST left out", "a SHOULD left out"],
)
def test_a_part_of_a_run_is_never_called_conformant(report: Report) -> None:
    report = msgspec.structs.replace(report, verdict=ROBUST)  # even if someone wrote so
    root = ElementTree.fromstring(svg(report))
    assert "conformant" not in json.loads(endpoint(report))["message"]
    assert "conformant" not in "".join(node.text or "" for node in root.iter(f"{SVG}text"))
    title = root.findtext(f"{SVG}title") or ""
    assert title.startswith("V2 binary tensors: incomplete run (")


def test_what_a_step_of_a_job_reads_is_one_line() -> None:
    report = report_of(profiles=["binary", "raw\nexit-code=0"])
    report = msgspec.structs.replace(report, verdict=ROBUST)
    assert r"raw\nexit-code=0" in json.loads(endpoint(report))["message"]


def test_the_command_writes_both_beside_each_other(tmp_path: Path, cli: Cli) -> None:
    path = saved(report_of(outcomes={"P2": "fail"}), tmp_path / "report.json")
    ended = cli("badge", path, tmp_path / "new", code=0)
    written = [tmp_path / "new" / name for name in ("badge.svg", "badge.json")]
    assert ended.out.split() == list(map(str, written))
    assert json.loads(written[1].read_text())["message"].startswith("not conformant: ")


HOSTILE = "\x1b[2J\x00<b>\u202e\x9b31m\u2028😀"
FAILED = case("D1/x[INT32]", "fail", "wrong")


def shown_from(tmp_path: Path, *cases: CaseResult) -> Path:
    return saved(report_of(cases, planned={}), tmp_path / "r.json")


def test_color_where_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    path = shown_from(tmp_path, FAILED)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    plain = cli("show", path, "D1", code=0).out
    assert "\x1b" not in plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[1;31mFAIL\x1b[0m" in cli("show", path, "D1", code=0).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert cli("show", path, "D1", code=0).out == plain


@pytest.mark.parametrize("wanted", ["D1/x[INT32]", "D1/x*", "D1/*[INT32]", "D1"])
def test_id_pattern_or_requirement_names_case(wanted: str, tmp_path: Path, cli: Cli) -> None:
    others = (case("D1/a"), case(f"D1/x{HOSTILE}", "unsupported"), case("D2/x[INT32]", "fail"))
    path = shown_from(tmp_path, others[0], FAILED, *others[1:])
    shown = cli("show", path, wanted, code=0).out
    assert shown.startswith("FAIL  MUST (blocks conformant)  D1/x[INT32]")
    assert ("2 more cases\n  D1/a (pass), D1/x\\x1b[2J" in shown) == (wanted == "D1")
    assert all(line.isascii() and line.isprintable() for line in shown.splitlines())


@pytest.mark.parametrize(
    ("wanted", "start", "end"),
    [
        ("D1/z[INT32]", "D1/z[INT32]: did you mean D1/x[INT32]?", "(report.html lists its cases)"),
        (f"zzzz{HOSTILE}", "zzzz\\x1b[2J", "lists its cases"),
    ],
    ids=["one that is close", "none"],
)
def test_a_name_of_no_single_case_is_one_line(
    wanted: str, start: str, end: str, tmp_path: Path, cli: Cli
) -> None:
    ended = cli("show", shown_from(tmp_path, FAILED), wanted, code=2)
    assert ended.out == ""
    assert ended.line.startswith(f"v2-conformance: the report has no case {start}")
    assert ended.line.endswith(end)
    assert ended.line.isascii()
