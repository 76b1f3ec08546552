"""Small mistakes that everybody makes once: each is a line that says where and what was meant."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml

from support.commands import Cli
from v2_conformance.runs.targets.making import load_target

ROOT = Path(__file__).parents[2]


def test_documented_target_files_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "a-token-of-mine")
    monkeypatch.setenv("DB_PASSWORD", "a-password-of-mine")
    (tmp_path / "key.txt").write_text("a-key-of-mine")
    text = (ROOT / "docs" / "targets.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(url: .*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        path = tmp_path / "target.yaml"
        path.write_text(block, encoding="utf-8")
        assert load_target(path).url == yaml.safe_load(block)["url"]


def test_all_totals_of_a_run_are_the_same(tmp_path: Path, cli: Cli) -> None:
    options = ["--case", "P*", "--fault", "response-header-length-short"]
    printed = cli("run", *options, "--report-dir", tmp_path, code=1)
    progress = re.findall(r"(\d+)/\1 cases, (\d+) failed", printed.err)
    (row,) = re.findall(r"(?m)^all +\d+ +(\d+)", printed.out)
    assert [failed for _, failed in progress] == [row]
    ended = cli("replay", tmp_path / "report.json", "http://127.0.0.1:9", code=3)
    assert f"sending {row} of " in ended.err


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
