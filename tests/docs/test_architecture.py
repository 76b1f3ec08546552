"""The pages about the package name every room, and no path that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "conformance"
SOURCE = PACKAGES / "v2_conformance"
PATH = re.compile(r"(?<![\w/.(])[a-z_]\w*/[\w./*]*[\w/]")


def text(page: str) -> str:
    return (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")


def test_every_room_is_named() -> None:
    rooms = {path.parent for path in SOURCE.glob("*/__init__.py")}
    named = set(re.findall(r"(\w+)/", text("architecture")))
    assert {room.name for room in rooms} <= named


@pytest.mark.parametrize("page", ["architecture", "extending", "decisions"])
def test_every_path_exists(page: str) -> None:
    rooms = [path.parent for path in SOURCE.glob("*/__init__.py")]
    places = [ROOT, PACKAGES, SOURCE, *rooms, *PACKAGES.glob("v2_*")]
    for path in set(PATH.findall(text(page))):
        exists = any(
            next(place.glob(path.rstrip("/")), None) or (place / f"{path}.py").exists()
            for place in places
        )
        assert exists or path.startswith("v2/"), path
