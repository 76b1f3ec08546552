"""Settings of `run` and `client` in a file of the project."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from support.commands import Cli
from v2_conformance.cli.main import main
from v2_conformance.cli.run.command import run
from v2_conformance.cli.settings import read_settings
from v2_conformance.report.files import load_report
from v2_conformance.suite.outcomes import Outcome

HERE = "[tool.v2-conformance]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command is called."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "head"),
    [("pyproject.toml", f'[project]\nname = "x"\n\n{HERE}'), ("v2-conformance.toml", "")],
)
def test_command_line_wins_over_a_file(name: str, head: str, folder: Path, cli: Cli) -> None:
    (folder / name).write_text(
        f'{head}case = ["P5"]\nreport-dir = "of-the-file"\nprofile = "raw"\nworkers = 2\n'
    )
    assert f"settings from {name}: case, report-dir, profile, workers" in cli("run", code=0).err
    report = load_report(folder / "of-the-file" / "report.json")
    assert report.target.profiles == ("binary", "raw")
    assert {case.requirement for case in report.cases} == {"P5"}
    assert main(["run", "--report-dir", "given", "--case", "H6/not-a-number[letters]"]) == 0
    assert [c.id for c in load_report(folder / "given" / "report.json").cases] == [
        "H6/not-a-number[letters]"
    ]


@pytest.mark.parametrize("text", ["[project]\nname = 'x'\n", "this is = = no TOML"])
def test_a_project_without_settings_says_nothing(text: str, folder: Path) -> None:
    (folder / "pyproject.toml").write_text(text)
    assert read_settings(run, folder) == ({}, "")


def test_the_settings_of_the_documents_are_settings(folder: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (folder / "pyproject.toml").write_text(block)
    values, _ = read_settings(run, folder)
    assert values["profiles"] == ["raw", "compression"]
    assert values["large"] is True


def test_other_commands_have_nothing_to_do_with_it(folder: Path) -> None:
    (folder / "v2-conformance.toml").write_text("no TOML")
    assert main(["list", "profiles"]) in (0, 2)
    assert main(["run", "--help"]) == 0


CLIENT = """[client]
command = ["{python}", "-c", "print('{{\\"unsupported\\": \\"all\\"}}')"]
scenario = "K3/mixed-order*"
jobs = 2
profile = ["bf16"]
"""


@pytest.mark.long
def test_a_client_has_a_table_of_its_own(folder: Path, cli: Cli) -> None:
    file = folder / "v2-conformance.toml"
    file.write_text('profile = "raw"\n' + CLIENT.format(python=sys.executable))
    words = cli("client", "--report-dir", folder / "r").err
    assert "settings from v2-conformance.toml: command, scenario, jobs, profile" in words
    report = load_report(folder / "r" / "report.json")
    assert report.target.profiles == ("client", "bf16")
    assert {case.outcome for case in report.cases} == {Outcome.UNSUPPORTED}
    assert read_settings(run, folder)[0] == {"profiles": ["raw"]}
    # Options behind -- belong to the client.
    cli("client", "--report-dir", folder / "s", "--", sys.executable, "-c", "print('x')", "--help")
    assert {case.outcome for case in load_report(folder / "s" / "report.json").cases} == {
        Outcome.FAIL
    }
    file.write_text("profile = 'raw'\n[client]\njobs = 2\njbos = 2\n")
    assert "v2-conformance.toml:4: jbos: there is no such option of client" in cli("client").err
    file.write_text("client = 3\n")
    assert "v2-conformance.toml:1: client: expected a table" in cli("client", code=2).err
