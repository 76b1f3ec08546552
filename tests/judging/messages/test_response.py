"""Responses are read strictly: header length, JSON, sizes; what breaks a rule is found with its
numbers."""

from __future__ import annotations

from typing import Literal
from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cases import JSON, REJECT, failure, make_case, verdict
from support.responses import BLOB, GOOD, GOOD_JSON, answer, entry, exchange_of, http, sized, v2
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.message import dump_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import (
    BlobPastBody,
    BodyNotJson,
    BodyNotUtf8,
    HeaderLengthNotJson,
    HeaderLengthPastBody,
    InvalidHeaderLength,
    InvalidTensor,
    LeftoverBytes,
    MissingOutput,
    RepeatedHeaderLength,
    SchemaViolation,
    TooManyDimensions,
    WrongStatus,
)
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.response import Ending

# Framing.

SIZE = len(dump_json(answer(sized())))
WHOLE = SIZE + len(BLOB)


@pytest.mark.parametrize(
    ("length", "cause"),
    [
        (SIZE - 1, HeaderLengthNotJson(SIZE - 1, ANY, SIZE)),
        (SIZE + 1, HeaderLengthNotJson(SIZE + 1, ANY, SIZE)),
        (0, HeaderLengthNotJson(0, ANY, SIZE)),
        (WHOLE, HeaderLengthNotJson(WHOLE, ANY, SIZE)),
        (WHOLE + 1, HeaderLengthPastBody(WHOLE + 1, WHOLE)),
        ("-1", InvalidHeaderLength("-1")),
        ("abc", InvalidHeaderLength("abc")),
        ("", InvalidHeaderLength("")),
        ("+5", InvalidHeaderLength("+5")),
        ("0x10", InvalidHeaderLength("0x10")),
        ("9" * 30, InvalidHeaderLength("9" * 30)),
        (f"{SIZE}, {SIZE}", InvalidHeaderLength(f"{SIZE}, {SIZE}")),
        ("\xb2", InvalidHeaderLength("\\xb2")),
    ],
)
def test_a_wrong_header_length_fails(length: object, cause: Cause) -> None:
    assert failure(v2(answer(sized()), BLOB, length=length)) == cause


def test_different_header_lengths_fail_and_equal_ones_do_not() -> None:
    body = dump_json(answer(sized())) + BLOB
    different = http(body, 200, (HEADER_LENGTH, SIZE), (HEADER_LENGTH, "\x80"))
    assert failure(different) == RepeatedHeaderLength((str(SIZE), "\\x80"))
    equal = http(body, 200, (HEADER_LENGTH, SIZE), (HEADER_LENGTH, SIZE))
    assert verdict(equal).outcome is Outcome.PASS


def test_a_missing_header_length_fails() -> None:
    with_blob = http(dump_json(answer(sized())) + BLOB)
    assert failure(with_blob) == BodyNotJson(WHOLE, ANY)
    without = http(dump_json(answer(sized())))
    assert failure(without) == BlobPastBody("OUTPUT0", 12, SIZE, SIZE)


@pytest.mark.parametrize("more", [b"\0", b"\0" * 4096])
def test_slack_after_the_last_blob_fails(more: bytes) -> None:
    cause = failure(v2(answer(sized()), BLOB, more))
    assert cause == LeftoverBytes(SIZE, len(BLOB), WHOLE + len(more))


def test_white_space_after_the_json_but_outside_its_length_is_slack() -> None:
    text = dump_json(answer(entry(data=[1, 2, 3])))
    outside = http(text + b" ", 200, (HEADER_LENGTH, len(text)))
    assert failure(outside, make_case(JSON)) == LeftoverBytes(len(text), 0, len(text) + 1)
    assert verdict(http(text + b" \n"), make_case(JSON)).outcome is Outcome.PASS


def test_a_short_blob_fails_with_its_offset() -> None:
    cause = failure(v2(answer(sized()), BLOB[:-1]))
    assert cause == BlobPastBody("OUTPUT0", 12, SIZE, SIZE + 11)


def _invalid(problem: str) -> InvalidTensor:
    sign: Literal["element_count"] | None = "element_count" if ", got " in problem else None
    return InvalidTensor("OUTPUT0", "INT32", "[3]", problem, sign)


def _not_by_schema(problem: str) -> SchemaViolation:
    return SchemaViolation("response", "$.outputs[0].parameters.binary_data_size", problem)


_FOUR = "; the shape and binary_data_size disagree: these are bytes of [4]"


@pytest.mark.parametrize(
    ("size", "cause"),
    [
        (11, _invalid("expected 12 bytes for INT32 [3] (3 x 4), got 11")),
        (16, _invalid("expected 12 bytes for INT32 [3] (3 x 4), got 16" + _FOUR)),
        (0, _invalid("expected 12 bytes for INT32 [3] (3 x 4), got 0")),
        (12.5, _not_by_schema("12.5 is not of type 'integer'")),
        (-1, _not_by_schema("-1 is less than the minimum of 0")),
        ("12", _not_by_schema("\"12\" is not of type 'integer'")),
        (True, _not_by_schema("true is not of type 'integer'")),
        (None, _not_by_schema("null is not of type 'integer'")),
        (2**63, BlobPastBody("OUTPUT0", 2**63, ANY, ANY)),
        (1e300, BlobPastBody("OUTPUT0", int(1e300), ANY, ANY)),
    ],
)
def test_a_wrong_declared_size_fails(size: object, cause: Cause) -> None:
    assert failure(v2(answer(sized(size)), BLOB, b"\0" * 4)) == cause


def test_length_that_is_a_text_is_shown_as_text() -> None:
    texts = b"row1row2"
    output = entry(datatype="BYTES", shape=[2], parameters={"binary_data_size": len(texts)})
    cause = failure(v2(answer(output), texts))
    assert "(0x31776f72), as its length says" in describe(cause)
    assert "the bytes of this length are the text 'row1'" in describe(cause)
    assert cause.shows == "B2"


@pytest.mark.parametrize(
    ("order", "shows"),
    [("tfb", None), ("ftb", "O12"), ("bft", "O12"), ("btf", "O12"), ("fxb", "B2"), ("xtb", "B2")],
)
def test_blobs_in_another_order_than_their_outputs_are_told_apart(
    order: str, shows: str | None
) -> None:
    blobs = {"t": b"\x04\0\0\0text", "f": b"\xff\xd5\xec\x3e", "b": b"\1\0", "x": b"no prefix"[:8]}
    outputs = [
        {
            **entry(datatype=datatype, shape=[count]),
            "name": name,
            "parameters": {"binary_data_size": len(blobs[name])},
        }
        for name, datatype, count in (("t", "BYTES", 1), ("f", "FP32", 1), ("b", "BOOL", 2))
    ]
    document = {
        **answer(),
        "outputs": [{k: v for k, v in one.items() if k != "data"} for one in outputs],
    }
    cause = failure(v2(document, *(blobs[name] for name in order)))
    assert cause.shows == (
        "O13" if shows is None else shows
    )  # the names are others than the case's
    assert ("in another order of the outputs" in describe(cause)) is (shows == "O12")


@pytest.mark.parametrize(
    ("body", "newline", "shows"),
    [
        ((b"\n", BLOB), "behind_json", "P5"),
        ((BLOB, b"\n"), "at_end", None),
        ((BLOB, b"\0"), None, None),
    ],
)
def test_newline_that_is_left_over_is_called_one(
    body: tuple[bytes, ...], newline: str | None, shows: str | None
) -> None:
    cause = failure(v2(answer(sized()), b"".join(body)))
    assert isinstance(cause, LeftoverBytes)
    assert (cause.newline, cause.shows) == (newline, shows)
    assert ("newline (0x0a)" in describe(cause)) is (newline is not None)


@pytest.mark.parametrize(
    ("size", "sign", "shows"), [(24, "element_size", "D1"), (20, "element_count", "O10")]
)
def test_size_of_other_elements_is_told_from_another_number(
    size: int, sign: str, shows: str
) -> None:
    cause = failure(v2(answer(sized(size)), b"\1" * size))
    assert isinstance(cause, InvalidTensor)
    assert (cause.sign, cause.shows) == (sign, shows)


def test_an_output_with_a_size_is_binary_whatever_its_data() -> None:
    for data in ([1, 2, 3], [9], [], None):
        assert verdict(v2(answer(sized(data=data)), BLOB)).outcome is Outcome.PASS
    assert failure(v2(answer(sized(data=[9])), BLOB[::-1])).kind == "wrong_value"


def test_bytes_after_the_response_fail_no_case_that_is_about_something_else() -> None:
    assert verdict(GOOD + b"xy") == Verdict(Outcome.PASS)


def test_a_zero_element_output_needs_no_header_length_but_may_have_one() -> None:
    case = make_case(inputs=[{"shape": [0]}])
    output = answer(sized(0, shape=[0]))
    size = len(dump_json(output))
    assert verdict(v2(output), case).outcome is Outcome.PASS
    assert verdict(v2(output, length=size), case).outcome is Outcome.PASS
    wrong = failure(v2(output, length=size - 1), case)
    assert wrong == HeaderLengthNotJson(size - 1, ANY, size)


# The JSON.


def _broken_at(path: str, problem: object = ANY) -> SchemaViolation:
    return SchemaViolation("response", path, problem)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (b'{"outputs": [], "x": NaN}', BodyNotJson(25, "NaN is not JSON")),
        (b'{"outputs": ["\xff"]}', BodyNotUtf8(18, 14)),
        (b'{"outputs": []}\xff', BodyNotJson(16, "the JSON is not UTF-8 at byte 15")),
        (b"[]", BodyNotJson(2, "expected a JSON object, got an array")),
        (b"<html>", BodyNotJson(6, "not JSON at byte 0: Expecting value")),
        (b"", BodyNotJson(0, ANY)),
        (dump_json({}), _broken_at("$", "'outputs' is a required property")),
        (dump_json(answer(3)), _broken_at("$.outputs[0]")),
        (
            dump_json(answer({"name": "OUTPUT0"})),
            _broken_at("$.outputs[0]", "'shape' is a required property"),
        ),
        (dump_json(answer(entry(data="x", shape=["3"]))), _broken_at("$.outputs[0].shape[0]")),
        (dump_json(answer(entry(data=[], shape=[-1]))), _broken_at("$.outputs[0].shape[0]")),
        (
            dump_json(answer(entry(data=[1, 2, 3], datatype="INT33"))),
            _broken_at("$.outputs[0].datatype"),
        ),
        (dump_json(answer(entry(data=[1, 2]))), _invalid("`data`: expected 3 elements, got 2")),
        (
            dump_json(answer(entry(data=[1, 2, True]))),
            _invalid("element 2 is true; expected INT32"),
        ),
        (
            dump_json(answer(entry(data=[1, 2, 2**31]))),
            _invalid(
                "element 2 is 2147483648, out of the range of INT32 (-2147483648 to 2147483647)"
            ),
        ),
        (
            dump_json(answer(entry(data=[1, 2, 3.5]))),
            _invalid("element 2 is 3.5; expected an integer"),
        ),
        (
            dump_json(answer(entry(data=[1], shape=[2**62] * 250))),
            InvalidTensor("OUTPUT0", "INT32", f"{[2**62] * 250}"[:60] + "…", ANY, ANY),
        ),
        (dump_json(answer(entry(data=[1], shape=[1] * 5_000))), TooManyDimensions("OUTPUT0", 5000)),
        (
            dump_json(answer(entry(data=[1], shape=[10**4000, 10**4000]))),
            InvalidTensor("OUTPUT0", "INT32", f"{[10**4000]}"[:60] + "…", ANY, ANY),
        ),
    ],
    ids=range(19),
)
def test_json_that_is_not_strict_or_not_a_v2_response_fails(text: bytes, cause: Cause) -> None:
    assert failure(http(text), make_case(JSON)) == cause


def test_what_a_finding_quotes_is_short_and_printable() -> None:
    name = failure(v2(answer(entry(name="\x1b[31m\u202e" * 50_000, data=[1, 2, 3]))))
    assert name == MissingOutput("OUTPUT0", (("\\x1b[31m\\u202e" * 9)[:60] + "…",))
    datatype = failure(v2(answer(entry(name="x\n", datatype="\x9b"))))
    assert datatype == _broken_at("$.outputs[0].datatype")
    body = failure(http(b"\x1b[2J\n" * 1000, 500))
    assert body == WrongStatus("200", 500, "\\x1b[2J\\n" * 40 + "…")
    length = failure(http(b"{}", 200, (HEADER_LENGTH, "\x9b31m")))
    assert length == InvalidHeaderLength("\\x9b31m")


# Anything.

SEEDS = (GOOD, GOOD_JSON, v2(answer(sized(), entry(name="X", data=[[1.5], [None]])), BLOB))


@given(st.sampled_from(SEEDS), st.integers(60, 400), st.binary(max_size=12), st.integers(0, 9))
@settings(max_examples=30)
def test_no_mutation_makes_judge_raise(seed: bytes, at: int, new: bytes, removed: int) -> None:
    mutated = seed[:at] + new + seed[at + removed :]
    for ending in (Ending.COMPLETE, Ending.CLOSED):
        for case in (make_case(), make_case(JSON), make_case(REJECT)):
            read = exchange_of(mutated, ending)
            if read.response is not None or ending is not Ending.COMPLETE:
                assert isinstance(verdict(mutated, case, ending), Verdict)
