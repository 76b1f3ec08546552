"""What is shown of a case: which bytes, as what, what is left out, and what is marked."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.reports import case, differing, exchange
from support.responses import message_with
from v2_conformance.formats.shown import (
    BRIEF,
    FULL,
    WHOLE,
    Limits,
    Part,
    Shown,
    ShownExchange,
    hexdump,
    shown,
)
from v2_conformance.report.document import CaseResult
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive, GeneratedFailure
from v2_conformance.suite.causes.kinds import WrongStatus, WrongValue
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending

REQUEST = message_with(b"\x01\x02\x03\x04")
WRONG = WrongStatus("200", 500, "no")
SAME = exchange(REQUEST, b"", "canary", Purpose.CANARY_SAME)
FRESH = exchange(REQUEST, b"", "canary", Purpose.CANARY_FRESH)
HOSTILE = "a\nb\x1b\u202e\ud800" + "x" * 10_000


def first_exchange(own: Exchange, limits: Limits = FULL, outcome: str = "fail") -> ShownExchange:
    return shown(case("D1/x", outcome, "m", own), limits).exchanges[0]


def blob_of(found: CaseResult, limits: Limits = FULL) -> Part:
    """The first blob of the response in the case's first exchange."""
    response = shown(found, limits).exchanges[0].messages[1]
    return next(part for part in response.parts if part.look == "blob0")


@given(st.binary(max_size=100), st.integers(0, 0x1234567))
def test_a_hexdump_has_every_byte_in_place(data: bytes, base: int) -> None:
    for number, line in enumerate(hexdump(data, base).splitlines()):
        row = data[16 * number : 16 * number + 16]
        offset, digits, text = line.split("  ", 1)[0], line[-65 - len(row) :], line[-len(row) :]
        assert int(offset, 16) == base + 16 * number
        assert row.hex(" ") in digits
        assert [c for c in text if c != "."] == [
            chr(byte) for byte in row if 32 <= byte < 127 and byte != ord(".")
        ]


@pytest.mark.parametrize("limits", [FULL, BRIEF, WHOLE])
@pytest.mark.parametrize("offset", [0, 7, 8, 15, 500, 512, 2005, 3935, 3936, 3999])
def test_first_differing_byte_is_shown(offset: int, limits: Limits) -> None:
    found = differing(offset)
    blob = blob_of(found, limits)
    assert [run.text for run in blob.runs if run.look == "wrong"] == ["7f", "."]
    lines = blob.text.splitlines()
    (at,) = (number for number, line in enumerate(lines) if "▲" in line)
    column = lines[at].index("▲")
    assert lines[at - 1][column : column + 2] == "7f"
    assert found.difference is not None
    place = int(lines[at - 1].split()[0], 16) + (column - lines[at - 1].index("  ") - 2) // 3
    assert place == found.difference.body_offset
    assert f"first differing byte: element {offset // 4} of OUTPUT0" in lines[at]


def test_what_is_left_out_is_counted_where_it_would_be() -> None:
    blob = blob_of(differing(2005), BRIEF)
    left_out = [run.text for run in blob.runs if run.look == "left-out"]
    assert left_out == ["… 1,872 bytes left out\n", "… 1,920 bytes left out\n"]
    rows = [line for line in blob.text.splitlines() if "▲" not in line and "…" not in line]
    assert sum(len(line[8:55].split()) for line in rows) == 4000 - 1872 - 1920
    (data,) = {run.text.split()[1] for run in blob_of(differing(2005), WHOLE).runs[-1:]}
    assert data.endswith("00")
    whole = blob_of(differing(2005), WHOLE)
    assert not any(run.look == "left-out" for run in whole.runs)


def test_text_has_room_of_its_own() -> None:
    head = b"POST / HTTP/1.1\r\nX: " + b"x" * 3000 + b"\r\n\r\n"
    found = first_exchange(exchange(head, b""), Limits(10, 20, first_of_text=1000), "pass")
    (part,) = found.messages[0].parts
    assert part.is_text
    first, left_out, last = (run.text for run in part.runs)
    assert (len(first.rstrip()), len(last.rstrip())) == (1000 - 1, 20 - 4)
    assert left_out == f"… {len(head) - 1020:,} bytes left out\n"


def test_every_blob_has_its_color_name_and_range() -> None:
    entries = [{"name": f"T{n}", "parameters": {"binary_data_size": 1}} for n in range(7)]
    document = json.dumps({"inputs": entries}).encode()
    head = f"POST / HTTP/1.1\r\nInference-Header-Content-Length: {len(document)}\r\n\r\n"
    found = first_exchange(exchange(head.encode() + document + bytes(7), b""))
    blobs = [part for part in found.messages[0].parts if part.look.startswith("blob")]
    assert [part.look for part in blobs] == [f"blob{n % 5}" for n in range(7)]
    assert blobs[3].title == f"T3 · 1 byte, byte {len(document) + 3} of the body"


def test_a_line_that_ends_in_lf_alone_does_not_look_like_crlf() -> None:
    (head,) = (
        first_exchange(exchange(b"", b"HTTP/1.1 200 OK\r\nA: 1\nB: 2\r\n\r\n")).messages[1].parts
    )
    assert head.text == "HTTP/1.1 200 OK\nA: 1\\n\nB: 2\n"


def test_an_error_page_is_text_and_what_does_not_print_is_hex() -> None:
    for body, is_text in ((b"no such model", True), (b"\x1b[31mno", False), (b"\xff", False)):
        response = b"HTTP/1.1 404 N\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        assert first_exchange(exchange(REQUEST, response)).messages[1].parts[1].is_text is is_text


def test_facts_and_notes_say_how_the_exchange_went() -> None:
    own = exchange(
        REQUEST, b"", ending=Ending.CLOSED, detail="reset\x1b", sent=10, reused=True, open=False
    )
    found = first_exchange(own)
    assert found.facts == (
        "connection closed before a complete response (reset\\x1b) · first byte after 1.2 ms · "
        "2.5 ms in all · on a reused connection"
    )
    assert not found.complete
    request, response = found.messages
    assert "only the first 10 bytes were sent" in request.notes
    assert response.title == "Response · nothing"
    facts = first_exchange(exchange(REQUEST, b"", open=False), outcome="pass").facts
    assert facts.endswith("on a new connection · closed afterwards")


def test_hostile_text_is_visible_on_one_line_and_short() -> None:
    found = FirstDifference(HOSTILE, HOSTILE, 1, 1, 150, HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    own = exchange(HOSTILE.encode(errors="replace"), b"", HOSTILE, detail=HOSTILE)
    made = shown(case("D1/x", "fail", "m", own, cause=WrongValue(found, 8, 1)), FULL)
    text = msgspec.json.encode(made).decode()
    assert len(text) < 6000
    assert not {"\x1b", "\u202e", "\ud800"} & set(text)
    assert "\n" not in "".join(made.difference) + made.exchanges[0].title + made.exchanges[0].facts


# Known-good requests after the case


def test_wrong_answers_to_known_good_requests_are_shown_as_the_case_is() -> None:
    cause = DidNotSurvive(None, WRONG, None, case_passed=True)
    found = case("H6/x", "fail", None, exchange(REQUEST, b""), SAME, FRESH, cause=cause)
    assert len(shown(found, BRIEF).exchanges) == 3
    fine = case("H6/x", "fail", "m", exchange(REQUEST, b""), SAME, FRESH)
    assert len(shown(fine, BRIEF).exchanges) == 1
    assert len(shown(fine, BRIEF, BRIEF).exchanges) == 3


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (None, "same answer as before on the same connection and on a fresh connection."),
        (WRONG, "same answer as before on the same connection and on a fresh connection."),
        (
            DidNotSurvive(WRONG, None, None, case_passed=True),
            "not survive: after this case, a known-good request got a wrong answer on the same "
            "connection.",
        ),
        (
            DidNotSurvive(None, WRONG, WRONG, case_passed=False),
            "got a wrong answer on a fresh connection.",
        ),
        (
            GeneratedFailure(DidNotSurvive(WRONG, WRONG, None, True), 1, 0, "6", None),
            "got a wrong answer on the same connection and on a fresh connection.",
        ),
    ],
)
def test_survival_is_said_in_words(cause: Cause | None, words: str) -> None:
    found = case("H6/x", "fail", None, exchange(REQUEST, b""), SAME, FRESH, cause=cause)
    assert shown(found, BRIEF).survival.endswith(words)
    assert (
        shown(case("H6/x", "fail", None, exchange(REQUEST, b""), cause=cause), BRIEF).survival == ""
    )


def test_a_case_that_sent_nothing_shows_nothing() -> None:
    assert shown(case("D1/x", "not_run", "m"), FULL) == Shown()
