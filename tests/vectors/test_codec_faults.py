"""Each fault of the Python codec is found by a vector of its own requirement."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from vectors.codec_faults import FAULTS

FOLDER = Path(__file__).parents[2] / "vectors"
CODEC = FOLDER / "runners" / "python" / "codec.py"
FEWEST = 60


@cache
def runner() -> ModuleType:
    sys.path.insert(0, str(CODEC.parent))
    try:
        return import_module("run")
    finally:
        sys.path.pop(0)


def codec(right: str = "", wrong: str = "") -> ModuleType:
    """Return the codec with one text replaced by another."""
    source = CODEC.read_text()
    if right:
        assert source.count(right) == 1
        source = source.replace(right, wrong)
    made = ModuleType("codec")
    exec(compile(source, "codec.py", "exec"), vars(made))
    return made


@cache
def vectors() -> dict[str, list[tuple[Any, Any]]]:
    found: dict[str, list[tuple[Any, Any]]] = {}
    for vector, models in runner().vectors(FOLDER):
        found.setdefault(vector["requirement"], []).append((vector, models))
    return found


def test_the_codec_passes_all_vectors() -> None:
    right = codec()
    wrong = [
        (vector["id"], problem)
        for some in vectors().values()
        for vector, models in some
        if (problem := runner().problem(right, vector, models))
    ]
    assert not wrong


@pytest.mark.parametrize(("requirement", "right", "wrong"), FAULTS)
def test_a_fault_is_found_by_a_vector_of_its_requirement(
    requirement: str, right: str, wrong: str
) -> None:
    broken = codec(right, wrong)
    some = vectors()[requirement]
    assert any(runner().problem(broken, vector, models) for vector, models in some)


def test_there_are_enough_faults() -> None:
    assert len({(requirement, wrong) for requirement, _, wrong in FAULTS}) >= FEWEST
