"""docs/architecture.md names every room, and docs/extending.md only places that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "conformance"
PACKAGE = SOURCES / "v2_conformance"
ROOMS = sorted(
    found.stem
    for found in PACKAGE.iterdir()
    if not found.name.startswith("_") and (found.is_dir() or found.suffix == ".py")
)
EXTENDING = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
_PLACE = re.compile(r"(?<![\w./@-])(?:[\w.]+/)+(?:[\w.*-]+\.(?:py|yaml|json|md))?(?![\w*])")
PLACES = sorted(set(_PLACE.findall(EXTENDING)))


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_is_named(room: str) -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert re.search(rf"(?<!\w){room}(?!\w)", page)


@pytest.mark.parametrize("place", PLACES)
def test_every_place_to_add_something_exists(place: str) -> None:
    assert any(list(base.glob(place)) for base in (PACKAGE, SOURCES, ROOT))


def test_places_are_found_in_the_page() -> None:
    assert {
        "judging/survival.py",
        "cli/run/options.py",
        "wire/messages.py",
        "v2_mutants/faults/",
    } <= set(PLACES)
