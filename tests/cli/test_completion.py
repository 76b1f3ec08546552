"""Completion in the shell, which is click's own."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest

from v2_conformance.cli.main import program

VARIABLE = "_V2_CONFORMANCE_COMPLETE"


def answer(question: str, *words: str) -> str:
    """Return what a shell is told for the last of the words that follow the program's name."""
    call = {"COMP_WORDS": " ".join(["v2-conformance", *words]), "COMP_CWORD": str(len(words))}
    done = subprocess.run(
        [sys.executable, "-m", "v2_conformance"],
        env={**os.environ, **call, VARIABLE: question},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_commands_and_options_are_completed() -> None:
    commands = answer("bash_complete", "").split()
    assert set(commands) == {
        f"plain,{name}" for name in program.list_commands(click.Context(program))
    }
    options = answer("bash_complete", "run", "--re").split()
    assert options == [f"plain,--{name}" for name in ("restart-command", "report-dir", "require")]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_for_a_shell_asks_by_the_variable(shell: str) -> None:
    assert f"{VARIABLE}={shell}_complete" in answer(f"{shell}_source")
