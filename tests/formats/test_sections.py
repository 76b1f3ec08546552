"""What is shown of a case: messages in sections, with every byte in order, and what is marked."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.reports import case, differing, exchange
from support.responses import message_with, sized
from v2_conformance.formats.sections import Message, read_message
from v2_conformance.formats.shown import BRIEF, FULL, WHOLE, Part, ShownBytes, hexdump, shown
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.report.document import CaseResult
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import DidNotSurvive
from v2_conformance.suite.causes.kinds import WrongStatus, WrongValue
from v2_conformance.suite.outcomes import Purpose

BLOB = bytes(range(16))


def cut_request(data: bytes, answers: int = 1) -> Message:
    return read_message("request", data, answers)


def cut_response(data: bytes, answers: int = 1) -> Message:
    return read_message("response", data, answers)


def document(size: Any = 16) -> bytes:
    return json.dumps({"inputs": [sized(size, name="INPUT0")]}).encode()


def request(body: bytes, *fields: str, length: bool = True) -> bytes:
    lines = ["POST /v2/models/m/infer HTTP/1.1", "Host: x", *fields]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def response(body: bytes, *fields: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", *fields, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def counted(json_part: bytes) -> str:
    return f"{HEADER_LENGTH}: {len(json_part)}"


def kinds(message: Message) -> list[str]:
    return [section.kind for section in message.sections]


def check_cover(message: Message, data: bytes) -> None:
    """Every byte once and in order."""
    at = 0
    for section in message.sections:
        assert section.start == at
        assert section.end >= at
        at = section.end
        assert len(section.data) <= section.end - section.start
    assert at == len(data)


HEADS = st.lists(
    st.sampled_from(
        [
            b"POST / HTTP/1.1\r\n", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n\r\n",
            b"\r\n", b"\n", b"\n\n", b"Content-Length: 7\r\n", b"content-length: -1\r\n", b": \r\n",
            b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n", b"\xff\xfe: \x00\r\n",
            b"Inference-Header-Content-Length: 9\r\n", b"Inference-Header-Content-Length: 0\r\n",
            b"Inference-Header-Content-Length: 99999999999999999999999\r\n",
        ]
    ),
    max_size=6,
).map(b"".join)  # fmt: skip
BODIES = (
    st.binary(max_size=80)
    | st.lists(
        st.sampled_from(
            [b"5\r\nabcde\r\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"3;x\r\n{}\n\r\n"]
        )
    ).map(b"".join)
    | st.tuples(
        st.lists(st.sampled_from([4, 0, -1, 10**30, 4.0, "4", None, [4], True]), max_size=4),
        st.binary(max_size=20),
    ).map(lambda made: json.dumps({"inputs": [sized(one) for one in made[0]]}).encode() + made[1])
)
MESSAGES = st.binary(max_size=100) | st.tuples(HEADS, BODIES).map(b"".join)


@given(MESSAGES)
def test_any_bytes_are_covered_once_and_in_order(data: bytes) -> None:
    check_cover(cut_request(data), data)
    check_cover(cut_response(data), data)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=10))
def test_chunks_are_put_together(sizes: list[int]) -> None:
    body = document() + BLOB
    chunks, at = b"", 0
    while at < len(body):
        piece = body[at : at + sizes[at % len(sizes)]]
        chunks += b"%x\r\n%b\r\n" % (len(piece), piece)
        at += len(piece)
    head = request(b"", counted(document()), "Transfer-Encoding: chunked", length=False)
    data = head + chunks + b"0\r\n\r\n"
    message = cut_request(data)
    check_cover(message, data)
    assert kinds(message) == ["head", "json", "blob", "raw"]
    assert message.sections[1].data == document()
    assert message.sections[2].data == BLOB
    assert message.sections[2].base == len(document())
    assert message.sections[3].label == "the last chunk"
    assert "chunk" in message.notes[0]


@pytest.mark.parametrize("value", ["-1", "0x10", "1.0", "", "9" * 30, "12, 12"])
def test_an_unusable_header_length_is_noted(value: str) -> None:
    message = cut_request(request(document() + BLOB, f"{HEADER_LENGTH}: {value}"))
    assert kinds(message) == ["head", "json", "blob"]
    assert HEADER_LENGTH in message.notes[0]


@pytest.mark.parametrize("size", [-1, "16", True, None, 1.5, [16], {}, float("inf")])
def test_a_size_that_is_no_size_leaves_the_rest_unnamed(size: Any) -> None:
    head = document(size)
    message = cut_request(request(head + BLOB, counted(head)))
    assert kinds(message) == ["head", "json", "slack"]
    assert "no usable binary_data_size" in message.sections[2].label


def test_a_tensor_without_bytes_has_a_size() -> None:
    head = document(0)
    message = cut_request(request(head, counted(head)))
    assert "no usable binary_data_size" not in "".join(one.label for one in message.sections)
    message = cut_request(request(head + BLOB, counted(head)))
    assert (kinds(message)[-1], message.sections[-1].data) == ("slack", BLOB)
    assert "no usable binary_data_size" not in message.sections[-1].label


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (b"SSH-2.0\r\n", ["raw"]),
        (response(b"404 page not found"), ["head", "raw"]),
        (response(b"\x1f\x8b", "Content-Encoding: gzip"), ["head", "raw"]),
        (response(b'{"inputs":' + b"[" * 100_000), ["head", "raw"]),
        (response(b'{"a":' + b"1" * 10_000 + b"}"), ["head", "raw"]),
        (response(b"{}") + b"HTTP/1.1 200 OK\r\n\r\n", ["head", "json", "slack"]),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + response(b"{}"), ["head", "head", "json"]),
    ],
    ids=["nothing", "SSH", "text", "gzip", "deep", "huge", "another response", "interim response"],
)
def test_a_response_is_cut_into(data: bytes, found: list[str]) -> None:
    message = cut_response(data)
    assert kinds(message) == found
    check_cover(message, data)


def test_a_cut_off_response_says_so_and_an_answer_to_head_lacks_no_body() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n"
    assert cut_response(head + b"{").notes == ["Content-Length is 50, but the body has 1 byte"]
    message = read_message("response", head, bodiless=True)
    assert (kinds(message), message.notes) == (["head"], [])


def test_many_empty_tensors_do_not_make_many_sections() -> None:
    entries = [{"name": "x", "parameters": {"binary_data_size": 0}}] * 10_000
    head = json.dumps({"inputs": entries}).encode()
    assert len(cut_request(request(head + b"!", counted(head))).sections) < 100


def test_two_messages_are_annotated_if_there_are_two_answers() -> None:
    plain = request(document(), counted(document()))
    pair = cut_request(plain + plain, 2)
    assert kinds(pair) == 2 * kinds(cut_request(plain))
    assert "head of the second request" in [section.label for section in pair.sections]
    assert b"".join(section.data for section in pair.sections) == plain + plain
    answers = cut_response(2 * response(b"{}"), 2)
    assert [section.label for section in answers.sections][2] == "head of the second response"
    assert kinds(cut_response(response(b"{}") + b"xyz", 2)) == ["head", "json", "slack"]


def test_long_json_is_shown_but_not_looked_into() -> None:
    document = b'{"outputs":[' + b" " * 300_000 + b"]}"
    head = b"HTTP/1.1 200 OK\r\nInference-Header-Content-Length: %d\r\n\r\n" % len(document)
    _, text, blob = cut_response(head + document + b"\x01\x00\x00\x00").sections
    assert (text.kind, text.data) == ("json", document)
    assert (blob.kind, blob.data) == ("blob", b"\x01\x00\x00\x00")
    (_, whole) = cut_response(b"HTTP/1.1 200 OK\r\n\r\n" + document).sections
    assert (whole.kind, whole.data) == ("json", document)


REQUEST = message_with(b"\x01\x02\x03\x04")
WRONG = WrongStatus("200", 500, "no")
SAME = exchange(REQUEST, b"", "canary", Purpose.CANARY_SAME)
FRESH = exchange(REQUEST, b"", "canary", Purpose.CANARY_FRESH)
HOSTILE = "a\nb\x1b\u202e\ud800" + "x" * 10_000


def blob_of(found: CaseResult, limits: ShownBytes = FULL) -> Part:
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
def test_first_differing_byte_is_shown(offset: int, limits: ShownBytes) -> None:
    found = differing(offset)
    blob = blob_of(found, limits)
    assert [run.text for run in blob.runs if run.look == "wrong"] == ["7f", "."]
    lines = "".join(run.lines for run in blob.runs).splitlines()
    (at,) = (number for number, line in enumerate(lines) if "▲" in line)
    column = lines[at].index("▲")
    assert lines[at - 1][column : column + 2] == "7f"
    assert found.difference is not None
    place = int(lines[at - 1].split()[0], 16) + (column - lines[at - 1].index("  ") - 2) // 3
    assert place == found.difference.body_offset
    assert f"first differing byte: element {offset // 4} of OUTPUT0" in lines[at]


def test_hostile_text_is_visible_on_one_line_and_short() -> None:
    found = FirstDifference(HOSTILE, HOSTILE, 1, 1, 150, HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    own = exchange(HOSTILE.encode(errors="replace"), b"", HOSTILE, detail=HOSTILE)
    made = shown(case("D1/x", "fail", "m", own, cause=WrongValue(found, 8, 1)), FULL)
    text = msgspec.json.encode(made).decode()
    assert len(text) < 6000
    assert not {"\x1b", "\u202e", "\ud800"} & set(text)
    assert "\n" not in "".join(made.difference) + made.exchanges[0].title + made.exchanges[0].facts


def test_wrong_answers_to_known_good_requests_are_shown_as_the_case_is() -> None:
    cause = DidNotSurvive(None, WRONG, None, case_passed=True)
    found = case("H6/x", "fail", None, exchange(REQUEST, b""), SAME, FRESH, cause=cause)
    assert len(shown(found, BRIEF).exchanges) == 3
    fine = case("H6/x", "fail", "m", exchange(REQUEST, b""), SAME, FRESH)
    assert len(shown(fine, BRIEF).exchanges) == 1
    assert len(shown(fine, BRIEF, BRIEF).exchanges) == 3
