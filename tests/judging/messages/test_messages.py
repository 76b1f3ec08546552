"""Requests and responses are read strictly and within bounds; what breaks a rule is found."""

from __future__ import annotations

import gzip
import json
from typing import Literal
from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cases import JSON, REJECT, failure, make_case, verdict
from support.responses import BLOB, GOOD, GOOD_JSON, answer, entry, exchange_of, http, sized, v2
from v2_conformance.judging.messages.request import read_request
from v2_conformance.judging.messages.response_json import parse_noting
from v2_conformance.judging.observed.exchanges import observe
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.message import MessageError, dump_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.response import Ending

SIZE = len(dump_json(answer(sized())))
WHOLE = SIZE + len(BLOB)


@pytest.mark.parametrize(
    ("length", "cause"),
    [
        (SIZE - 1, kinds.HeaderLengthNotJson(SIZE - 1, ANY, SIZE)),
        (WHOLE, kinds.HeaderLengthNotJson(WHOLE, ANY, SIZE)),
        (WHOLE + 1, kinds.HeaderLengthPastBody(WHOLE + 1, WHOLE)),
        ("-1", kinds.InvalidHeaderLength("-1")),
        ("", kinds.InvalidHeaderLength("")),
        ("+5", kinds.InvalidHeaderLength("+5")),
        (f"{SIZE}, {SIZE}", kinds.InvalidHeaderLength(f"{SIZE}, {SIZE}")),
        ("\xb2", kinds.InvalidHeaderLength("\\xb2")),
    ],
)
def test_a_wrong_header_length_fails(length: object, cause: Cause) -> None:
    assert failure(v2(answer(sized()), BLOB, length=length)) == cause


def test_header_lengths_that_differ_or_are_missing_fail() -> None:
    text = dump_json(answer(sized()))
    different = http(text + BLOB, 200, (HEADER_LENGTH, SIZE), (HEADER_LENGTH, "\x80"))
    assert failure(different) == kinds.RepeatedHeaderLength((str(SIZE), "\\x80"))
    equal = http(text + BLOB, 200, (HEADER_LENGTH, SIZE), (HEADER_LENGTH, SIZE))
    assert verdict(equal).outcome is Outcome.PASS
    assert failure(http(text + BLOB)) == kinds.BodyNotJson(WHOLE, ANY)
    assert failure(http(text)) == kinds.BlobPastBody("OUTPUT0", 12, SIZE, SIZE)
    short = failure(v2(answer(sized()), BLOB[:-1]))
    assert short == kinds.BlobPastBody("OUTPUT0", 12, SIZE, SIZE + 11)


def test_what_follows_the_last_blob_or_the_json_is_left_over() -> None:
    cause = failure(v2(answer(sized()), BLOB, b"\0" * 4096))
    assert cause == kinds.LeftoverBytes(SIZE, len(BLOB), WHOLE + 4096)
    text = dump_json(answer(entry(data=[1, 2, 3])))
    outside = http(text + b" ", 200, (HEADER_LENGTH, len(text)))
    assert failure(outside, make_case(JSON)) == kinds.LeftoverBytes(len(text), 0, len(text) + 1)
    assert verdict(http(text + b" \n"), make_case(JSON)).outcome is Outcome.PASS
    assert verdict(GOOD + b"xy") == Verdict(Outcome.PASS)  # C5 has a case for that


def _invalid(problem: str) -> kinds.InvalidTensor:
    sign: Literal["element_count"] | None = "element_count" if ", got " in problem else None
    return kinds.InvalidTensor("OUTPUT0", "INT32", "[3]", problem, sign)


def _not_by_schema(problem: str) -> kinds.SchemaViolation:
    return kinds.SchemaViolation("response", "$.outputs[0].parameters.binary_data_size", problem)


_FOUR = "; the shape and binary_data_size disagree: these are bytes of [4]"


@pytest.mark.parametrize(
    ("size", "cause"),
    [
        (11, _invalid("expected 12 bytes for INT32 [3] (3 x 4), got 11")),
        (16, _invalid("expected 12 bytes for INT32 [3] (3 x 4), got 16" + _FOUR)),
        (12.5, _not_by_schema("12.5 is not of type 'integer'")),
        (-1, _not_by_schema("-1 is less than the minimum of 0")),
        (True, _not_by_schema("true is not of type 'integer'")),
        (2**63, kinds.BlobPastBody("OUTPUT0", 2**63, ANY, ANY)),
        (1e300, kinds.BlobPastBody("OUTPUT0", int(1e300), ANY, ANY)),
    ],
)
def test_a_wrong_declared_size_fails(size: object, cause: Cause) -> None:
    assert failure(v2(answer(sized(size)), BLOB, b"\0" * 4)) == cause


@pytest.mark.parametrize(
    ("order", "shows"),
    [("tfb", None), ("ftb", "O12"), ("bft", "O12"), ("btf", "O12"), ("fxb", "B2"), ("xtb", "B2"),
     ("vubft", "O12")],
)  # fmt: skip
def test_blobs_in_another_order_than_outputs_are_recognized(order: str, shows: str | None) -> None:
    blobs = {"t": b"\x04\0\0\0text", "f": b"\xff\xd5\xec\x3e", "b": b"\1\0", "x": b"no prefix"[:8]}
    blobs |= {"u": b"\0\1", "v": b"\1\1"}
    document = answer(
        *(
            sized(len(blobs[name]), name=name, datatype=datatype, shape=[count])
            for name, datatype, count in (
                ("t", "BYTES", 1),
                ("f", "FP32", 1),
                ("b", "BOOL", 2),
                ("u", "BOOL", 2),
                ("v", "BOOL", 2),
            )
            if name in "tfb" + order
        )
    )
    cause = failure(v2(document, *(blobs[name] for name in order)))
    assert cause.shows == (shows or "O13")  # the names are others than the case's
    assert ("in another order of the outputs" in describe(cause)) is (shows == "O12")


@pytest.mark.parametrize(
    ("size", "rest", "sign", "shows"),
    [
        (12, b"\n" + BLOB, "behind_json", "P5"),
        (12, BLOB + b"\n", "at_end", None),
        (12, BLOB + b"\0", None, None),
        (24, b"\1" * 24, "element_size", "D1"),
        (20, b"\1" * 20, "element_count", "O10"),
    ],
)
def test_a_newline_that_is_left_over_and_a_size_of_other_elements_are_recognized(
    size: int, rest: bytes, sign: str | None, shows: str | None
) -> None:
    cause = failure(v2(answer(sized(size)), rest))
    assert isinstance(cause, kinds.LeftoverBytes | kinds.InvalidTensor)
    found = cause.newline if isinstance(cause, kinds.LeftoverBytes) else cause.sign
    assert (found, cause.shows) == (sign, shows)


def test_an_output_with_a_size_is_binary_whatever_its_data() -> None:
    for data in ([1, 2, 3], [9], [], None):
        assert verdict(v2(answer(sized(data=data)), BLOB)).outcome is Outcome.PASS
    assert failure(v2(answer(sized(data=[9])), BLOB[::-1])).kind == "wrong_value"


def test_a_zero_element_output_needs_no_header_length_but_may_have_one() -> None:
    case, output = make_case(inputs=[{"shape": [0]}]), answer(sized(0, shape=[0]))
    size = len(dump_json(output))
    for length in (None, size):
        assert verdict(v2(output, length=length), case).outcome is Outcome.PASS
    wrong = failure(v2(output, length=size - 1), case)
    assert wrong == kinds.HeaderLengthNotJson(size - 1, ANY, size)


def _broken_at(path: str, problem: object = ANY) -> kinds.SchemaViolation:
    return kinds.SchemaViolation("response", path, problem)  # type: ignore[arg-type]


def _output(**members: object) -> bytes:
    return dump_json(answer(entry(**members)))


_HUGE = "element 2 is 2147483648, out of the range of INT32 (-2147483648 to 2147483647)"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (b'{"outputs": [], "x": NaN}', kinds.BodyNotJson(25, "NaN is not JSON")),
        (b'{"outputs": ["\xff"]}', kinds.BodyNotUtf8(18, 14)),
        (b'{"outputs": []}\xff', kinds.BodyNotJson(16, "the JSON is not UTF-8 at byte 15")),
        (b"[]", kinds.BodyNotJson(2, "expected a JSON object, got an array")),
        (b"", kinds.BodyNotJson(0, ANY)),
        (dump_json({}), _broken_at("$", "'outputs' is a required property")),
        (dump_json(answer(3)), _broken_at("$.outputs[0]")),
        (_output(data="x", shape=["3"]), _broken_at("$.outputs[0].shape[0]")),
        (_output(data=[1, 2, 3], datatype="INT33"), _broken_at("$.outputs[0].datatype")),
        (_output(data=[1, 2]), _invalid("`data`: expected 3 elements, got 2")),
        (_output(data=[1, 2, True]), _invalid("element 2 is true; expected INT32")),
        (_output(data=[1, 2, 2**31]), _invalid(_HUGE)),
        (_output(data=[1, 2, 3.5]), _invalid("element 2 is 3.5; expected an integer")),
        (_output(data=[1], shape=[1] * 5_000), kinds.TooManyDimensions("OUTPUT0", 5000)),
        *(
            (_output(data=[1], shape=shape),
             kinds.InvalidTensor("OUTPUT0", "INT32", f"{shape}"[:60] + "…", ANY, ANY))
            for shape in ([2**62] * 250, [10**4000, 10**4000])
        ),
    ],
    ids=range(16),
)  # fmt: skip
def test_json_that_is_not_strict_or_not_a_v2_response_fails(text: bytes, cause: Cause) -> None:
    assert failure(http(text), make_case(JSON)) == cause


def test_what_a_finding_quotes_is_short_and_printable() -> None:
    name = failure(v2(answer(entry(name="\x1b[31m\u202e" * 50_000, data=[1, 2, 3]))))
    assert name == kinds.MissingOutput("OUTPUT0", (("\\x1b[31m\\u202e" * 9)[:60] + "…",))


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
                assert observe(case, [read]) == observe(case, [read])


@pytest.mark.parametrize(
    "item", [b"{}", b"[]", b'{"a":1}', b'"a"', b"1"], ids=["{}", "[]", "member", "string", "number"]
)
def test_millions_of_values_are_refused_before_they_take_memory(item: bytes) -> None:
    text = b'{"data":[' + b",".join([item] * 1_600_000) + b"]}"
    with pytest.raises(MessageError, match="more values than any response needs"):
        parse_noting(text)


@pytest.mark.parametrize(
    "data",
    [[1] * (1 << 20), ["ab,c"] * 250_000, ['[{:,\\"' * 300_000], [[n] for n in range(100_000)]],
    ids=["a MiB of bytes", "strings", "marks in a string", "nested"],
)
def test_the_longest_tensors_are_read(data: list[object]) -> None:
    text = json.dumps({"data": data}).encode()
    assert parse_noting(text)[0] == {"data": data}


def test_a_tensor_of_64_mib_may_be_json() -> None:
    text = b'{"data":[' + b",".join([b"12345678"] * 2_000_000) + b"]}"
    assert len(parse_noting(text)[0]["data"]) == 2_000_000


@pytest.mark.timeout(60)
def test_a_string_that_never_ends_takes_no_time_for_each_quote_in_it() -> None:
    """Were every quote tried as the beginning of a string, this would take hours."""
    with pytest.raises(MessageError):
        parse_noting(b"{" * 300_000 + b'"' + b'\\"' * 2_000_000)


TEXT = b'{"id":"a","inputs":[]}'
CHUNKS = b"5\r\n{    \r\n1\r\n}\r\n0\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked"


def request(body: bytes = TEXT, *fields: bytes, target: bytes = b"/v2/models/m/infer") -> bytes:
    lines = [b"POST " + target + b" HTTP/1.1", b"Host: h", *fields]
    if not any(field.lower().startswith(b"transfer-encoding") for field in fields):
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*lines, b"", body])


def length(value: object) -> bytes:
    return f"{HEADER_LENGTH}: {value}".encode()


PLAIN_WITH_ID = [
    request(),
    request(TEXT + b"blob", length(len(TEXT))),
    request(gzip.compress(TEXT), b"Content-Encoding: gzip"),
    request(b"5\r\n" + TEXT[:5] + b"\r\n%x\r\n" % len(TEXT[5:]) + TEXT[5:] + b"\r\n0\r\n\r\n",
            CHUNKED),
    request(TEXT, b"Content-Type: \tapplication/json\t"),
    request(TEXT, b"X: " + b"a" * 3000, *(b"X-%d: 1" % n for n in range(40))),
]  # fmt: skip
PLAIN = [
    *PLAIN_WITH_ID,
    request(target=b"/v2/models/%6D%2d_%7E%30/infer"),
    request(CHUNKS, b"transfer-encoding:chunked"),
    request(b"B\r\nhello world\r\n0\r\n\r\n", CHUNKED),
]
NOT_PLAIN = [
    request()[:-1],
    request(b"zz\r\nabc\r\n0\r\n\r\n", CHUNKED),
    request(TEXT, b"Bad Name: x"),
    request(TEXT, b"X: " + b"a" * 4000),
    request(TEXT, *(b"X-%d: 1" % n for n in range(60))),
    *(request(target=b"/v2/models/%b/infer" % name)
      for name in (b"a%2Fb", b"a%0Ab", b"a%22%5cb", b"a%zz", b'"')),
    request(target=b"http://h/v2/models/m/infer"),
    request(TEXT, CHUNKED, b"Content-Length: 5"),
    *(request().replace(b"Host: h", host) for host in (b"host: \th", b"host: h ", b"Host:   h")),
    request().replace(b"Content-Length: 22", b"Content-Length: 22\t"),
    b"\r\n" + request(),
    request(CHUNKS, b"Transfer-Encoding: CHUNKED"),
    request(CHUNKS, b"Transfer-Encoding: chunked "),
    request(CHUNKS.replace(b"5\r", b"5;a=1\r"), CHUNKED),
    request(CHUNKS.replace(b"5\r", b"05\r"), CHUNKED),
    request(CHUNKS.replace(b"0\r", b"0;a\r"), CHUNKED),
    request(CHUNKS[:-2] + b"X-Checksum: 1\r\n\r\n", CHUNKED),
]  # fmt: skip
WITHOUT_ID = [
    *(request(text) for text in (b'{"id":""}', b'{"id":7}', rb'{"id":"a\u0000b"}')),
    *(request(text) for text in (b'{"inputs":[]}', b'{"id":"a","id":"b"}', b'{"id":"a"')),
    *(request(TEXT, length(value)) for value in (0, "+5", 99)),
    request(TEXT, length(len(TEXT)), length(5)),
    *(request(TEXT, b"Content-Encoding: " + coding) for coding in (b"gzip", b"br")),
    b"",
    b"nonsense\r\n\r\n",
]


@pytest.mark.parametrize("data", PLAIN_WITH_ID)
def test_the_id_of_a_request_is_found_in_every_form(data: bytes) -> None:
    assert read_request(data).id() == "a"


@pytest.mark.parametrize("data", WITHOUT_ID)
def test_an_id_on_which_servers_may_differ_is_none(data: bytes) -> None:
    assert read_request(data).id() is None


@pytest.mark.parametrize(("some", "plain"), [(PLAIN, True), (NOT_PLAIN, False)])
def test_plain_is_what_all_http_layers_pass_on(some: list[bytes], plain: bool) -> None:
    assert [data for data in some if read_request(data).plain is not plain] == []
