"""The tour works as it is written: every command, its exit code, and what the page shows of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

TOUR = Path(__file__).parents[2] / "docs" / "tour.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT_CODE = re.compile(r"  # exit code (\d)$")


def steps() -> Iterator[tuple[str, int, list[str]]]:
    """Each command of the page but the installation: itself, its exit code, lines it prints."""
    done: list[tuple[str, int, list[str]]] = []
    for language, text in _BLOCK.findall(TOUR.read_text(encoding="utf-8")):
        if language == "sh":
            for line in text.splitlines():
                code = _EXIT_CODE.search(line)
                done.append((_EXIT_CODE.sub("", line), int(code[1]) if code else 0, []))
        elif language == "text":
            done[-1][2].extend(text.splitlines())
    return (step for step in done if "pip install" not in step[0])


def test_every_command_of_the_tour_does_what_the_page_says(tmp_path: Path) -> None:
    environment = dict(os.environ, COLUMNS="80", LC_ALL="C.UTF-8")
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    ran = 0
    for command, code, lines in steps():
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        told = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
        for line in lines:
            assert " ".join(line.split()) in told, f"{command}\n{told}"
        ran += 1
    assert ran == len(re.findall(r"(?m)^(v2-conformance|ls) ", TOUR.read_text(encoding="utf-8")))
