"""The registry of formats: one line in it, and every writer and the clean-up know the format."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import Cli
from support.reports import passes, report_of
from support.servers import Start
from v2_conformance.cli.main import main
from v2_conformance.errors import UsageError
from v2_conformance.formats import registry
from v2_conformance.formats.registry import BADGES, FORMATS, Format, file_names, write_formats
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.report.document import Report
from v2_conformance.report.files import as_json


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
    assert {"report.html", "badge.svg", "badge.json"} <= written(folder)
    assert written(folder) == set(file_names())
    paths = write_formats(tmp_path / "badges", report_of(passes()), BADGES)
    assert written(tmp_path / "badges") == {"badge.svg", "badge.json"}


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write into"):
        write_formats(tmp_path / "file" / "x", report_of(passes()))


@pytest.mark.usefixtures("shouting")
def test_the_command_report_writes_a_new_format(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "report.json"
    path.write_text(as_json(report_of(passes())))
    ended = cli("report", path, code=0)
    assert ended.out.split() == [str(tmp_path / name) for name in file_names()]
    assert (tmp_path / "shout.bin").read_bytes() == b"CONFORMANT, ROBUST!\xff"


def test_the_command_report_writes_any_format_of_a_report_that_exists(
    tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "report.json"
    path.write_text(as_json(report_of(passes())))
    names = [form.file_name for form in FORMATS]
    chosen = [word for name in names for word in ("--format", name)]
    assert cli("report", path, *chosen, code=0).out.split() == [str(tmp_path / n) for n in names]
    assert "<testsuites" in (tmp_path / "junit.xml").read_text()
    assert "conformant, robust" in (tmp_path / "summary.md").read_text()
    assert (
        "no format 'x': there are report.html, " in cli("report", path, "--format", "x", code=2).err
    )


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


def test_run_removes_older_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shout.bin").write_text("of an older run")
    monkeypatch.setattr(registry, "FORMATS", (*FORMATS, SHOUT))
    monkeypatch.setattr(Format, "render", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_formats(tmp_path, report_of(passes()))
    assert main(["run", "--report-dir", str(tmp_path), "--case", "P1"]) == 3
    assert written(tmp_path) == {"report.json", "report.jsonl"}


def _interrupted(form: Format, report: Report) -> str:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("shouting")
def test_pytest_writes_formats(pytester: pytest.Pytester, start: Start) -> None:
    url = start(Behaviour).url
    out = pytester.path / "out"
    out.mkdir()
    (out / "shout.bin").write_text("of an older run")
    arguments = ("-p", "no:hypothesispytest", "--v2-url", url, "-m", "P1", "--v2-report-dir=out")
    pytester.runpytest_inprocess(*arguments)
    assert (out / "shout.bin").read_bytes() == b"INCOMPLETE RUN!\xff"


def test_listing_formats_imports_no_renderer() -> None:
    program = (
        "import sys; from v2_conformance.formats import registry; registry.file_names();"
        "print(sorted(name for name in sys.modules if 'jinja' in name or name.endswith('badge')))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"
