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
    module, _, test = left_out.partition("::")
    commands = "\n".join(section.get("commands", "") for section in settings.values()).splitlines()
    named = [line.split() for line in commands if module in line.split()]
    whole = [line.split() for line in commands if str(Path(module).parent) in line.split()]
    assert any("--long" in words for words in (*named, *whole))
    assert all("--long" in words for words in named), "part of what it says"
    test = test.rpartition("::")[2]
    assert test in (ROOT / module).read_text(encoding="utf-8")
