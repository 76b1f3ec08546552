"""Messages in sections: every byte is in one and in order, whatever was recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from v2_conformance.formats.sections import Message, read_message
from v2_conformance.protocol.names import HEADER_LENGTH

BLOB = bytes(range(16))


def cut_request(data: bytes, answers: int = 1) -> Message:
    return read_message("request", data, answers)


def cut_response(data: bytes, answers: int = 1) -> Message:
    return read_message("response", data, answers)


def document(size: Any = 16, name: Any = "INPUT0", member: str = "inputs") -> bytes:
    entry = {
        "name": name,
        "datatype": "FP32",
        "shape": [4],
        "parameters": {"binary_data_size": size},
    }
    return json.dumps({member: [entry]}).encode()


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


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**30, -1, 0, 4, 1e308, 4.0, 0.5, "4", "-0", "name", "\ud800", "\x00"])
    | st.floats()
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "shape", "datatype", "parameters", "binary_data_size"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
ENTRIES = st.lists(
    JSON_VALUES
    | st.fixed_dictionaries(
        {
            "name": JSON_VALUES,
            "parameters": st.fixed_dictionaries({"binary_data_size": JSON_VALUES}),
        }
    ),
    max_size=4,
)
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
    | st.tuples(ENTRIES, ENTRIES, st.binary(max_size=20)).map(
        lambda t: json.dumps({"inputs": t[0], "outputs": t[1]}).encode() + t[2]
    )
)
MESSAGES = st.binary(max_size=100) | st.tuples(HEADS, BODIES).map(b"".join)


@given(MESSAGES)
def test_any_bytes_are_covered_once_and_in_order(data: bytes) -> None:
    check_cover(cut_request(data), data)
    check_cover(cut_response(data), data)


@given(ENTRIES, st.binary(max_size=40), st.sampled_from(["inputs", "outputs"]))
def test_any_json_entries_are_covered(entries: list[Any], blobs: bytes, member: str) -> None:
    body = json.dumps({member: entries}).encode() + blobs
    for message, data in (
        (cut_request(request(body)), request(body)),
        (cut_response(response(body)), response(body)),
    ):
        check_cover(message, data)
        assert b"".join(section.data for section in message.sections) == data
        assert kinds(message)[:2] == ["head", "json"]


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


def test_a_blob_has_its_tensors_name_and_range() -> None:
    data = request(document() + BLOB, counted(document()))
    message = cut_request(data)
    assert kinds(message) == ["head", "json", "blob"]
    blob = message.sections[2]
    assert blob.label == "INPUT0 FP32 [4]"
    assert (blob.base, blob.end) == (len(document()), len(data))
    assert blob.data == BLOB
    assert message.notes == []


@pytest.mark.parametrize("shift", [-1, 1, 5])
def test_a_wrong_header_length_is_followed_and_noted(shift: int) -> None:
    end = len(document()) + shift
    message = cut_request(request(document() + BLOB, f"{HEADER_LENGTH}: {end}"))
    assert message.sections[1].end - message.sections[1].start == end
    assert f"is {end}, but the JSON object ends after byte {len(document())}" in message.notes[0]


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


def test_bytes_after_the_end_are_slack() -> None:
    message = cut_response(response(b"{}") + b"HTTP/1.1 200 OK\r\n\r\n")
    assert kinds(message) == ["head", "json", "slack"]
    assert message.sections[2].label == "after the end of the response"


def test_interim_responses_are_heads() -> None:
    message = cut_response(b"HTTP/1.1 100 Continue\r\n\r\n" + response(b"{}"))
    assert [section.label for section in message.sections] == ["interim response", "head", "JSON"]


def test_no_json_is_raw() -> None:
    assert kinds(cut_response(response(b"404 page not found"))) == ["head", "raw"]
    assert kinds(cut_response(b"SSH-2.0\r\n")) == ["raw"]
    assert kinds(cut_response(response(b"\x1f\x8b", "Content-Encoding: gzip"))) == [
        "head",
        "raw",
    ]


def test_a_cut_off_response_says_so() -> None:
    message = cut_response(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{")
    assert message.notes == ["Content-Length is 50, but the body has 1 byte"]
    assert cut_response(b"").sections == []


def test_an_answer_to_head_lacks_no_body() -> None:
    message = read_message(
        "response", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n", bodiless=True
    )
    assert (kinds(message), message.notes) == (["head"], [])


def test_deep_and_huge_json_is_raw() -> None:
    for body in (b'{"inputs":' + b"[" * 100_000, b'{"a":' + b"1" * 10_000 + b"}"):
        assert kinds(cut_request(request(body))) == ["head", "raw"]


def test_many_empty_tensors_do_not_make_many_sections() -> None:
    entries = [{"name": "x", "parameters": {"binary_data_size": 0}}] * 10_000
    head = json.dumps({"inputs": entries}).encode()
    assert len(cut_request(request(head + b"!", counted(head))).sections) < 100


def test_places_are_told_by_their_offset_in_the_body_or_in_all_that_came() -> None:
    data = response(b"{}") + b"more"
    head, json_part, more = cut_response(data).sections
    assert (head.base, head.in_body) == (0, False)
    assert (json_part.base, json_part.in_body) == (0, True)
    assert (more.base, more.in_body) == (len(data) - 4, False)


def test_an_empty_line_before_a_request_is_a_part_of_its_head() -> None:
    plain = request(document(), counted(document()))
    message = cut_request(b"\r\n" + plain)
    assert kinds(message) == kinds(cut_request(plain))
    assert message.sections[0].data.startswith(b"\r\nPOST ")


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
