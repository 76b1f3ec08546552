"""The help of commands and of the plugin: as it was, no wider than the terminal, and quick."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys

import click
import pytest

from support.commands import Cli
from support.snapshots import Texts
from v2_conformance.cli.main import program
from v2_conformance.cli.run.options import FIRST
from v2_conformance.pytest_plugin.plugin import add_options

COMMANDS = [*program.list_commands(click.Context(program)), "target init"]


def command(name: str) -> click.Command:
    """The command with this name, which may be one of another command."""
    found: click.Command | None = program
    for word in name.split():
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word)
    assert found is not None
    return found


def test_help_is_as_it_was(texts: Texts, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    plugin = argparse.ArgumentParser(prog="pytest", usage="pytest [options]", add_help=False)
    add_options(plugin.add_argument)
    shown = {"pytest --help": plugin.format_help()}
    for words in ("--help", *(f"{name} --help" for name in COMMANDS), "run --help-all"):
        ended = cli(*words.split(), code=0)
        assert ended.err == ""
        assert all(len(line) <= 80 for line in ended.out.splitlines())
        shown[f"v2-conformance {words}"] = ended.out
    texts("help", shown)


def test_run_shows_a_dozen_options_first_and_pytest_has_at_most_twenty_of_its_options() -> None:
    assert len(FIRST) == 12
    added: list[str] = []
    add_options(lambda name, **how: added.append(name.removeprefix("--v2-")))
    assert len(added) <= 20
    assert set(added) <= {one.opts[-1].removeprefix("--") for one in command("run").params}


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_calls_that_the_command_takes(name: str) -> None:
    for example in getattr(command(name), "examples", {}):
        call = example.removeprefix('eval "$(').removesuffix(')"').partition(" |")[0]
        own, words = name.split(), shlex.split(call)
        assert words[: 1 + len(own)] == ["v2-conformance", *own]
        command(name).make_context(name, words[1 + len(own) :], parent=click.Context(program))


HEAVY = {"h11", "hypothesis", "jinja2", "jsonschema", "numpy", "pytest", "requests", "rich"}


def test_nothing_is_loaded_that_is_not_needed() -> None:
    calls = [["--version"], ["--help"], *([*name.split(), "--help"] for name in COMMANDS), ["rnu"]]
    calls.append(["list", "requirements"])  # the last: it needs YAML and schemas
    code = (
        "import sys; from v2_conformance.cli.main import main\n"
        f"for call in {calls}: main(call); print('loaded by', call, *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("loaded by")]
    assert len(lines) == len(calls)
    for line in lines:
        needed = {"yaml", "jsonschema_rs"} if line == lines[-1] else set()
        loaded = {*HEAVY, "yaml", "jsonschema_rs"} & set(line.split())
        assert loaded <= needed, line.partition("]")[0]
