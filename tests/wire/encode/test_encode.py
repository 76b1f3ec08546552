"""A case becomes exactly these bytes, tampered with exactly where it says so."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from support.cases import ADDRESS, binding, make_case, make_get, prepared, sent
from support.responses import BLOB
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.wire.encode.deployment import Address
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


def test_an_expected_output_shares_the_memory_of_the_request() -> None:
    one = prepared(make_case(inputs=[{"shape": [250_000]}]))
    wire = np.frombuffer(one.request.http1[0], "u1")
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


FOREIGN = [
    case
    for case in suite_cases()
    if isinstance(case, RequestCase)
    and any(one.foreign_ids for one in (case, *case.others))
    and not case.versioned  # no server has said which version there is
]


@pytest.mark.parametrize("case", FOREIGN, ids=lambda case: str(case.id))
def test_ids_of_other_requests_are_those_that_the_run_drew(case: RequestCase) -> None:
    target = Target("http://h", seed=7)
    made = [prepare(one, target.address, target.binding(one.model)) for one in (case, *case.others)]
    sent = {one.request_id for one in made} - {None}
    assert sent != {one.request.get("id") for one in (case, *case.others)} - {None}
    assert all(set(one.foreign_ids) == sent - {one.request_id} for one in made if one.foreign_ids)
