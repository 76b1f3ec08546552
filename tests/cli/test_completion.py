"""Completion in the shell: the script that a shell loads, and what it is answered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import Cli
from support.reports import case, report_of, saved
from v2_conformance.cli.completion import VARIABLE
from v2_conformance.cli.known_values import SHELLS
from v2_conformance.cli.main import program
from v2_conformance.cli.suite.listings import LISTINGS
from v2_conformance.kits import KITS
from v2_conformance.protocol.names import OPT_IN_PROFILES
from v2_conformance.suite.library import every_case
from v2_conformance.suite.requirements import catalogue
from v2_mutants.faults import FAULTS

MODULE = [sys.executable, "-m", "v2_conformance"]


def offered(*words: str, shell: str = "bash") -> list[str]:
    """What the shell is offered for the last of the words that follow the program's name."""
    call = {"COMP_WORDS": " ".join(["v2-conformance", *words]), "COMP_CWORD": str(len(words))}
    if shell == "fish":
        call["COMP_CWORD"] = words[-1]
    environment = {**os.environ, **call, VARIABLE: f"{shell}_complete"}
    done = subprocess.run(MODULE, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def values(*words: str) -> list[str]:
    return [line.removeprefix("plain,") for line in offered(*words)]


def test_commands_and_options() -> None:
    assert set(values("")) == set(program.commands)
    assert values("ver") == ["verify"]
    assert values("run", "--re") == ["--restart-command", "--report-dir", "--require"]


@pytest.mark.parametrize("command", ["run", "serve"])
def test_faults(command: str) -> None:
    assert values(command, "--fault", "response-header-l") == [
        name for name in FAULTS if name.startswith("response-header-l")
    ]


def test_a_fault_says_what_it_does_where_the_shell_shows_it() -> None:
    lines = offered("serve", "--fault", "size-wraps-at-32-bits", shell="fish")
    fault = FAULTS["size-wraps-at-32-bits"]
    assert fault.name in lines[0] + " ".join(lines)
    assert fault.text in " ".join(lines)


def test_profiles_kits_listings_and_shells() -> None:
    assert sorted(values("run", "--profile", "")) == sorted(OPT_IN_PROFILES)
    assert values("kit", "") == list(KITS)
    assert values("list", "") == list(LISTINGS)
    assert values("completion", "") == list(SHELLS)


def test_cases_come_after_requirements() -> None:
    planned = every_case()
    tested = {case.requirement for case in planned}
    assert values("run", "--case", "H") == [i for i in catalogue() if i[0] == "H" and i in tested]
    assert values("run", "--case", "H6/not-a-n") == [
        case.id for case in planned if case.id.startswith("H6/not-a-n")
    ]


def test_cases_of_a_report(tmp_path: Path) -> None:
    report = report_of([case("P2/x", "fail"), case("P2/y", "pass"), case("D1/z", "pass")])
    path = saved(report, tmp_path / "report.json")
    ids = [case.id for case in report.cases if case.id.startswith("P2")]
    assert ids
    assert values("show", str(path), "P2") == ids
    assert offered("show", str(tmp_path / "none.json"), "P2") == [""]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["run", "--target", ""], "file,"),
        (["run", "--report-dir", ""], "dir,"),
        (["verify", ""], "file,"),
        (["kit", "triton", ""], "dir,"),
    ],
)
def test_files_and_folders_are_left_to_the_shell(words: list[str], kind: str) -> None:
    assert offered(*words) == [kind]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_calls_the_program_by_the_variable(shell: str, cli: Cli) -> None:
    script = cli("completion", shell, code=0).out
    assert f"{VARIABLE}={shell}_complete" in script
    assert "v2-conformance" in script


@pytest.mark.needs("bash")
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    command = tmp_path / "v2-conformance"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m v2_conformance "$@"\n')
    command.chmod(0o755)
    script = """
        eval "$(v2-conformance completion bash)"
        complete -p v2-conformance >/dev/null || exit 9
        COMP_WORDS=(v2-conformance run --fau) COMP_CWORD=2 COMPREPLY=()
        _v2_conformance_completion v2-conformance
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "--fault\n", "")
