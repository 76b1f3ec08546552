"""A case becomes exactly these bytes, tampered with exactly where it says so."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from support.servers import ADDRESS, binding, make_case, prepared, sent
from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import check_blob, decode_bytes
from v2_conformance.protocol.message import HEADER_LENGTH
from v2_conformance.suite.cases import Case
from v2_conformance.suite.models import contract
from v2_conformance.suite.value_patterns import PATTERNS, pattern
from v2_conformance.wire.encode import Address, prepare

BLOB = struct.pack("<3i", 1, 2, 3)


def lines(head: bytes) -> dict[str, str]:
    """The fields of a request's head."""
    fields = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:]]
    return {name: value for name, value in fields}  # noqa: C416 (dict() would not type)


def document(body: bytes) -> dict[str, Any]:
    """The JSON object at a body's start."""
    value, _ = json.JSONDecoder().raw_decode(body.decode("latin-1"))
    assert isinstance(value, dict)
    return value


def test_a_binary_request_is_these_bytes() -> None:
    wire = b"".join(prepared(make_case(outputs=[{"tensor": 0, "binary_data": True}])).pieces)
    text = (
        b'{"inputs":[{"name":"INPUT0","shape":[3],"datatype":"INT32",'
        b'"parameters":{"binary_data_size":12}}],'
        b'"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}'
    )
    assert wire == (
        b"POST /v2/models/identity_int32/infer HTTP/1.1\r\n"
        b"Host: host:1\r\n"
        b"Content-Type: application/octet-stream\r\n"
        b"Inference-Header-Content-Length: %d\r\n"
        b"Content-Length: %d\r\n\r\n" % (len(text), len(text) + 12)
    ) + text + bytes.fromhex("010000000200000003000000")


def test_a_json_request_has_no_header_length_and_is_typed_json() -> None:
    case = make_case(inputs=[{"shape": [3], "values": [1, 2, 3], "form": "json"}], id="a")
    wire = b"".join(prepared(case).pieces)
    text = b'{"id":"a","inputs":[{"name":"INPUT0","shape":[3],"datatype":"INT32","data":[1,2,3]}]}'
    assert wire == (
        b"POST /v2/models/identity_int32/infer HTTP/1.1\r\nHost: host:1\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text)
    )
    assert prepared(case).request_id == "a"


def test_a_get_is_these_bytes_with_the_targets_prefix_and_fields() -> None:
    address = Address("[::1]:8", "/base", (("Authorization", "Bearer t"),))
    wire = b"".join(prepared(make_case(get="/v2"), address).pieces)
    assert wire == b"GET /base/v2 HTTP/1.1\r\nHost: [::1]:8\r\nAuthorization: Bearer t\r\n\r\n"


def test_the_targets_names_and_address_are_used() -> None:
    case = make_case(outputs=[{"tensor": 0}])
    names = type(binding())("identity/INT32", "mine%2Fx", ("in",), ("out",))
    wire = b"".join(prepare(case, Address("h", "/p", (("X-A", "b"),)), names).pieces)
    assert wire.startswith(b"POST /p/v2/models/mine%2Fx/infer HTTP/1.1\r\nHost: h\r\nX-A: b\r\n")
    assert b'"name":"in"' in wire
    assert b'"name":"out"' in wire
    assert prepare(case, ADDRESS, names).expected[0].tensor.name == "out"


def test_the_header_length_counts_bytes_and_not_characters() -> None:
    head, body = sent(make_case(id="é日本🙂"))
    length = int(lines(head)[HEADER_LENGTH])
    assert body[length:] == BLOB
    assert json.loads(body[:length])["id"] == "é日本🙂"
    assert length > len(body[:length].decode())


def test_white_space_around_the_json_is_counted() -> None:
    case = make_case(json={"before": " \n", "after": "\t\r\n", "indent": 2})
    head, body = sent(case)
    length = int(lines(head)[HEADER_LENGTH])
    assert body[:length].startswith(b" \n{\n  ")
    assert body[:length].endswith(b"}\t\r\n")
    assert body[length:] == BLOB


def test_a_binary_tensor_without_bytes_still_has_the_header_length() -> None:
    head, body = sent(make_case(inputs=[{"shape": [0]}]))
    assert lines(head)[HEADER_LENGTH] == str(len(body))
    assert document(body)["inputs"][0]["parameters"] == {"binary_data_size": 0}


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        ({"add": 0}, 12),
        ({"add": -1}, 11),
        ({"add": 2**32}, 2**32 + 12),
        ({"times": -1}, -12),
        ({"times": 2}, 24),
        ({"value": None}, None),
        ({"value": "12"}, "12"),
        ({"value": True}, True),
        ({"value": 16.5}, 16.5),
        ({"value": [12]}, [12]),
        ({"value": 0}, 0),
    ],
)
def test_a_size_is_tampered_with_and_the_blob_is_not(size: dict[str, Any], wanted: object) -> None:
    _, body = sent(make_case(inputs=[{"shape": [3], "values": [1, 2, 3], "size": size}]))
    came = document(body)["inputs"][0]["parameters"]["binary_data_size"]
    assert came == wanted
    assert type(came) is type(wanted)
    assert body.endswith(b"}" + BLOB)


@pytest.mark.parametrize(
    ("value", "add", "of"),
    [
        ("${length}", 0, "length"),
        ("${length+1}", 1, "length"),
        ("${length-1}", -1, "length"),
        ("${body}", 0, "body"),
        ("${body+1000}", 1000, "body"),
        ("${blobs}", 0, "blobs"),
    ],
)
def test_a_header_length_is_computed_from_the_true_lengths(value: str, add: int, of: str) -> None:
    head, body = sent(make_case(header_length={"value": value}))
    known = {"length": len(body) - 12, "body": len(body), "blobs": 12}
    assert lines(head)[HEADER_LENGTH] == str(known[of] + add)
    assert lines(head)["Content-Length"] == str(len(body))


def test_a_header_length_can_be_any_text_absent_renamed_or_several() -> None:
    assert lines(sent(make_case(header_length={"value": "12abc"}))[0])[HEADER_LENGTH] == "12abc"
    assert lines(sent(make_case(header_length={"value": ""}))[0])[HEADER_LENGTH] == ""
    assert "٣".encode() in sent(make_case(header_length={"value": "٣"}))[0]
    assert lines(sent(make_case(header_length={"value": "-${blobs}"}))[0])[HEADER_LENGTH] == "-12"
    assert HEADER_LENGTH.encode() not in sent(make_case(header_length="absent"))[0]
    renamed = sent(make_case(header_length={"name": "inference-HEADER-content-length"}))[0]
    assert b"\r\ninference-HEADER-content-length: " in renamed
    assert HEADER_LENGTH.encode() not in renamed
    twice = sent(make_case(header_length={"values": ["${length}", "1"]}))[0]
    assert twice.count(HEADER_LENGTH.encode()) == 2


def test_content_type_and_other_fields_are_the_cases() -> None:
    head, _ = sent(make_case(content_type=None, headers={"X-Case": "1"}))
    assert b"Content-Type" not in head
    assert lines(head)["X-Case"] == "1"
    head, _ = sent(make_case(content_type="text/plain"))
    assert lines(head)["Content-Type"] == "text/plain"


def test_bytes_are_dropped_and_appended_and_the_content_length_follows() -> None:
    whole = sent(make_case())[1]
    head, body = sent(make_case(body={"drop": 1}))
    assert body == whole[:-1]
    assert lines(head)["Content-Length"] == str(len(body))
    assert lines(head)[HEADER_LENGTH] == str(len(whole) - 12)
    head, body = sent(make_case(body={"append": "00 ff"}))
    assert body == whole + b"\x00\xff"
    assert lines(head)["Content-Length"] == str(len(body))


@pytest.mark.parametrize(
    ("change", "ranges"),
    [
        ({}, [("json", 0, 0), ("blob", 0, 12)]),
        ({"append": "0000"}, [("json", 0, 0), ("blob", 0, 12), ("slack", 12, 14)]),
        ({"drop": 5}, [("json", 0, 0), ("blob", 0, 7)]),
        ({"drop": 12}, [("json", 0, 0)]),
        ({"drop": 13}, [("json", 0, -1)]),
    ],
)
def test_parts_are_the_ranges_of_what_was_sent(
    change: dict[str, Any], ranges: list[tuple[str, int, int]]
) -> None:
    case = make_case(body=change)
    length = len(sent(make_case())[1]) - 12
    parts = prepared(case).parts
    assert [(p.kind, p.start, p.end) for p in parts] == [
        (kind, start if kind == "json" else length + start, length + end)
        for kind, start, end in ranges
    ]
    assert parts[-1].end == len(sent(case)[1])


def test_dropping_more_than_the_body_is_an_error() -> None:
    with pytest.raises(CaseFileError):
        prepared(make_case(body={"drop": 10_000}))


def test_several_inputs_are_in_the_order_of_the_case_with_their_own_blobs() -> None:
    inputs = [
        {"tensor": 2, "shape": [2], "values": [True, False]},
        {"tensor": 0, "shape": [1, 1], "values": [1.0], "form": "nested"},
        {"tensor": 1, "shape": [1, 2], "values": [7, 8]},
    ]
    expect = {"outcome": "success", "outputs": {"0": "json", "1": "binary", "2": "any"}}
    case = make_case(expect, model="mixed", inputs=inputs)
    head, body = sent(case)
    assert body[int(lines(head)[HEADER_LENGTH]) :] == b"\x01\x00" + struct.pack("<2I", 7, 8)
    entries = document(body)["inputs"]
    assert [entry["name"] for entry in entries] == ["INPUT2", "INPUT0", "INPUT1"]
    assert entries[1] == {"name": "INPUT0", "shape": [1, 1], "datatype": "FP16", "data": [[1.0]]}
    came = {e.tensor.name: (e.form, bytes(e.tensor.blob)) for e in prepared(case).expected}
    assert came == {
        "OUTPUT0": ("json", b"\x00\x3c"),
        "OUTPUT1": ("binary", struct.pack("<2I", 7, 8)),
        "OUTPUT2": ("any", b"\x01\x00"),
    }


def test_both_and_neither_are_what_they_say() -> None:
    _, body = sent(make_case(inputs=[{"shape": [3], "values": [1, 2, 3], "form": "both"}]))
    entry = document(body)["inputs"][0]
    assert entry["data"] == [1, 2, 3]
    assert entry["parameters"] == {"binary_data_size": 12}
    assert body.endswith(BLOB)
    head, body = sent(make_case(inputs=[{"shape": [3], "form": "neither"}]))
    assert document(body)["inputs"][0].keys() == {"name", "shape", "datatype"}
    assert lines(head)["Content-Length"] == str(len(body))


def test_a_tensor_can_lie_about_its_name_datatype_shape_and_blob() -> None:
    entry = {"shape": [2**62 + 4], "name": "n", "datatype": "FP64", "elements": 1, "blob": "0aff"}
    _, body = sent(make_case({"outcome": "reject"}, inputs=[entry]))
    came = document(body)["inputs"][0]
    assert (came["name"], came["datatype"], came["shape"]) == ("n", "FP64", [2**62 + 4])
    assert came["parameters"] == {"binary_data_size": 2}
    assert body.endswith(b"}\x0a\xff")


def test_text_in_place_of_the_json_is_sent_as_it_is() -> None:
    head, body = sent(make_case({"outcome": "reject"}, json={"text": "{é"}))
    assert body == "{é".encode() + BLOB
    assert lines(head)[HEADER_LENGTH] == "3"


CUTS: list[Any] = [1, 7, 1000, "one", "seam", [{"blob": 0, "at": 2}]]
CUTS.append([{"blob": 1, "at": 1}, {"blob": 0, "at": 11}])
DELIVERIES = [{kind: how} for kind in ("slices", "chunks") for how in CUTS]


def dechunked(data: bytes) -> bytes:
    body = b""
    while True:
        line, _, data = data.partition(b"\r\n")
        size = int(line, 16)
        piece, end, data = data[:size], data[size : size + 2], data[size + 2 :]
        assert end == b"\r\n"
        if not size:
            assert not data
            return body
        body += piece


@pytest.mark.parametrize("delivery", DELIVERIES, ids=str)
def test_the_pieces_of_a_delivery_join_to_the_same_body(delivery: dict[str, Any]) -> None:
    inputs = [
        {"tensor": 1, "shape": [1, 3], "values": [1, 2, 3]},
        {"tensor": 2, "shape": [3], "values": [True] * 3},
    ]
    whole = sent(make_case({"outcome": "reject"}, model="mixed", inputs=inputs))[1]
    case = make_case({"outcome": "reject"}, model="mixed", inputs=inputs, delivery=delivery)
    pieces = [bytes(piece) for piece in prepared(case).pieces]
    assert pieces[0].endswith(b"\r\n\r\n")
    fields = lines(pieces[0][:-4])
    cuts = [p.start for p in prepared(case).parts if p.kind == "blob"]
    if "slices" in delivery:
        assert b"".join(pieces[1:]) == whole
        assert fields["Content-Length"] == str(len(whole))
        lengths = [len(piece) for piece in pieces[1:]]
        assert prepared(case).pause_s > 0
    else:
        assert dechunked(b"".join(pieces[1:])) == whole
        assert fields["Transfer-Encoding"] == "chunked"
        assert "Content-Length" not in fields
        assert pieces[-1] == b"0\r\n\r\n"
        lengths = [int(piece.partition(b"\r\n")[0], 16) for piece in pieces[1:-1]]
    assert sum(lengths) == len(whole)
    how = delivery.get("slices", delivery.get("chunks"))
    ends = np.cumsum(lengths)[:-1].tolist()
    if isinstance(how, int):
        assert set(lengths[:-1]) <= {how}
    elif how == "seam":
        assert ends == [cuts[0]]
    elif isinstance(how, list):
        assert ends == sorted(cuts[cut["blob"]] + cut["at"] for cut in how)
    else:
        assert len(lengths) == 1


def test_an_expected_output_shares_the_memory_of_the_request() -> None:
    one = prepared(make_case(inputs=[{"shape": [250_000]}]))
    wire = np.frombuffer(one.pieces[0], "u1")
    assert np.shares_memory(wire, np.frombuffer(one.expected[0].tensor.blob, "u1"))


def test_a_tampered_blob_never_becomes_the_expected_value() -> None:
    inputs = [{"shape": [3], "values": [1, 2, 3], "blob": "00"}]
    expect = {"outcome": "either", "outputs": {"0": "any"}}
    for case in (make_case(expect, inputs=inputs), make_case(expect, body={"drop": 3})):
        assert bytes(prepared(case).expected[0].tensor.blob) == BLOB


def test_first_three_elements_and_their_negation_are_expected() -> None:
    inputs = [{"shape": [4], "values": [1.5, -0.0, 2.0, 9.0]}]
    expect = {"outcome": "success", "outputs": {"0": "any", "1": "any"}}
    first, second = prepared(make_case(expect, model="raw/two_outputs", inputs=inputs)).expected
    assert first.tensor.shape == second.tensor.shape == (3, 1)
    assert bytes(first.tensor.blob) == struct.pack("<3f", 1.5, -0.0, 2.0)
    assert bytes(second.tensor.blob) == struct.pack("<3f", -1.5, 0.0, -2.0)


@pytest.mark.parametrize(
    "case",
    [
        make_case(inputs=[{"shape": [1], "values": "no_such_pattern"}]),
        make_case(inputs=[{"shape": [1], "values": "unicode"}]),
        make_case(inputs=[{"shape": [1], "values": [2**31]}]),
        make_case(inputs=[{"shape": [1], "values": {"hex": "0"}}]),
        make_case(inputs=[{"tensor": 1, "shape": [1]}]),
        make_case(outputs=[{"tensor": 1}]),
        make_case({"outcome": "success", "outputs": {"1": "json"}}),
        make_case(inputs=[{}]),
        make_case(delivery={"slices": [{"blob": 1, "at": 0}]}),
        make_case(body={"append": "xx"}),
        make_case(
            model="identity/FP32", inputs=[{"shape": [1], "values": "quiet_nans", "form": "json"}]
        ),
    ],
)
def test_a_case_that_cannot_be_encoded_is_an_error_of_the_case(case: Case) -> None:
    with pytest.raises(CaseFileError):
        prepared(case)


def patterns_for(datatype: str, count: int) -> Sequence[tuple[str, bytes]]:
    made = []
    for name in PATTERNS:
        try:
            made.append((name, pattern(name, datatype, count)))
        except CaseFileError:
            continue
    return made


@pytest.mark.parametrize("role", [role for role in contract() if role.startswith("identity/")])
@pytest.mark.parametrize("count", [0, 1, 100])
def test_every_value_pattern_is_whole_and_the_same_again(role: str, count: int) -> None:
    datatype = role.partition("/")[2]
    made = patterns_for(datatype, count)
    assert {"counting", "extremes", "ones"} <= {name for name, _ in made}
    for name, blob in made:
        check_blob(datatype, [count], blob)
        assert pattern(name, datatype, count) == blob
        if datatype == "BYTES":
            assert len(decode_bytes(blob)) == count
