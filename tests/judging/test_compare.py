"""Values are compared bit for bit, and the first differing element is named with its numbers."""

from __future__ import annotations

import struct
from typing import Any
from unittest.mock import ANY

import msgspec
import numpy as np
import pytest

from support.cases import JSON, failure, make_case, verdict
from support.responses import BLOB, answer, entry, sized, v2
from v2_conformance.judging.compare import check_no_other_number, compare_tensors
from v2_conformance.judging.messages.response import ReadOutput, read_tensor
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import encode_bytes, from_values
from v2_conformance.protocol.message import Tensor, dump_json
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.causes.base import FirstDifference, describe
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import (
    WrongBytesElement,
    WrongDatatype,
    WrongShape,
    WrongValue,
)
from v2_conformance.suite.outcomes import Outcome

SIZE = len(dump_json(answer(sized())))
STRINGS = make_case(model="identity/BYTES", inputs=[{"shape": [2], "values": ["ab", "cd"]}])


def wrong_value(received: bytes, case: RequestCase | None = None) -> WrongValue:
    cause = failure(received, case)
    assert isinstance(cause, WrongValue)
    return cause


def wrong_element(blob: bytes) -> WrongBytesElement:
    cause = failure(bytes_answer(blob), STRINGS)
    assert isinstance(cause, WrongBytesElement)
    return cause


def bytes_answer(blob: bytes) -> bytes:
    return v2(answer(sized(len(blob), shape=[2], datatype="BYTES")), blob)


# Shape and datatype.


@pytest.mark.parametrize(
    ("members", "cause"),
    [
        ({"shape": [3, 1]}, WrongShape("OUTPUT0", (3,), (3, 1))),
        ({"datatype": "UINT32"}, WrongDatatype("OUTPUT0", "INT32", "UINT32")),
    ],
)
def test_another_shape_or_datatype_fails(members: dict[str, Any], cause: Cause) -> None:
    assert failure(v2(answer(sized(**members)), BLOB)) == cause


# Elements of a fixed size.


def test_a_wrong_element_is_named_with_index_offsets_and_both_values_in_hex() -> None:
    cause = wrong_value(v2(answer(sized()), struct.pack("<3i", 1, 258, 4)))
    found = FirstDifference("OUTPUT0", "INT32", 1, 5, SIZE + 5, "02000000", "02010000", "2", "258")
    assert cause == WrongValue(found, elements=3, differing=2)
    assert describe(cause) == (
        f"OUTPUT0 INT32: element 1 of 3 (byte 5 of its blob, byte {SIZE + 5} of the body): "
        "expected 02000000 (2), got 02010000 (258), bytes in wire order; 2 elements differ"
    )


def test_an_output_in_json_has_no_byte_in_the_body() -> None:
    cause = wrong_value(v2(answer(entry(data=[1, 2, 4]))), make_case(JSON))
    found = FirstDifference("OUTPUT0", "INT32", 2, 8, None, "03000000", "04000000", "3", "4")
    assert cause == WrongValue(found, elements=3, differing=1)
    assert describe(cause) == (
        "OUTPUT0 INT32: element 2 of 3: expected 03000000 (3), got 04000000 (4), bytes in wire "
        "order; 1 element differs"
    )


def test_floats_are_compared_bit_for_bit() -> None:
    case = make_case(model="identity/FP32", inputs=[{"shape": [2], "values": [-0.0, 1.0]}])
    output = answer(sized(8, shape=[2], datatype="FP32"))
    assert verdict(v2(output, struct.pack("<2f", -0.0, 1.0)), case).outcome is Outcome.PASS
    cause = wrong_value(v2(output, struct.pack("<2f", 0.0, 1.0)), case)
    found = FirstDifference("OUTPUT0", "FP32", 0, 3, ANY, "00000080", "00000000", "-0.0", "0.0")
    assert cause == WrongValue(found, elements=2, differing=1)


def test_bool_bytes_are_exact_unless_the_case_asks_for_truth() -> None:
    inputs = [{"shape": [3], "values": {"hex": "0002ff"}}]
    output = answer(sized(3, datatype="BOOL"))
    exact = make_case(model="identity/BOOL", inputs=inputs)
    truth = make_case(
        {"outcome": "success", "outputs": {"0": "binary"}, "compare": "truth"},
        model="identity/BOOL",
        inputs=inputs,
    )
    assert verdict(v2(output, b"\0\1\1"), truth).outcome is Outcome.PASS
    assert verdict(v2(output, b"\0\2\xff"), exact).outcome is Outcome.PASS
    for blob, case, element, differing in ((b"\0\1\1", exact, 1, 2), (b"\0\1\0", truth, 2, 1)):
        cause = wrong_value(v2(output, blob), case)
        assert (cause.difference.element, cause.elements, cause.differing) == (
            element, 3, differing,
        )  # fmt: skip


def test_values_that_numpy_cannot_print_are_named() -> None:
    case = make_case(model="identity/BF16", inputs=[{"shape": [1], "values": {"hex": "c07f"}}])
    output = answer(sized(2, shape=[1], datatype="BF16"))
    found = wrong_value(v2(output, from_values("BF16", [1.0])), case).difference
    assert (found.expected, found.expected_value) == ("c07f", "nan")
    assert (found.got, found.got_value) == ("803f", "1.0")


# Elements of BYTES.


def test_bytes_elements_are_named_by_index_and_offset() -> None:
    start = len(dump_json(answer(sized(12, shape=[2], datatype="BYTES"))))
    right = encode_bytes([b"ab", b"cd"])
    assert verdict(bytes_answer(right), STRINGS).outcome is Outcome.PASS
    other = wrong_element(encode_bytes([b"ab", b"cX"]))
    assert other == WrongBytesElement(
        difference=FirstDifference(
            "OUTPUT0", "BYTES", 1, 11, start + 11, "64", "58", "2 bytes, b'cd'", "2 bytes, b'cX'"
        ),
        elements=2,
        start=start + 6,
        at=1,
        expected_length=2,
        got_length=2,
        expected="64",
        got="58",
    )
    assert describe(other) == (
        f"OUTPUT0 BYTES: element 1 of 2 (from byte {start + 6} of the body): expected 2 bytes, "
        "got 2; from its byte 1: expected 64, got 58"
    )
    short = wrong_element(encode_bytes([b"ab", b"c"]))
    assert (short.difference.element, short.expected_length, short.got_length) == (1, 2, 1)
    assert (short.expected, short.got) == ("64", "(nothing)")


@pytest.mark.parametrize(
    ("datatype", "blob", "data"),
    [("BYTES", encode_bytes([b"ab", b"c"]), ["ab", "c"]), ("BOOL", b"\1\0", [True, False])],
)
def test_outputs_without_numbers_beside_a_float_that_is_none_are_left_alone(
    datatype: str, blob: bytes, data: list[object]
) -> None:
    check_no_other_number(Tensor("y", datatype, (2,), blob), data)


def test_a_bytes_element_of_another_length_differs_in_its_length() -> None:
    cause = wrong_element(encode_bytes([b"ab", b"c" + b"\xff" * 5000]))
    found = cause.difference
    assert (found.element, found.offset) == (1, 6)
    assert found.got == "ff" * 16
    assert cause.got == "ff" * 16 + "…"
    assert cause.got_length == 5001
    assert found.got_value.startswith("5001 bytes, b'c\\xff")
    assert len(found.got_value) < 100


def test_a_shape_that_disagrees_with_its_blob_is_called_so() -> None:
    output = {"name": "y", "datatype": "FP32", "shape": [1, 3]}
    with pytest.raises(Finding) as caught:
        read_tensor(output, 36, bytes(36), 0)
    words = describe(caught.value.cause)
    assert words.endswith(
        "got 36; the shape and binary_data_size disagree: these are bytes of [3, 3]"
    )


def test_elements_in_column_major_order_are_called_so() -> None:
    right = Tensor("OUTPUT0", "INT32", (2, 3), np.arange(6, dtype="<i4").tobytes())
    turned = np.arange(6, dtype="<i4").reshape(2, 3).tobytes("F")
    with pytest.raises(Finding) as found:
        compare_tensors(right, ReadOutput(msgspec.structs.replace(right, blob=turned), "binary", 0))
    assert found.value.cause.shows == "D10"
    assert "column-major" in str(found.value)


def test_elements_in_big_endian_order_are_called_so() -> None:
    right = Tensor("OUTPUT0", "FP32", (2,), np.array([1.5, 2.5], "<f4").tobytes())
    turned = np.array([1.5, 2.5], ">f4").tobytes()
    with pytest.raises(Finding) as found:
        compare_tensors(right, ReadOutput(msgspec.structs.replace(right, blob=turned), "binary", 0))
    assert found.value.cause.shows == "D3"
    assert "big-endian" in str(found.value)
