"""What the page has of a case once it is opened: packed into the room that there is."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.pages import records_in, records_of
from support.reports import case, exchange, report_of
from support.responses import message_with
from v2_conformance.formats.html.index import listed
from v2_conformance.formats.html.packed import packed, survival
from v2_conformance.formats.html.page import render
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.suite.causes.causes import DidNotSurvive
from v2_conformance.suite.causes.kinds import WrongStatus
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.exchange import Body, Exchange

REQUEST = message_with(b"\x01\x02\x03\x04")


def no_replay(report: Report, shown: CaseResult) -> str:
    return ""


def test_what_passed_is_packed_as_it_began() -> None:
    kept = Body(bytes(range(256)) * 200)
    long = msgspec.structs.replace(exchange(REQUEST, b"a"), received=kept)
    canary = exchange(b"known good", b"", "canary", Purpose.CANARY_SAME)
    passing = [
        case("D1/x", "pass", "", exchange(REQUEST, b"b", "first"), canary),
        case("D2/y", "pass", "", long, exchange(b"c", b"d", "second \u202e")),
        case("D2/z", "pass", ""),
    ]
    records = records_of(render(report_of(passing), no_replay))
    assert list(records) == ["D1/x", "D2/y"]
    assert records["D1/x"]["data"] == REQUEST + b"b"
    assert records["D2/y"]["data"] == REQUEST + bytes(range(256)) * 16 + b"cd"
    assert [one["begun"] for one in records["D2/y"]["exchanges"]] == [
        [[len(REQUEST), len(REQUEST)], [51200, 4096]],
        [[1, 1], [1, 1]],
    ]
    assert records["D1/x"]["exchanges"][0]["title"] == "first"
    assert records["D2/y"]["exchanges"][1]["title"] == "second \\u202e"


@given(st.lists(st.integers(0, 3000), max_size=60), st.integers(0, 200_000), st.booleans())
def test_packed_records_stay_in_room(sizes: list[int], room: int, noisy: bool) -> None:
    noise = random.Random(1)
    failing = [
        case(f"D1/{n}", "fail", "", exchange(noise.randbytes(size) if noisy else bytes(size)))
        for n, size in enumerate(sizes)
    ]
    report = report_of(failing)
    stream = packed(report, listed(report), no_replay, room)
    assert len(stream) <= room
    for place, record in enumerate(records_in(stream, [each.id for each in failing]).values()):
        assert record["case"] == place


def test_survival_is_said_in_words() -> None:
    same = exchange(REQUEST, b"", "canary", Purpose.CANARY_SAME)
    fresh = exchange(REQUEST, b"", "canary", Purpose.CANARY_FRESH)
    own = exchange(REQUEST, b"")
    wrong = WrongStatus("200", 500, "no")
    assert survival(case("H6/x", "pass", "", own)) == ""
    assert "on a fresh connection." in survival(case("H6/x", "pass", "", own, fresh))
    words = survival(case("H6/x", "pass", "", own, same, fresh))
    assert words.startswith("The server survived: ")
    assert words.endswith("on the same connection and on a fresh connection.")
    died = DidNotSurvive(None, wrong, None, case_passed=True)
    words = survival(case("H6/x", "fail", None, own, same, fresh, cause=died))
    assert words.startswith("The server did not survive: ")
    assert words.endswith("got a wrong answer on a fresh connection.")


def test_failures_get_the_room_before_what_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("v2_conformance.formats.html.page._PAGE_BYTES", 600_000)
    noise = random.Random(1).randbytes

    def big() -> Exchange:
        return exchange(message_with(noise(2000)), message_with(noise(2000)))

    many = [case(f"D1/p{n}", "pass", "", big()) for n in range(300)]
    text = render(report_of([*many, case("D1/late", "fail", "m", big())]), no_replay)
    assert len(text) < 600_000
    records = records_of(text)
    assert next(iter(records)) == "D1/late"
    assert not records["D1/late"].get("brief")
    assert records["D1/p0"]["brief"]
