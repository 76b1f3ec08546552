"""Nothing is left out of every run."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

import pytest

from support.long_tests import LEFT_OUT, SAMPLED

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("left_out", [*SAMPLED, *LEFT_OUT])
def test_what_an_ordinary_run_leaves_out_is_run_by_tox(left_out: str) -> None:
    settings = ConfigParser(interpolation=None)
    settings.read(ROOT / "tox.ini", encoding="utf-8")
    commands = "\n".join(section.get("commands", "") for section in settings.values())
    every = {word for line in commands.splitlines() if "--long" in line for word in line.split()}
    module, _, test = left_out.partition("::")
    test = test.rpartition("::")[2]
    assert module in every or f"{module.rpartition('/')[0]}" in every
    assert test in (ROOT / module).read_text(encoding="utf-8")
