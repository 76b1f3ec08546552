"""A test whose program is missing is skipped in sight, or an error if tools are required."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import tools

ROOT = Path(__file__).parents[1]


def without_programs(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run two tests that need a program where PATH has none: by a fixture and by a mark."""
    tests = ["tests/clients/test_clients.py", "tests/maintenance/test_examples.py"]
    chosen = ["-k", "client_in_go or in_another_language", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--long", *options, *chosen, *tests],
        cwd=ROOT,
        env={**os.environ, "PATH": "", tools.REQUIRED: "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["one process", "workers"])
def test_the_last_line_of_a_session_says_what_was_skipped_and_what_to_install(
    options: tuple[str, ...],
) -> None:
    ended = without_programs(*options)
    assert ended.returncode == 0, ended.stdout
    assert ended.stdout.splitlines()[-1] == (
        "Skipped for lack of a program: go (1), node (1). To run them: apt-get install "
        f"{tools.PACKAGES['go']} {tools.PACKAGES['node']}"
    )


def test_a_missing_program_is_an_error_if_tools_are_required() -> None:
    ended = without_programs(**{tools.REQUIRED: "1"})
    assert ended.returncode == 1
    assert "node is not installed (Debian: apt-get install nodejs)" in ended.stdout
    assert ended.stdout.splitlines()[-1].partition(", ")[2].startswith("2 errors")


def test_a_session_that_lacks_nothing_says_nothing() -> None:
    assert tools.what_to_install(["Skipped: not a checkout", "Skipped: set V2_HUGE=1"]) == ""
