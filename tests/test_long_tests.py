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
    command = settings["testenv:hostile"]["commands"].split()
    module, _, test = left_out.partition("::")
    assert "--long" in command
    assert any(module == word or module.startswith(f"{word}/") for word in command)
    assert test in (ROOT / module).read_text(encoding="utf-8")
