"""What a soak sends, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from types import SimpleNamespace
from typing import Any, cast

from v2_conformance.runs.soak.requests import mixed


def test_every_kind_has_its_turn_after_a_known_good_request() -> None:
    def item(kind: str, number: int) -> Any:
        return SimpleNamespace(kind=kind, number=number)

    items = [item("known_good", 1), item("known_good", 2), item("sizes", 1), item("other", 1)]
    order = [(one.kind, one.number) for one in islice(cast(Iterator[Any], mixed(items)), 6)]
    good = [("known_good", 1), ("known_good", 2), ("known_good", 1)]
    assert order == [good[0], ("sizes", 1), good[1], ("other", 1), good[2], ("sizes", 1)]
