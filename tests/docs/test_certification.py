"""docs/certification.md says what `publish` does: its commands work, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.sites import report_on
from v2_conformance.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "certification.md"
TEXT = PAGE.read_text(encoding="utf-8")


def commands() -> list[str]:
    """The commands of the page in order."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```$", TEXT, re.MULTILINE | re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines()]


def test_every_command_that_makes_a_site_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, version in (("reports/one", "1"), ("new", "2"), ("mine", "3")):
        report_on(Path(folder), "One", version)
    done = 0
    for command in commands():
        words = shlex.split(command.partition("  #")[0])
        if words[0] == "python3":
            printed = subprocess.run([sys.executable, *words[1:]], capture_output=True, check=True)
            assert printed.stdout == b""  # none of these few cases is conformant
        elif words[1] == "publish":
            # The pages of the example in the repository are there already.
            arguments = [word.replace("/tmp/site", "other") for word in words[1:]]
            if arguments[1] == "reports":
                arguments[1:3] = ["site", "site"]
            assert main(arguments) == 0, command
            done += 1
    assert done == 4
