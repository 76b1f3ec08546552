"""Wrong calls and wrong files: one line on standard error that says what to do."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from support.commands import Cli
from support.snapshots import Row, Snapshot

SECRET = "hush"  # what each secret of the rows contains


def test_a_wrong_call_or_file_is_one_line_that_helps(
    cli: Cli, snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def words(row: Row) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        monkeypatch.chdir(folder)
        files = {"a-file": b"", **row.get("files", {})}
        for name, content in files.items():
            Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
        ended = cli(*shlex.split(row["call"]))
        assert ended.out == ""
        assert SECRET not in ended.err
        assert {path.name for path in folder.iterdir()} == set(files)
        assert ended.line.startswith("v2-conformance: ")
        return f"{ended.code} {ended.line.removeprefix('v2-conformance: ')}"

    rows = snapshot("calls", words)
    assert all(row["words"][:2] in ("2 ", "4 ") for row in rows)


def test_arguments_command_no_ci_service(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    for call in (["x\n::error::\x1b[2J"], ["run", "--x\n::error::"], ["list", "\n::error::"]):
        ended = cli(*call)
        assert ended.code == 2
        assert ended.line.isprintable()
        assert "::" not in ended.line


@pytest.mark.parametrize("width", [40, 80])
def test_no_word_is_broken(width: int, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["run", "--profile", "rwa"]
    whole = cli(*words, code=2).err
    assert whole.count("\n") == 1
    monkeypatch.setenv("COLUMNS", str(width))
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    fitted = cli(*words, code=2).err
    assert fitted.split() == whole.split()
    assert max(map(len, fitted.splitlines())) <= width
    lines = cli("list", "variations", code=0).out.splitlines()
    assert max(len(line) for line in lines if len(line.split()) > 1) <= width
