"""What the page has of a case once it is opened: packed into the room that there is."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.pages import shown_in, unpacked
from support.reports import case, exchange, report_of
from support.responses import message_with
from v2_conformance.formats.html.cases import listed, packed
from v2_conformance.formats.html.page import render
from v2_conformance.formats.shown import Shown
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.exchange import Body, Exchange

REQUEST = message_with(b"\x01\x02\x03\x04")


def test_what_passed_is_packed_without_known_good_requests() -> None:
    long = msgspec.structs.replace(exchange(REQUEST, b"a"), received=Body(bytes(51_200)))
    canary = exchange(b"known good", b"", "canary", Purpose.CANARY_SAME)
    passing = [
        case("D1/x", "pass", "", exchange(REQUEST, b"b", "first"), canary),
        case("D2/z", "pass", ""),
        case("D2/y", "pass", "", long, exchange(b"c", b"d", "second \u202e")),
    ]
    records = shown_in(render(report_of(passing)))
    assert list(records) == ["D1/x", "D2/z", "D2/y"]
    assert records["D2/z"] == Shown()
    assert [one.title for one in records["D1/x"].exchanges] == ["first"]
    first, second = records["D2/y"].exchanges
    assert (first.messages[1].size, first.messages[1].parts) == (51_200, ())
    assert "`v2-conformance show` prints them" in first.messages[1].notes[0]
    assert second.title == "second \\u202e"


@given(st.lists(st.integers(0, 3000), max_size=60), st.integers(0, 200_000), st.booleans())
def test_packed_records_stay_in_room(sizes: list[int], room: int, noisy: bool) -> None:
    noise = random.Random(1)
    failing = [
        case(f"D1/{n}", "fail", "", exchange(noise.randbytes(size) if noisy else bytes(size)))
        for n, size in enumerate(sizes)
    ]
    report = report_of(failing)
    stream = packed(report, listed(report), room)
    assert len(stream) <= room
    rows, shown = unpacked(stream)
    assert [row["id"] for row in rows] == [each.id for each in failing[: len(rows)]]
    assert len(rows) == len(failing) or not shown


def test_failures_get_the_room_before_what_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("v2_conformance.formats.html.page._PAGE_BYTES", 500_000)
    noise = random.Random(1).randbytes

    def big() -> Exchange:
        return exchange(message_with(noise(2000)), message_with(noise(2000)))

    many = [case(f"D1/p{n}", "pass", "", big()) for n in range(300)]
    text = render(report_of([*many, case("D1/late", "fail", "m", big())]))
    assert len(text) < 500_000
    records = shown_in(text)
    assert next(iter(records)) == "D1/late"
    late, early = (
        len(records[name].exchanges[0].messages[0].parts[-1].text) for name in ("D1/late", "D1/p0")
    )
    assert late > 3 * early
