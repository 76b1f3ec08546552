"""A case in the page: its bytes, where they first differ, whether the server survived it."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from support.reports_of import case, exchange, message_with, passes, replaced, report_of
from v2_conformance.formats.html.cards import cards
from v2_conformance.formats.html.page import render
from v2_conformance.report.fold import BRIEF, FULL, shown_exchanges, survival
from v2_conformance.resources import schema

REQUEST = message_with(b"\x01\x02\x03\x04")


def answer_with(blob: bytes) -> tuple[bytes, int]:
    """A whole response with one output, and where its blob starts in the body."""
    entry = {"name": "OUTPUT0", "datatype": "INT32", "shape": [len(blob) // 4],
             "parameters": {"binary_data_size": len(blob)}}  # fmt: skip
    document = json.dumps({"outputs": [entry]}).encode()
    length = len(document) + len(blob)
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n"
    head += f"Inference-Header-Content-Length: {len(document)}\r\n\r\n"
    return head.encode() + document + blob, len(document)


def differing(offset: int, size: int = 4000) -> dict[str, Any]:
    """A failing case of INT32 zeros in whose answer the byte at `offset` is 0x7f."""
    blob = bytearray(size)
    blob[offset] = 0x7F
    response, start = answer_with(bytes(blob))
    got = bytes(blob[offset - offset % 4 :][:4])
    difference = {
        "output": "OUTPUT0", "datatype": "INT32", "element": offset // 4, "offset": offset,
        "body_offset": start + offset, "wanted": "00000000", "got": got.hex(),
        "wanted_value": "0", "got_value": str(struct.unpack("<i", got)[0]),
    }  # fmt: skip
    failing = case("D1/x", "fail", "wrong", exchange(REQUEST, response))
    return {**failing, "difference": difference}


def blob_lines(shown_case: dict[str, Any], limits: tuple[int, int] = FULL) -> list[str]:
    """The lines of the hexdump of the answer's blob."""
    first = shown_exchanges(shown_case, limits)[0]
    part = next(part for part in first.messages[1].parts if part.kind == "blob0")
    return str(part.shown).split("\n")


@pytest.mark.parametrize("limits", [FULL, BRIEF])
@pytest.mark.parametrize("offset", [0, 7, 8, 15, 500, 512, 2005, 3935, 3936, 3999])
def test_the_first_differing_byte_is_marked_wherever_it_is(
    offset: int, limits: tuple[int, int]
) -> None:
    lines = blob_lines(differing(offset), limits)
    at = next(n for n, line in enumerate(lines) if "<mark" in line)
    before, _, rest = lines[at].partition('<mark class="diff">')
    assert rest.startswith("7f</mark>")
    assert lines[at].count("<mark") == 2  # as hex and as a character
    start = int(before[:6], 16)
    body_offset = differing(offset)["difference"]["body_offset"]
    assert start + (len(before) - 8) // 3 == body_offset
    pointer = lines[at + 1].removeprefix('<span class="diff">').removesuffix("</span>")
    assert pointer.index("▲") == len(before)
    assert "first differing byte: element" in pointer


def test_rows_with_and_without_the_mark_are_aligned() -> None:
    lines = blob_lines(differing(5, size=40))
    marked = lines[0].replace('<mark class="diff">', "").replace("</mark>", "")
    assert marked.index("....") == lines[2].index("....")
    assert len(lines) == 4


def test_the_difference_stands_above_the_bytes() -> None:
    report = report_of(replaced(passes(), differing(8)))
    schema("report").validate(report)
    text = render(report)
    assert "output <strong>OUTPUT0</strong> INT32, element 2, byte 8 of its blob, byte " in text
    assert "<code>0000007f</code>" not in text
    assert "<code>7f000000</code>" in text
    assert "<code>127</code>" in text


def test_an_offset_that_no_blob_has_marks_nothing() -> None:
    odd = differing(8)
    for offset in (0, 10**9):
        odd["difference"]["body_offset"] = offset
        assert "<mark" not in "".join(blob_lines(odd))
    assert "<mark" not in render(report_of(replaced(passes(), odd)))


def test_every_blob_has_its_colour_name_and_range() -> None:
    entries = [{"name": f"T{n}", "parameters": {"binary_data_size": 1}} for n in range(7)]
    document = json.dumps({"inputs": entries}).encode()
    head = f"POST / HTTP/1.1\r\nInference-Header-Content-Length: {len(document)}\r\n\r\n"
    shown = shown_exchanges(
        case("D1/x", "pass", "", exchange(head.encode() + document + bytes(7), b"")), FULL
    )
    blobs = [part for part in shown[0].messages[0].parts if part.kind.startswith("blob")]
    assert [part.kind for part in blobs] == [f"blob{n % 5}" for n in range(7)]
    assert blobs[3].title == f"T3 · 1 byte, byte {len(document) + 3} of the body"


def test_a_line_that_ends_in_lf_alone_does_not_look_like_crlf() -> None:
    response = b"HTTP/1.1 200 OK\r\nA: 1\nB: 2\r\n\r\n"
    shown = shown_exchanges(case("D1/x", "fail", "m", exchange(REQUEST, response)), FULL)
    assert str(shown[0].messages[1].parts[0].shown) == "HTTP/1.1 200 OK\nA: 1\\n\nB: 2"


def test_a_passing_case_has_its_bytes_and_what_it_is_for() -> None:
    text = render(report_of(replaced(passes(), case("D1/x", "pass", "", exchange(REQUEST, b"")))))
    assert "01 02 03 04" in text
    assert "Why D1 is tested." in text


def test_survival_is_said_in_words() -> None:
    same = exchange(REQUEST, b"", "canary on the same connection")
    fresh = exchange(REQUEST, b"", "canary on a fresh connection")
    own = exchange(REQUEST, b"")
    died = "did not survive: a known-good request got a wrong answer on a fresh connection: x"
    assert survival(case("H6/x", "pass", "", own)) == ""
    assert "on a fresh connection." in survival(case("H6/x", "pass", "", own, fresh))
    words = survival(case("H6/x", "pass", "", own, same, fresh))
    assert words.startswith("The server survived: ")
    assert words.endswith("on the same connection and on a fresh connection.")
    assert survival(case("H6/x", "fail", died, own, fresh)).startswith(
        "The server did not survive this case"
    )


def test_a_replay_command_is_shown_as_text_where_there_is_one() -> None:
    report = report_of(replaced(passes(), case("D1/x", "fail", "m"), case("D2/x", "fail", "m")))
    text = render(report, lambda _, shown: "curl '<&'" if shown["id"] == "D1/x" else "")
    assert text.count('<div class="replay">') == 1
    assert "curl &#39;&lt;&amp;&#39;</pre>" in text
    assert '<div class="replay">' not in render(report)


def test_failures_get_the_room_before_what_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("v2_conformance.formats.html.cards._PAGE_BYTES", 600_000)
    big = exchange(message_with(bytes(range(256)) * 4), message_with(bytes(1000)))
    many = [case(f"D1/p{n}", "pass", "", big) for n in range(60)]
    shown = cards({"cases": [*many, case("D1/late", "fail", "m", big)]})
    assert shown[0].case["id"] == "D1/late"
    assert shown[0].exchanges is not None
    assert not shown[0].brief
    assert shown[-1].exchanges is None
