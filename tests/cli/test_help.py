"""The help of commands and of the plugin: as it was, no wider than the terminal, and quick."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys

import click
import pytest

from support.snapshots import Texts
from v2_conformance.cli.main import main, program
from v2_conformance.cli.run.options import FIRST
from v2_conformance.cli.suite import LISTINGS
from v2_conformance.kits.registry import KITS
from v2_conformance.protocol.names import PROFILES
from v2_conformance.pytest_plugin.options import add_options
from v2_conformance.suite.library import every_case

COMMANDS = [*program.list_commands(click.Context(program)), "target init"]


@pytest.fixture(params=COMMANDS)
def name(request: pytest.FixtureRequest) -> str:
    """The name of each command."""
    return str(request.param)


def help_of(capsys: pytest.CaptureFixture[str], *command: str, option: str = "--help") -> list[str]:
    assert main([*command, option]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out.splitlines()


def command(name: str) -> click.Command:
    """The command with this name, which may be one of another command."""
    found: click.Command | None = program
    for word in name.split():
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word)
    assert found is not None
    return found


def test_help_is_as_it_was(
    texts: Texts, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    plugin = argparse.ArgumentParser(prog="pytest", usage="pytest [options]", add_help=False)
    add_options(plugin.add_argument)
    shown = {"pytest --help": plugin.format_help()}
    for words in ([], *(name.split() for name in COMMANDS)):
        lines = help_of(capsys, *words)
        shown[" ".join(["v2-conformance", *words, "--help"])] = "\n".join(lines)
    texts("help", shown)


def test_no_line_is_wider_than_the_terminal(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert all(len(line) <= 80 for line in (*help_of(capsys), *help_of(capsys, *name.split())))


def options_in(lines: list[str]) -> list[str]:
    """The long names of the options that a help has."""
    return re.findall(r"^  (?:-., )?--([a-z][a-z0-9-]*)", "\n".join(lines), re.MULTILINE)


def test_help_of_run_has_a_dozen_options_and_help_all_the_rest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    first, every = (help_of(capsys, "run", option=o) for o in ("--help", "--help-all"))
    assert options_in(first) == [*(name[2:] for name in FIRST), "help-all", "help"]
    assert len(FIRST) == 12
    assert options_in(every)[: len(FIRST) + 2] == options_in(first)
    options = [one for one in command("run").params if isinstance(one, click.Option)]
    assert sorted(options_in(every)) == sorted(["help", *(one.opts[-1][2:] for one in options)])
    assert all(len(line) <= 80 for line in every)


def test_pytest_has_at_most_twenty_options_all_named_as_those_of_run() -> None:
    added: list[str] = []
    add_options(lambda name, **how: added.append(name.removeprefix("--v2-")))
    assert len(added) <= 20
    run = {one.opts[-1].removeprefix("--") for one in command("run").params}
    assert set(added) <= run


def test_examples_are_calls_that_the_command_takes(name: str) -> None:
    for example in getattr(command(name), "examples", {}):
        call = example.removeprefix('eval "$(').removesuffix(')"').partition(" |")[0]
        words = shlex.split(call)
        own = name.split()
        assert words[: 1 + len(own)] == ["v2-conformance", *own]
        command(name).make_context(name, words[1 + len(own) :], parent=click.Context(program))


def test_names_in_the_help_are_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    def text(name: str) -> str:
        return " ".join(" ".join(help_of(capsys, name)).split())

    profiles = dict.fromkeys(case.profile for case in every_case())
    assert set(profiles) == set(PROFILES)
    assert "besides binary: raw, compression, compression-responses or bf16." in text("run")
    assert all(name in text("kit") for name in KITS)
    assert all(name in text("list") for name in LISTINGS)


HEAVY = {"h11", "hypothesis", "jinja2", "jsonschema", "numpy", "pytest", "requests", "rich"}


@pytest.mark.parametrize(
    ("calls", "heavy"),
    [
        (
            [["--version"], ["--help"], *([*name.split(), "--help"] for name in COMMANDS), ["rnu"]],
            {*HEAVY, "yaml", "jsonschema_rs"},
        ),
        ([["list", "requirements"]], HEAVY),
    ],
    ids=["no work", "requirements"],
)
def test_nothing_is_loaded_that_is_not_needed(calls: list[list[str]], heavy: set[str]) -> None:
    code = (
        "import sys; from v2_conformance.cli.main import main\n"
        f"for call in {calls}: main(call); print('loaded by', call, *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("loaded by")]
    assert len(lines) == len(calls)
    for line in lines:
        assert not heavy & set(line.split()), line.partition("]")[0]
