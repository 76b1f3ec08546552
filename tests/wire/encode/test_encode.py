"""A case becomes exactly these bytes, tampered with exactly where it says so."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import numpy as np
import pytest

from support.cases import ADDRESS, REJECT, binding, make_case, make_get, prepared, sent
from support.responses import BLOB
from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.content_codings import CODINGS, CodingError, decode
from v2_conformance.wire.encode.coded_body import code_body
from v2_conformance.wire.encode.deployment import Address
from v2_conformance.wire.encode.json_changes import change_json, change_words
from v2_conformance.wire.encode.requests import prepare


def test_a_binary_request_is_these_bytes() -> None:
    wire = b"".join(prepared(make_case(outputs=[{"tensor": 0, "binary_data": True}])).request.http1)
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


def test_a_get_is_these_bytes_with_the_targets_prefix_and_fields() -> None:
    address = Address("[::1]:8", "/base", (("Authorization", "Bearer t"),))
    wire = b"".join(prepared(make_get("/v2"), address).request.http1)
    assert wire == b"GET /base/v2 HTTP/1.1\r\nHost: [::1]:8\r\nAuthorization: Bearer t\r\n\r\n"


def test_the_targets_names_and_address_are_used() -> None:
    case = make_case(outputs=[{"tensor": 0}])
    names = type(binding())("identity/INT32", "mine%2Fx", ("in",), ("out",))
    wire = b"".join(prepare(case, Address("h", "/p", (("X-A", "b"),)), names).request.http1)
    assert wire.startswith(b"POST /p/v2/models/mine%2Fx/infer HTTP/1.1\r\nHost: h\r\nX-A: b\r\n")
    assert b'"name":"in"' in wire
    assert b'"name":"out"' in wire
    assert prepare(case, ADDRESS, names).expected[0].tensor.name == "out"


@pytest.mark.parametrize(
    ("change", "ranges"),
    [
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


@pytest.mark.parametrize("delivery", ["whole", {"slices": 100_000}])
def test_the_body_and_what_is_expected_share_the_memory_of_the_request(delivery: Any) -> None:
    one = prepared(make_case(inputs=[{"shape": [250_000]}], delivery=delivery))
    wire = [np.frombuffer(piece, "u1") for piece in one.request.http1]
    for held in (*one.request.body, one.expected[0].tensor.blob):
        assert any(np.shares_memory(piece, np.frombuffer(held, "u1")) for piece in wire)


def test_a_tampered_blob_never_becomes_the_expected_value() -> None:
    inputs = [{"shape": [3], "values": [1, 2, 3], "blob": "00"}]
    expect = {"outcome": "either", "outputs": {"0": "any"}}
    for case in (make_case(expect, inputs=inputs), make_case(expect, body={"drop": 3})):
        assert bytes(prepared(case).expected[0].tensor.blob) == BLOB


# The JSON of a request is one document, in whatever way its pieces are written.


@pytest.mark.parametrize("of_one", [True, 1.0])
def test_equal_values_of_other_types_are_written_as_their_type(of_one: Any) -> None:
    for one in (1, of_one):
        inputs = [{"shape": [one], "values": [1]}]
        outputs = [{"tensor": 0, "binary_data": one}]
        body = sent(make_case(REJECT, inputs=inputs, outputs=outputs))[1]
        assert b'"shape":[%b],' % json.dumps(one).encode() in body
        assert b'"binary_data":%b}' % json.dumps(one).encode() in body


def test_a_tampered_request_leaves_those_alone_that_share_its_tensors() -> None:
    plain: dict[str, Any] = {"outputs": [{"tensor": 0, "binary_data": True}]}
    before = sent(make_case(**plain))
    places = ["inputs.0.shape.0", "inputs.0.parameters.x", "outputs.0.parameters.binary_data"]
    change = [{"at": place, "to": 9} for place in places]
    _, tampered = sent(make_case(REJECT, **plain, json={"change": change}))
    assert tampered.count(b":9") == 2
    assert b'"shape":[9]' in tampered
    assert sent(make_case(**plain)) == before


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_is_made_and_refused_in_little_memory(coding: str) -> None:
    tracemalloc.start()
    try:
        bomb = code_body(coding, b"{}", {"bomb": 1 << 26})
        with pytest.raises(CodingError, match="more than"):
            decode(coding, bomb, 1 << 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
    assert len(bomb) < 1 << 17
    assert decode(coding, code_body(coding, b"{}", {"bomb": 5}), 7) == b"{}\0\0\0\0\0"


# Changes of the JSON: each changes one place, and nothing else.

DOCUMENT = {"id": "a", "inputs": [{"name": "x", "shape": [2, 3]}, {"name": "y", "shape": [4]}]}


def changed(*changes: dict[str, Any]) -> bytes:
    return change_json(json.dumps(DOCUMENT).encode(), list(changes), indent=None)


def test_later_mutations_see_earlier_ones() -> None:
    twice: list[dict[str, Any]] = [
        {"at": "inputs.0", "repeat": 2},
        {"at": "inputs.1.name", "to": "z"},
    ]
    assert [entry["name"] for entry in json.loads(changed(*twice))["inputs"]] == ["x", "z", "y"]
    nested: list[dict[str, Any]] = [{"at": "id", "text": "0x1"}, {"at": "id", "nest": 1}]
    assert changed(*nested).startswith(b'{"id":[0x1],')


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"at": "outputs.0", "to": 1}, "there is no 'outputs.0'"),
        ({"at": "inputs.name", "to": 1}, "there is no 'inputs.name'"),
        ({"at": "inputs.3", "to": 1}, "there is no 'inputs.3'"),
        ({"at": "id.x", "to": 1}, "there is no 'id.x'"),
        ({"at": "outputs", "remove": True}, "there is no 'outputs'"),
        ({"at": "id", "repeat": 2}, "not an element of an array"),
    ],
)
def test_a_mutation_of_nothing_is_an_error(change: dict[str, Any], words: str) -> None:
    with pytest.raises(CaseFileError, match=words):
        changed(change)


def test_people_read_what_was_changed() -> None:
    changes: list[dict[str, Any]] = [
        {"at": "inputs.0.shape", "remove": True},
        {"at": "", "nest": 1},
        {"at": "id", "to": "a" * 99},
        {"at": "b", "to": [True]},
        {"at": "inputs.0", "repeat": 2},
        {"at": "d", "hex": "ff"},
    ]
    assert change_words(changes) == (
        f'inputs.0.shape removed, the document nested 1 deep, id changed to "{"a" * 39}…, '
        "b changed to [true], inputs.0 2 times, d changed to the bytes ff"
    )
