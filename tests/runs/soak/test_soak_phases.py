"""The phases of a soak: which kinds of requests are sent when, and what is said of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from v2_conformance.runs.soak import phases
from v2_conformance.runs.soak.phases import Phases


def test_after_growth_each_kind_is_sent_alone_and_then_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    sent: set[tuple[int, str]] = set()
    said: list[str] = []
    items: Any = [SimpleNamespace(kind=kind) for kind in ("known_good", "sizes", "broken_off")]
    soak = Phases(items, 100.0, 5.0, None, said.append)

    def sleep(seconds: float) -> None:
        nonlocal now
        now += max(seconds, 0.001)
        soak.tally.answered_at = soak.tally.connected_at = now
        sent.add((len(soak.past), soak.next_item().kind))

    monkeypatch.setattr(phases, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    monkeypatch.setattr(phases, "grows", lambda *_: True)
    monkeypatch.setattr(phases, "suspects", lambda *_: ["sizes"])
    soak.begin()
    assert soak.run()
    soak.rest()
    mixed = {(0, kind) for kind in ("known_good", "sizes", "broken_off")}
    alone = enumerate(["known_good", "broken_off", "sizes", "known_good", "sizes"], 1)
    assert {one for one in sent if one[0] < 6} == mixed | set(alone)
    assert [phase.name for phase in soak.past] == ["mixed", *["one_kind"] * 5, "rest"]
    assert said == [
        "growth found: each of 3 kinds of requests is sent alone",
        "growth found: the server is watched at rest for 5 s",
    ]
