"""A case in the page: its bytes, where they first differ, whether the server survived it."""

from __future__ import annotations

import base64
import json
import random
import zlib

import msgspec
import pytest

from support.reports import case, differing, exchange, passes, report_of
from support.responses import message_with
from v2_conformance.formats.html.cards import cards, survival
from v2_conformance.formats.html.exchanges import exchanges_markup
from v2_conformance.formats.html.packed import packed_cases
from v2_conformance.formats.html.page import render
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.fold import BRIEF, FULL, FoldLimits
from v2_conformance.report.kept_bytes import Deflated, keep
from v2_conformance.suite.causes import DidNotSurvive
from v2_conformance.suite.findings import WrongStatus
from v2_conformance.suite.outcomes import Purpose

REQUEST = message_with(b"\x01\x02\x03\x04")


def no_replay(report: Report, shown: CaseResult) -> str:
    return ""


def blob_lines(shown: CaseResult, limits: FoldLimits = FULL) -> list[str]:
    """The lines of the hexdump of the response's blob."""
    first = exchanges_markup(shown, limits, None)[0]
    blob = next(section for section in first.messages[1].sections if section.style == "blob0")
    return str(blob.content).split("\n")


@pytest.mark.parametrize("limits", [FULL, BRIEF])
@pytest.mark.parametrize("offset", [0, 7, 8, 15, 500, 512, 2005, 3935, 3936, 3999])
def test_the_first_differing_byte_is_marked_wherever_it_is(offset: int, limits: FoldLimits) -> None:
    failing = differing(offset)
    lines = blob_lines(failing, limits)
    at = next(n for n, line in enumerate(lines) if "<mark" in line)
    before, _, rest = lines[at].partition('<mark class="diff">')
    assert rest.startswith("7f</mark>")
    assert lines[at].count("<mark") == 2  # as hex and as a character
    start = int(before[:6], 16)
    assert failing.difference is not None
    assert start + (len(before) - 8) // 3 == failing.difference.body_offset
    pointer = lines[at + 1].removeprefix('<span class="diff">').removesuffix("</span>")
    assert pointer.index("▲") == len(before)
    assert f"first differing byte: element {offset // 4} of OUTPUT0" in pointer


def test_rows_with_and_without_the_mark_are_aligned() -> None:
    lines = blob_lines(differing(5, size=40))
    marked = lines[0].replace('<mark class="diff">', "").replace("</mark>", "")
    assert marked.index("....") == lines[2].index("....")
    assert len(lines) == 4


def test_the_difference_stands_above_the_bytes() -> None:
    text = render(report_of(passes(differing(8))))
    assert "output <strong>OUTPUT0</strong> INT32, element 2, byte 8 of its blob, byte " in text
    assert "<code>0000007f</code>" not in text
    assert "<code>7f000000</code>" in text
    assert "<code>127</code>" in text


@pytest.mark.parametrize("body_offset", [0, 10**9])
def test_an_offset_that_no_blob_has_marks_nothing(body_offset: int) -> None:
    odd = differing(8, body_offset=body_offset)
    assert "<mark" not in "".join(blob_lines(odd))
    assert "<mark" not in render(report_of(passes(odd)))


def test_blobs_have_five_colors_in_turn() -> None:
    entries = ", ".join(
        f'{{"name": "T{n}", "parameters": {{"binary_data_size": 1}}}}' for n in range(7)
    )
    document = f'{{"inputs": [{entries}]}}'.encode()
    head = f"POST / HTTP/1.1\r\nInference-Header-Content-Length: {len(document)}\r\n\r\n"
    own = exchange(head.encode() + document + bytes(7), b"")
    (shown,) = exchanges_markup(case("D1/x", "pass", "", own), FULL, None)
    blobs = [section.style for section in shown.messages[0].sections if "blob" in section.style]
    assert blobs == [f"blob{n % 5}" for n in range(7)]


def test_a_passing_case_says_what_it_is_for_and_has_its_bytes_packed() -> None:
    kept = keep(bytes(range(256)) * 200)
    assert isinstance(kept, Deflated)
    long = msgspec.structs.replace(exchange(REQUEST, b"a"), response_kept=kept)
    canary = exchange(b"known good", b"", "canary", Purpose.CANARY_SAME)
    passing = [
        case("D1/x", "pass", "", exchange(REQUEST, b"b", "first"), canary),
        case("D2/y", "pass", "", long, exchange(b"c", b"d", "second \u202e")),
        case("D2/z", "pass", ""),
    ]
    text = render(report_of(passes(*passing)))
    assert "Why D1 is tested." in text
    assert 'data-packed="1"' in text
    shown = cards(report_of(passing), no_replay)
    assert [card.packed for card in shown.passed] == [0, 1, None]
    data = zlib.decompress(base64.b64decode(shown.stream))
    length = int.from_bytes(data[:4], "big")
    index = json.loads(data[4 : 4 + length])
    assert data[4 + length :] == REQUEST + b"b" + REQUEST + (bytes(range(256)) * 16) + b"cd"
    assert [[entry[2:] for entry in entries] for entries in index] == [
        [[len(REQUEST), len(REQUEST), 1, 1]],
        [[len(REQUEST), len(REQUEST), 51200, 4096], [1, 1, 1, 1]],
    ]
    assert index[0][0][0] == "first"
    assert index[1][1][0] == "second \\u202e"


def test_what_passed_is_packed_in_the_room_that_there_is() -> None:
    noise = random.Random(1).randbytes
    passing = [case("D1/x", "pass", "", exchange(noise(4000), noise(4000)))]
    assert len(packed_cases(passing, 20_000).stream) > 10_000
    assert 1000 < len(packed_cases(passing, 2_000).stream) < 2_000
    assert packed_cases(passing, 100).places == {}


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


def test_a_replay_command_is_shown_as_text_if_there_is_one() -> None:
    report = report_of(passes(case("D1/x", "fail", "m"), case("D2/x", "fail", "m")))
    text = render(report, lambda _, shown: "curl '<&'" if shown.id == "D1/x" else "")
    assert text.count('<div class="replay">') == 1
    assert "curl &#39;&lt;&amp;&#39;</pre>" in text
    assert '<div class="replay">' not in render(report, no_replay)


def test_failures_get_the_room_before_what_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("v2_conformance.formats.html.cards._PAGE_BYTES", 600_000)
    big = exchange(message_with(bytes(range(256)) * 4), message_with(bytes(1000)))
    many = [case(f"D1/p{n}", "pass", "", big) for n in range(60)]
    shown = cards(report_of([*many, case("D1/late", "fail", "m", big)]), no_replay)
    assert [card.case.id for card in shown.troubled] == ["D1/late"]
    assert shown.troubled[0].exchanges is not None
    assert not shown.troubled[0].brief
