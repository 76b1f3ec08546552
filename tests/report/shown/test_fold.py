"""The model of what is shown of a case's exchanges: which bytes, as what, and what is marked."""

from __future__ import annotations

import hashlib
import json

import pytest

from support.reports import case, differing, exchange
from support.responses import message_with
from v2_conformance.report.document import CaseResult
from v2_conformance.report.shown.fold import (
    BRIEF,
    FULL,
    WHOLE,
    CanaryAnswer,
    FoldedSection,
    FoldLimits,
    canary_answers,
    folded_exchanges,
)
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive, GeneratedFailure
from v2_conformance.suite.causes.kinds import WrongStatus
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.response import Ending

REQUEST = message_with(b"\x01\x02\x03\x04")
WRONG = WrongStatus("200", 500, "no")
SAME = exchange(REQUEST, b"", "canary", Purpose.CANARY_SAME)
FRESH = exchange(REQUEST, b"", "canary", Purpose.CANARY_FRESH)


def blob_of(shown: CaseResult, limits: FoldLimits = FULL) -> FoldedSection:
    """The blob of the response in the case's first exchange."""
    first = next(folded_exchanges(shown, limits, limits))
    return next(section for section in first.messages[1].sections if section.blob == 0)


@pytest.mark.parametrize("limits", [FULL, BRIEF, WHOLE])
@pytest.mark.parametrize("offset", [0, 7, 8, 15, 500, 512, 2005, 3935, 3936, 3999])
def test_first_differing_byte_is_shown(offset: int, limits: FoldLimits) -> None:
    blob = blob_of(differing(offset), limits)
    found = blob.differing
    assert found is not None
    rows = [row for span in blob.spans for row in blob.rows(span)]
    ((row, column),) = [(r, c) for r in rows if (c := found.column(r)) is not None]
    assert row.hex[3 * column : 3 * column + 2] == "7f"
    assert row.offset + column == blob.section.base + offset
    pointer = found.pointer(row, column)
    assert pointer.index("▲") == row.line.index(row.hex) + 3 * column
    assert f"first differing byte: element {offset // 4} of OUTPUT0" in pointer


def test_spans_are_in_order_and_say_what_is_left_out_before_them() -> None:
    blob = blob_of(differing(2005), BRIEF)
    at = 0
    for span in blob.spans:
        assert span.start == at + span.left_out
        at = span.end
    assert at == 4000
    assert [span.left_out > 0 for span in blob.spans] == [False, True, True]
    assert blob.sha256 == hashlib.sha256(blob.section.data).hexdigest()
    assert blob_of(differing(2005), WHOLE).spans == ((0, 4000, 0),)
    assert blob_of(differing(2005), WHOLE).sha256 == ""


def test_text_has_room_of_its_own() -> None:
    head = b"POST / HTTP/1.1\r\nX: " + b"x" * 3000 + b"\r\n\r\n"
    shown = case("D1/x", "pass", "", exchange(head, b""))
    (first,) = folded_exchanges(shown, FoldLimits(10, 20, first_of_text=1000), None)
    (section,) = first.messages[0].sections
    assert section.is_text
    assert [(span.start, span.end) for span in section.spans] == [
        (0, 1000),
        (len(head) - 20, len(head)),
    ]


def test_every_blob_has_its_number_name_and_range() -> None:
    entries = [{"name": f"T{n}", "parameters": {"binary_data_size": 1}} for n in range(7)]
    document = json.dumps({"inputs": entries}).encode()
    head = f"POST / HTTP/1.1\r\nInference-Header-Content-Length: {len(document)}\r\n\r\n"
    own = exchange(head.encode() + document + bytes(7), b"")
    first = next(folded_exchanges(case("D1/x", "pass", "", own), FULL, None))
    blobs = [section for section in first.messages[0].sections if section.blob is not None]
    assert [section.blob for section in blobs] == list(range(7))
    assert blobs[3].title == f"T3 · 1 byte, byte {len(document) + 3} of the body"


def test_a_line_that_ends_in_lf_alone_does_not_look_like_crlf() -> None:
    response = b"HTTP/1.1 200 OK\r\nA: 1\nB: 2\r\n\r\n"
    first = next(
        folded_exchanges(case("D1/x", "fail", "m", exchange(REQUEST, response)), FULL, None)
    )
    (head,) = first.messages[1].sections
    assert head.text(head.spans[0]) == "HTTP/1.1 200 OK\nA: 1\\n\nB: 2"


def test_an_error_page_is_text_and_what_does_not_print_is_hex() -> None:
    for body, is_text in ((b"no such model", True), (b"\x1b[31mno", False), (b"\xff", False)):
        response = b"HTTP/1.1 404 N\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        shown = case("D1/x", "fail", "m", exchange(REQUEST, response))
        first = next(folded_exchanges(shown, FULL, None))
        assert first.messages[1].sections[1].is_text is is_text


def test_facts_and_notes_say_how_the_exchange_went() -> None:
    own = exchange(
        REQUEST, b"", ending=Ending.CLOSED, detail="reset\x1b", sent=10, reused=True, open=False
    )
    (first,) = folded_exchanges(case("D1/x", "fail", "m", own), FULL, None)
    assert first.facts == (
        "connection closed before a complete response (reset\\x1b)",
        "first byte after 1.2 ms",
        "2.5 ms in all",
        "on a reused connection",
    )
    assert not first.complete
    request, response = first.messages
    assert "only the first 10 bytes were sent" in request.notes
    assert response.title == "Response · nothing"
    whole = exchange(REQUEST, b"", open=False)
    (first,) = folded_exchanges(case("D1/x", "pass", "", whole), FULL, None)
    assert first.facts[-2:] == ("on a new connection", "closed afterwards")


# Known-good requests after the case


def test_wrong_answers_to_known_good_requests_are_shown_as_the_case_is() -> None:
    cause = DidNotSurvive(None, WRONG, None, case_passed=True)
    shown = case("H6/x", "fail", None, exchange(REQUEST, b""), SAME, FRESH, cause=cause)
    assert len(list(folded_exchanges(shown, BRIEF, None))) == 3


@pytest.mark.parametrize(
    ("cause", "answers"),
    [
        (None, (True, True)),
        (WRONG, (True, True)),
        (DidNotSurvive(WRONG, None, None, case_passed=True), (False, True)),
        (DidNotSurvive(None, WRONG, WRONG, case_passed=False), (True, False)),
        (
            GeneratedFailure(DidNotSurvive(WRONG, WRONG, None, True), 1, 0, "6", None),
            (False, False),
        ),
    ],
)
def test_cause_has_the_canaries(cause: Cause | None, answers: tuple[bool, bool]) -> None:
    shown = case("H6/x", "fail", None, exchange(REQUEST, b""), SAME, FRESH, cause=cause)
    assert canary_answers(shown) == (
        CanaryAnswer("on the same connection", answers[0]),
        CanaryAnswer("on a fresh connection", answers[1]),
    )
    assert canary_answers(case("H6/x", "fail", None, exchange(REQUEST, b""), cause=cause)) == ()
