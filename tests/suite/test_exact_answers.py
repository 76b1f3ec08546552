"""An exact answer never fails a derived MUST: which malformed messages have an exact reading."""

from __future__ import annotations

import json
import re
import zlib

from v2_conformance.protocol.datatypes import decode_bytes, to_json
from v2_conformance.protocol.message import Tensor
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import ClientCase, RequestCase
from v2_conformance.suite.library import client_cases, suite_cases
from v2_conformance.suite.requirements import catalogue
from v2_conformance.wire.encode.requests import Prepared, prepare

NO_EXACT_READING = {
    "bytes are missing": (
        "S2/size-against-shape[12]", "S2/size-against-shape[15]", "S2/shape-against-size[",
        "S2/size-against-shape-in-codings", "S2/size-against-shape-on-",
        "S3/", "S6/negative-among-others", "S12/size-zero-for-elements",
        "B9/element-count[too_few_elements]", "K5/", "K25/size-inside-an-element",
        "K25/json-against-shape", "K25/neither-data-nor-size",
    ),
    "no tensor has the shape": ("S8/", "J5/"),
    "the next element begins behind the wrong one": ("B6/", "B7/"),
    "nothing says what the bytes are": (
        "W5/", "W6/", "W9/not-a-whole-number-", "K25/unknown-datatype",
    ),
    "elements are missing": (
        "J1/number-of-elements[too_few", "J1/number-of-elements[none",
        "J1/number-of-strings[too_few", "J1/number-of-strings[none",
        "J1/data-of-the-second-input[too_few",
        "J1/nesting-against-shape[row_missing", "J1/nesting-against-shape[row_short",
        "K25/ragged-and-short-json",
    ),
    "the data is no list of values": (
        "J1/data-is-no-array[null", "J1/data-is-no-array[true", "J1/data-is-no-array[number",
        "J1/data-is-no-array[fraction", "J1/data-is-no-array[string", "J1/data-of-one-value",
    ),
    "an element is no value": (
        "J1/out-of-range", "J1/data-of-the-second-input[out_of_range", "J2/", "J3/elements",
        "J7/long-number", "K20/", "K25/json-out-of-range",
    ),
    "an input is missing": ("J6/inputs-of-the-model",),
    "the answer is an error, or none": ("K29/", "K32/"),
}  # fmt: skip
"""Starts of ids of cases of derived requirements that have none, by why."""


def test_each_derived_must_case_has_an_exact_reading_or_there_is_none() -> None:
    starts = tuple(start for some in NO_EXACT_READING.values() for start in some)
    without = [case.id for case in derived() if not read_exactly(case)]
    without += [case.id for case in derived_of_clients() if "exact" not in case.expected(-1)]
    assert [id for id in without if not id.startswith(starts)] == []
    assert [start for start in starts if not any(id.startswith(start) for id in without)] == []


def test_what_is_exact_was_sent() -> None:
    found = [case for case in derived() if "exact" in case.expect]
    assert len(found) > 80
    for case in found:
        request = prepared(case)
        body = b"".join(map(bytes, request.request.body))
        if "encoding" in case.request:
            body = zlib.decompress(body, 32 + zlib.MAX_WBITS)
        for item in request.expected:
            blob = bytes(item.tensor.blob)
            assert blob in body or in_order(elements(item.tensor), body), case.id


def test_only_derived_musts_are_exact() -> None:
    exact = [case for case in (*suite_cases(), *client_cases()) if "exact" in case.expect]
    assert {catalogue()[case.requirement].basis for case in exact} == {"derived"}


def derived() -> list[RequestCase]:
    return [
        case
        for case in suite_cases(large=True)
        if isinstance(case, RequestCase)
        and (case.expects, case.level, "accepted" in case.expect) == ("reject", "MUST", False)
        and catalogue()[case.requirement].basis == "derived"
    ]


def derived_of_clients() -> list[ClientCase]:
    return [
        case
        for case in client_cases()
        if isinstance(case, ClientCase)
        and case.level == "MUST"
        and catalogue()[case.requirement].basis == "derived"
        and case.expected(-1).get("reading") in ("error", "refused")
    ]


def read_exactly(case: RequestCase) -> bool:
    return "exact" in case.expect and bool(prepared(case).expected)


def elements(tensor: Tensor) -> list[bytes]:
    """The elements of a tensor as its JSON has them, texts without quotes."""
    if tensor.datatype == "BYTES":
        return decode_bytes(tensor.blob)
    values = to_json(tensor.datatype, tensor.shape, tensor.blob)
    return [json.dumps(value).encode() for value in values]


def in_order(parts: list[bytes], body: bytes) -> bool:
    return re.search(b".*?".join(map(re.escape, parts)), body, re.DOTALL) is not None


def prepared(case: RequestCase) -> Prepared:
    target = Target("http://host:1")
    return prepare(case, target.address, target.binding(case.model))
