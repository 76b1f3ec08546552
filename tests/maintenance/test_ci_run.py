"""What `.ci/run` prints and leaves out, with stand-ins for every program that it runs."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / ".ci" / "run"
REAL = ("bash", "dirname", "grep")
STUBS = (
    *("chromium", "node", "go", "javac", "python3"),
    *("../.venv/bin/pip", "../.venv/bin/v2-conformance"),
)
# Says what it is asked for, and if a missing program is an error. Fails for the word $FAILING.
TOX = 'echo "tox $* $V2_REQUIRE_TOOLS"\n[[ " $* " != *" $FAILING "* ]]\n'
WEEKLY = ["kits", "templates", "triton236", "kserve015", "kserve014", "selftest", "oracle"]

if not all(map(shutil.which, REAL)):
    pytest.skip(f"needs {', '.join(REAL)}", allow_module_level=True)

Play = Callable[..., tuple[int, str]]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Run `.ci/run` in a folder of its own with more variables, but without one program; return its
    exit code and what it printed."""
    programs, script = tmp_path / "programs", tmp_path / ".ci" / "run"
    for folder in (programs, script.parent, tmp_path / ".venv" / "bin"):
        folder.mkdir(parents=True)
    shutil.copyfile(RUN, script)
    for name in REAL:
        (programs / name).symlink_to(str(shutil.which(name)))
    commands = {
        **dict.fromkeys(STUBS, ""),
        "g++": "while read -r; do :; done\n",
        "id": "echo 1000\n",
        "../.venv/bin/tox": TOX,
    }
    for name, text in commands.items():
        (programs / name).write_text(f"#!/usr/bin/env bash\n{text}", "utf-8")
        (programs / name).chmod(0o755)

    def run(missing: str = "", **variables: str) -> tuple[int, str]:
        if missing:
            (programs / missing).unlink()
        done = subprocess.run(
            [programs / "bash", script],
            env={"PATH": str(programs), "FAILING": "none", **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    return run


def test_the_seconds_of_each_step_stand_in_a_table_at_the_end(play: Play) -> None:
    code, output = play()
    assert code == 0
    steps = re.findall(r"^== (.*) took \d+s$", output, re.MULTILINE)
    assert {"README: the tests", "triton", "kserve", "mlserver", "clients"} <= set(steps)
    table = re.findall(r"^ +\d+s  (.*)$", output, re.MULTILINE)
    assert table == [*steps, "in all"]


def test_what_is_left_to_the_weekly_run_is_named(play: Play) -> None:
    _, output = play()
    assert f"left to the weekly run (V2_WEEKLY=1): {' '.join(WEEKLY)}\n" in output
    assert not [name for name in WEEKLY if f"tox -e {name} " in output]
    assert "--one-in 3" in output
    commands = re.findall(r"^tox .*", output, re.MULTILINE)
    assert len(commands) > 5
    assert all(command.endswith(" 1") for command in commands)  # a missing program is an error
    code, output = play(V2_WEEKLY="1")
    assert code == 0
    assert [name for name in WEEKLY if f"tox -e {name} " in output] == WEEKLY
    assert "--one-in 1" in output
    assert "left to the weekly run" not in output


def test_a_missing_program_is_an_error(play: Play) -> None:
    code, output = play(missing="javac")
    assert code == 1
    assert "Install these packages first" in output
    assert "tox" not in output
