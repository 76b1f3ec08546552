"""Verdicts on accepted requests: each break is found, and said so that a vendor can act on it."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cases import BLOB, GOOD, GOOD_JSON, JSON, REJECT, answer, entry, failed, sized, verdict
from support.servers import http, make_case, v2
from v2_conformance.judging.judge import (
    PASS,
    Verdict,
)
from v2_conformance.protocol.datatypes import encode_bytes, from_values
from v2_conformance.protocol.message import HEADER_LENGTH, dump_json
from v2_conformance.wire.http1 import CLOSED, COMPLETE, Transcript


def test_the_exact_answer_passes_in_the_wanted_form() -> None:
    assert verdict(GOOD) == Verdict(PASS, "")
    assert verdict(GOOD_JSON, make_case(JSON)).outcome == PASS
    failed(GOOD_JSON, "OUTPUT0 came in json form, wanted binary")
    failed(GOOD, "OUTPUT0 came in binary form, wanted json", case=make_case(JSON))
    any_form = make_case({"outcome": "success", "outputs": {"0": "any"}})
    assert verdict(GOOD, any_form).outcome == verdict(GOOD_JSON, any_form).outcome == PASS


def test_a_chunked_or_close_framed_answer_passes_too() -> None:
    head, _, body = GOOD.partition(b"\r\n\r\n")
    fields = b"\r\n".join(x for x in head.split(b"\r\n") if b"Content-Length: 1" not in x[:17])
    assert verdict(fields + b"\r\n\r\n" + body).outcome == PASS
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    assert verdict(fields + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked).outcome == PASS


def test_a_failure_says_what_was_sent() -> None:
    failed(http(b"{}", 500), "identity/INT32", "[3] binary", "12 blob bytes")


# Framing.

SIZE = len(dump_json(answer(sized())))


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (SIZE - 1, [f"first {SIZE - 1} bytes", f"ends after {SIZE} bytes"]),
        (SIZE + 1, [f"first {SIZE + 1} bytes", f"ends after {SIZE} bytes"]),
        (0, ["first 0 bytes"]),
        (SIZE + 12, [f"first {SIZE + 12} bytes"]),
        (SIZE + 13, [f"{HEADER_LENGTH} is {SIZE + 13}", f"has {SIZE + 12} bytes"]),
        ("-1", ["not a decimal number"]),
        ("abc", ["'abc', not a decimal number"]),
        ("", ["not a decimal number"]),
        ("+5", ["not a decimal number"]),
        ("0x10", ["not a decimal number"]),
        ("9" * 30, ["not a decimal number"]),
        (f"{SIZE}, {SIZE}", ["not a decimal number"]),
        ("\xb2", ["not a decimal number"]),
    ],
)
def test_a_wrong_header_length_fails(length: object, words: list[str]) -> None:
    failed(v2(answer(sized()), BLOB, length=length), *words)


def test_different_header_lengths_fail_and_equal_ones_do_not() -> None:
    body = dump_json(answer(sized())) + BLOB
    failed(http(body, 200, (HEADER_LENGTH, SIZE), (HEADER_LENGTH, "\x80")), "2 times")
    assert verdict(http(body, 200, (HEADER_LENGTH, SIZE), (HEADER_LENGTH, SIZE))).outcome == PASS


def test_a_missing_header_length_fails() -> None:
    failed(http(dump_json(answer(sized())) + BLOB), f"no {HEADER_LENGTH} was sent", "must be JSON")
    failed(http(dump_json(answer(sized()))), "declares 12 bytes", "ends after")


@pytest.mark.parametrize("more", [b"\0", b"\0" * 4096])
def test_slack_after_the_last_blob_fails(more: bytes) -> None:
    failed(v2(answer(sized()), BLOB, more), f"{len(more)} bytes are left over", f"JSON {SIZE} +")


def test_white_space_after_the_json_but_outside_its_length_is_slack() -> None:
    text = dump_json(answer(entry(data=[1, 2, 3])))
    failed(http(text + b" ", 200, (HEADER_LENGTH, len(text))), "1 bytes are left over",
           case=make_case(JSON))  # fmt: skip
    assert verdict(http(text + b" \n"), make_case(JSON)).outcome == PASS


def test_a_short_blob_fails_with_its_offset() -> None:
    failed(v2(answer(sized()), BLOB[:-1]), f"declares 12 bytes from byte {SIZE}",
           f"ends after {SIZE + 11} bytes")  # fmt: skip


@pytest.mark.parametrize("size", [11, 16, 0, 12.5, -1, "12", True, None, 2**63, 1e300])
def test_a_wrong_declared_size_fails(size: object) -> None:
    failed(
        v2(answer(sized(size)), BLOB, b"\0" * 4),
        "OUTPUT0" if type(size) is int and size != -1 else "",
    )


def test_data_and_size_together_fail_and_so_does_neither() -> None:
    failed(v2(answer(sized(data=[1, 2, 3])), BLOB), "OUTPUT0 has both")
    failed(v2(answer(entry())), "OUTPUT0 has neither")


def test_bytes_after_the_response_fail() -> None:
    failed(GOOD + b"xy", "2 bytes came after the end of the response")


def test_a_zero_element_output_needs_no_header_length_but_may_have_one() -> None:
    case = make_case(inputs=[{"shape": [0]}])
    output = answer(sized(0, shape=[0]))
    assert verdict(v2(output), case).outcome == PASS
    assert verdict(v2(output, length=len(dump_json(output))), case).outcome == PASS
    failed(v2(output, length=len(dump_json(output)) - 1), "not exactly one JSON", case=case)


# The JSON.


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"outputs": [], "x": NaN}', "NaN is not JSON"),
        (b'{"outputs": [], "outputs": []}', "'outputs' twice"),
        (b'\xef\xbb\xbf{"outputs": []}', "BOM"),
        (b'{"outputs": ["\xff"]}', "not UTF-8 at byte 14"),
        (b"[]", "a JSON list"),
        (b"<html>", "not JSON at byte 0"),
        (b"", "0 bytes"),
        (b"[" * 100_000, "nested deeper"),
        (b'{"outputs": [' + b"9" * 10_000 + b"]}", ""),
        (dump_json({}), "'outputs' is a required property"),
        (dump_json(answer(3)), "$.outputs[0]"),
        (dump_json(answer({"name": "OUTPUT0"})), "required property"),
        (dump_json(answer(entry(data=None))), "$.outputs[0].data"),
        (dump_json(answer(entry(data="x", shape=["3"]))), "$.outputs[0]"),
        (dump_json(answer(entry(data=[], shape=[-1]))), "$.outputs[0].shape[0]"),
        (dump_json(answer(entry(data=[1, 2, 3], datatype="INT33"))), "INT33"),
        (dump_json(answer(entry(data=[1, 2]))), "2 elements where the shape has 3"),
        (dump_json(answer(entry(data=[1, 2, True]))), "element 2 is True, not a INT32 value"),
        (dump_json(answer(entry(data=[1, 2, 2**31]))), "element 2 is 2147483648, out of"),
        (dump_json(answer(entry(data=[1, 2, 3.5]))), "element 2 is 3.5, not an integer"),
        (dump_json(answer(entry(data=[1], shape=[2**62] * 250))), "1 elements"),
        (dump_json(answer(entry(data=[1], shape=[1] * 5_000))), "5000 dimensions"),
        (dump_json(answer(entry(data=[1], shape=[10**4000, 10**4000]))), "1 elements"),
    ],
)
def test_json_that_is_not_strict_or_not_a_v2_response_fails(text: bytes, words: str) -> None:
    failed(http(text), words, case=make_case(JSON))


def test_what_a_message_quotes_is_short_and_printable() -> None:
    failed(v2(answer(entry(name="\x1b[31m\u202e" * 50_000, data=[1, 2, 3]))), "is missing")
    failed(v2(answer(entry(name="x\n", datatype="\x9b"))))
    failed(http(b"\x1b[2J\n" * 1000, 500), "500 came")
    failed(http(b"{}", 200, (HEADER_LENGTH, "\x9b31m")), "not a decimal number")


# Values.


def test_a_wrong_element_is_named_with_index_offsets_and_both_values_in_hex() -> None:
    came = struct.pack("<3i", 1, 258, 4)
    failed(
        v2(answer(sized()), came), "element 1 of 3", f"byte 5 of its blob, byte {SIZE + 5} of the",
        "is 02010000 (258)", "wanted 02000000 (2)", "2 elements differ",
    )  # fmt: skip
    message = failed(
        v2(answer(entry(data=[1, 2, 4]))), "element 2 of 3", "04000000 (4)", "wanted 03000000 (3)",
        "1 elements differ", case=make_case(JSON),
    )  # fmt: skip
    assert "of the body" not in message


def test_floats_are_compared_bit_for_bit() -> None:
    case = make_case(model="identity/FP32", inputs=[{"shape": [2], "values": [-0.0, 1.0]}])
    output = answer(sized(8, shape=[2], datatype="FP32"))
    assert verdict(v2(output, struct.pack("<2f", -0.0, 1.0)), case).outcome == PASS
    failed(v2(output, struct.pack("<2f", 0.0, 1.0)), "element 0 of 2", "00000000 (0.0)",
           "wanted 00000080 (-0.0)", case=case)  # fmt: skip


def test_bytes_elements_are_named_by_index_and_offset() -> None:
    case = make_case(model="identity/BYTES", inputs=[{"shape": [2], "values": ["ab", "cd"]}])

    def bytes_answer(blob: bytes) -> bytes:
        return v2(answer(sized(len(blob), shape=[2], datatype="BYTES")), blob)

    start = len(dump_json(answer(sized(12, shape=[2], datatype="BYTES"))))
    assert verdict(bytes_answer(encode_bytes([b"ab", b"cd"])), case).outcome == PASS
    failed(bytes_answer(encode_bytes([b"ab", b"cX"])), "element 1 of 2",
           f"from byte {start + 6} of the body", "from its byte 1: 58, wanted 64",
           case=case)  # fmt: skip
    failed(bytes_answer(encode_bytes([b"ab", b"c"])), "element 1 of 2", "has 1 bytes, wanted 2",
           "(nothing), wanted 64", case=case)  # fmt: skip
    failed(bytes_answer(encode_bytes([b"ab"])), "1 BYTES elements where the shape has 2", case=case)
    failed(bytes_answer(b"\2\0\0\0ab\xff\0\0\0cd"), "element 1 at byte 6", case=case)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"shape": [3, 1]}, "shape [3, 1] came, wanted [3]"),
        ({"datatype": "UINT32"}, "datatype UINT32 came, wanted INT32"),
        ({"name": "OTHER"}, "OUTPUT0 is missing; the response has ['OTHER']"),
    ],
)
def test_another_shape_datatype_or_name_fails(members: dict[str, Any], words: str) -> None:
    failed(v2(answer(sized(**members)), BLOB), words)


def test_an_output_that_comes_twice_must_be_right_twice() -> None:
    assert verdict(v2(answer(sized(), sized()), BLOB, BLOB)).outcome == PASS
    failed(v2(answer(sized(), sized()), BLOB, BLOB[::-1]), "element 0 of 3", "3 elements differ")


def test_bool_bytes_are_exact_unless_the_case_asks_for_truth() -> None:
    inputs = [{"shape": [3], "values": {"hex": "0002ff"}}]
    output = answer(sized(3, datatype="BOOL"))
    exact = make_case(model="identity/BOOL", inputs=inputs)
    truth = make_case(
        {"outcome": "success", "outputs": {"0": "binary"}, "compare": "truth"},
        model="identity/BOOL",
        inputs=inputs,
    )
    assert verdict(v2(output, b"\0\1\1"), truth).outcome == PASS
    assert verdict(v2(output, b"\0\2\xff"), exact).outcome == PASS
    failed(v2(output, b"\0\1\1"), "element 1 of 3", "2 elements differ", case=exact)
    failed(v2(output, b"\0\1\0"), "element 2 of 3", "1 elements differ", case=truth)


def test_values_that_numpy_cannot_print_are_named() -> None:
    case = make_case(model="identity/BF16", inputs=[{"shape": [1], "values": {"hex": "c07f"}}])
    output = answer(sized(2, shape=[1], datatype="BF16"))
    failed(v2(output, from_values("BF16", [1.0])), "803f (1.0)", "wanted c07f (nan)", case=case)


SEEDS = (GOOD, GOOD_JSON, v2(answer(sized(), entry(name="X", data=[[1.5], [None]])), BLOB))


@given(st.sampled_from(SEEDS), st.integers(60, 400), st.binary(max_size=12), st.integers(0, 9))
@settings(max_examples=30)
def test_no_mutation_of_a_response_makes_the_judge_raise(
    seed: bytes, at: int, new: bytes, removed: int
) -> None:
    mutated = seed[:at] + new + seed[at + removed :]
    for ending in (COMPLETE, CLOSED):
        for case in (make_case(), make_case(JSON), make_case(REJECT)):
            came = Transcript(b"", 0, mutated, ending)
            if came.response is not None or ending != COMPLETE:
                verdict(mutated, case, ending)
