"""Values are compared bit for bit, and each check that a case asks for by name decides."""

from __future__ import annotations

import itertools
import struct
from dataclasses import replace
from typing import Any
from unittest.mock import ANY

import msgspec
import numpy as np
import pytest

from support.cases import JSON, REJECT, failure, make_case, make_get, verdict
from support.responses import BLOB, GOOD, GOOD_JSON, answer, entry, http, sized, v2
from v2_conformance.judging.checks import CHECKS
from v2_conformance.judging.compare import check_no_other_number, compare_tensors
from v2_conformance.judging.messages.response import ReadOutput
from v2_conformance.judging.verdict import Finding, Verdict
from v2_conformance.protocol.content_codings import encode
from v2_conformance.protocol.datatypes import encode_bytes
from v2_conformance.protocol.message import Tensor, dump_json
from v2_conformance.resources import schema_document
from v2_conformance.suite.cases import GetCase, RequestCase
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import Cause, NotDone
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import Level

SIZE = len(dump_json(answer(sized())))
STRINGS = make_case(model="identity/BYTES", inputs=[{"shape": [2], "values": ["ab", "cd"]}])


def wrong_value(received: bytes, case: RequestCase | None = None) -> kinds.WrongValue:
    cause = failure(received, case)
    assert isinstance(cause, kinds.WrongValue)
    return cause


def wrong_element(blob: bytes) -> kinds.WrongBytesElement:
    cause = failure(bytes_answer(blob), STRINGS)
    assert isinstance(cause, kinds.WrongBytesElement)
    return cause


def bytes_answer(blob: bytes) -> bytes:
    return v2(answer(sized(len(blob), shape=[2], datatype="BYTES")), blob)


def test_another_shape_or_datatype_fails() -> None:
    shape = v2(answer(sized(shape=[3, 1])), BLOB)
    assert failure(shape) == kinds.WrongShape("OUTPUT0", (3,), (3, 1))
    datatype = v2(answer(sized(datatype="UINT32")), BLOB)
    assert failure(datatype) == kinds.WrongDatatype("OUTPUT0", "INT32", "UINT32")


@pytest.mark.parametrize(
    ("received", "case", "difference", "differing"),
    [
        (v2(answer(sized()), struct.pack("<3i", 1, 258, 4)), make_case(),
         ("INT32", 1, 5, SIZE + 5, "02000000", "02010000", "2", "258"), 2),
        (v2(answer(entry(data=[1, 2, 4]))), make_case(JSON),
         ("INT32", 2, 8, None, "03000000", "04000000", "3", "4"), 1),
    ],
)  # fmt: skip
def test_a_wrong_element_is_named_with_index_offsets_and_both_values_in_hex(
    received: bytes, case: RequestCase, difference: Any, differing: int
) -> None:
    found = FirstDifference("OUTPUT0", *difference)
    assert wrong_value(received, case) == kinds.WrongValue(found, elements=3, differing=differing)


def test_floats_are_compared_bit_for_bit() -> None:
    case = make_case(model="identity/FP32", inputs=[{"shape": [2], "values": [-0.0, 1.0]}])
    output = answer(sized(8, shape=[2], datatype="FP32"))
    assert verdict(v2(output, struct.pack("<2f", -0.0, 1.0)), case).outcome is Outcome.PASS
    cause = wrong_value(v2(output, struct.pack("<2f", 0.0, 1.0)), case)
    found = FirstDifference("OUTPUT0", "FP32", 0, 3, ANY, "00000080", "00000000", "-0.0", "0.0")
    assert cause == kinds.WrongValue(found, elements=2, differing=1)


def test_what_a_model_may_have_rounded_names_the_tolerance_that_allows_it() -> None:
    values = np.array([0.25, 3, np.nan], "<f4")
    expected = Tensor("Y", "FP32", (3,), values.tobytes())
    for off, rtol in ((3e-7, 1e-6), (5e-4, 1e-3), (1e-2, None)):
        other = msgspec.structs.replace(expected, blob=(values * np.float32(1 + off)).tobytes())
        with pytest.raises(Finding) as error:
            compare_tensors(expected, ReadOutput(other, "json", 0), compare="computed")
        assert getattr(error.value.cause, "rtol", 0) == rtol


def test_bool_bytes_are_exact_unless_the_case_asks_for_truth() -> None:
    inputs = [{"shape": [3], "values": {"hex": "0002ff"}}]
    output = answer(sized(3, datatype="BOOL"))
    exact = make_case(model="identity/BOOL", inputs=inputs)
    truth = replace(exact, expect={**exact.expect, "compare": "truth"})
    assert verdict(v2(output, b"\0\1\1"), truth).outcome is Outcome.PASS
    assert verdict(v2(output, b"\0\2\xff"), exact).outcome is Outcome.PASS
    one, two = wrong_value(v2(output, b"\0\1\1"), exact), wrong_value(v2(output, b"\0\1\0"), truth)
    assert (one.difference.element, one.differing) == (1, 2)
    assert (two.difference.element, two.differing) == (2, 1)


def test_bytes_elements_are_named_by_index_and_offset() -> None:
    start = len(dump_json(answer(sized(12, shape=[2], datatype="BYTES"))))
    right = encode_bytes([b"ab", b"cd"])
    assert verdict(bytes_answer(right), STRINGS).outcome is Outcome.PASS
    other = wrong_element(encode_bytes([b"ab", b"cX"]))
    difference = FirstDifference(
        "OUTPUT0", "BYTES", 1, 11, start + 11, "64", "58", "2 bytes, b'cd'", "2 bytes, b'cX'"
    )
    assert other == kinds.WrongBytesElement(difference, 2, start + 6, 1, 2, 2, "64", "58")
    short = wrong_element(encode_bytes([b"ab", b"c"]))
    assert (short.difference.element, short.expected_length, short.got_length) == (1, 2, 1)
    assert (short.expected, short.got) == ("64", "(nothing)")


def test_outputs_without_numbers_beside_a_float_that_is_none_are_left_alone() -> None:
    texts = encode_bytes([b"ab", b"c"])
    check_no_other_number(Tensor("y", "BYTES", (2,), texts), ["ab", "c"])
    check_no_other_number(Tensor("y", "BOOL", (2,), b"\1\0"), [True, False])


def test_a_bytes_element_of_another_length_differs_in_its_length() -> None:
    cause = wrong_element(encode_bytes([b"ab", b"c" + b"\xff" * 5000]))
    found = cause.difference
    assert (found.element, found.offset, found.got) == (1, 6, "ff" * 16)
    assert (cause.got, cause.got_length) == ("ff" * 16 + "…", 5001)
    assert found.got_value.startswith("5001 bytes, b'c\\xff")
    assert len(found.got_value) < 100


ROWS = np.arange(6, dtype="<i4").reshape(2, 3)
FLOATS = np.array([1.5, 2.5], "<f4")


@pytest.mark.parametrize(
    ("right", "blob", "shows", "words"),
    [
        (Tensor("Y", "INT32", (2, 3), ROWS.tobytes()), ROWS.tobytes("F"), "D10", "column-major"),
        (Tensor("Y", "INT32", (2, 3), ROWS.tobytes("F")), ROWS.tobytes(), "D10", "column-major"),
        (Tensor("Y", "FP32", (2,), FLOATS.tobytes()), FLOATS.astype(">f4").tobytes(), "D3",
         "big-endian"),
        (Tensor("Y", "BOOL", (2,), b"\0\1"), b"\0\xff", "D6", "true is byte 1"),
        (Tensor("Y", "UINT64", (1,), b"\1" * 8), b"\0" + b"\1" * 7, "D15", "to a double"),
        (Tensor("Y", "INT64", (1,), b"\1" * 8), b"\2" + b"\1" * 7, None, "expected"),
    ],
)  # fmt: skip
def test_what_wrong_elements_show_by_themselves_is_said(
    right: Tensor, blob: bytes, shows: str | None, words: str
) -> None:
    with pytest.raises(Finding) as found:
        compare_tensors(right, ReadOutput(msgspec.structs.replace(right, blob=blob), "binary", 0))
    assert found.value.cause.shows == shows
    assert words in str(found.value)


ERROR_BODY = b'{"error": "no"}'
BINARY_TYPE = kinds.WrongContentType("application/octet-stream or another binary type", None)
JSON_TYPE = "application/json or another JSON type"
REPEATED = dump_json(answer(sized())).replace(b"{", b'{"id":"x","id":"x",', 1)


def checked(*checks: str, level: Level = "MUST", **request: Any) -> RequestCase:
    expect = {"outcome": "success", "outputs": {"0": "any"}, "checks": list(checks)}
    return make_case(expect, level=level, **request)


METADATA = make_get("/v2", {"outcome": "success", "checks": ["lists_extension"]})
GZIPPED = http(
    encode("gzip", dump_json(answer(entry(data=[1, 2, 3])))), 200, ("Content-Encoding", "gzip")
)
NOT_FINITE = make_case(
    {
        "outcome": "either",
        "outputs": {"0": "json"},
        "compare": "nothing",
        "not_json": "unsupported",
        "checks": ["no_other_number"],
    },
    model="identity/FP32",
    inputs=[{"shape": [3], "values": {"hex": "0000803f 000080ff 0000c07f"}}],
)
CHECKED: list[tuple[RequestCase | GetCase, bytes, bytes, Cause]] = [
    (checked("binary_type"), GOOD, GOOD.replace(b"Content-Type: ", b"X-Type: ", 1), BINARY_TYPE),
    (checked("json_type"), GOOD_JSON, GOOD,
     kinds.WrongContentType(JSON_TYPE, "application/octet-stream")),
    (checked("unique_members"), GOOD, v2(REPEATED, BLOB), kinds.RepeatedMember("id")),
    (checked("model_name"), v2(answer(sized(), model_name="identity_int32"), BLOB),
     v2(answer(sized(), model_name="other"), BLOB),
     kinds.WrongModelName("identity_int32", "other")),
    (checked("model_name_sent"), v2(answer(sized(), model_name="identity_int32"), BLOB),
     v2({"outputs": [sized()]}, BLOB), kinds.WrongModelName("identity_int32", None)),
    (checked("model_version", version="7"), v2(answer(sized(), model_version="7"), BLOB),
     v2(answer(sized(), model_version="1"), BLOB), kinds.WrongModelVersion("7", "1")),
    (checked("data_or_size"), GOOD, v2(answer(sized(data=[1, 2, 3])), BLOB),
     kinds.DataAndSize("OUTPUT0")),
    (checked("one_form"), v2(answer(sized(), sized()), BLOB, BLOB),
     v2(answer(sized(), entry(name="OTHER", data=[1, 2, 3])), BLOB),
     kinds.MixedForms(("OUTPUT0",), ("OTHER",))),
    (checked("header_length_sent"), GOOD, GOOD_JSON, kinds.HeaderLengthMissing()),
    (checked("no_blob_announced"), GOOD_JSON, v2(answer(sized()), BLOB),
     kinds.HeaderLengthUnexpected(str(SIZE))),
    (checked("id_echo", id="é"), v2(answer(sized(), id="é"), BLOB), GOOD,
     kinds.WrongId("'\\xe9'", "None")),
    (replace(checked("own_id", id="mine"), foreign_ids=("theirs",)),
     v2(answer(sized(), id="mine"), BLOB), v2(answer(sized(), id="theirs"), BLOB),
     kinds.WrongId("'mine'", "'theirs'")),
    (checked("only_requested"), GOOD, v2(answer(sized(), entry(name="X", data=[1, 2, 3])), BLOB),
     kinds.UnrequestedOutputs(("X",))),
    (checked("content_length_sent"), GOOD, GOOD.replace(b"Content-Length: ", b"X: ", 1),
     kinds.NoContentLength("close")),
    (checked("not_encoded", accept_encoding="gzip"), GOOD, GZIPPED,
     kinds.UnrequestedCoding(("gzip",), ())),
    (NOT_FINITE, v2(answer(entry(datatype="FP32", data=[1, "-Infinity", None]))),
     v2(answer(entry(datatype="FP32", data=[[1, -2.0], [0]]))),
     kinds.WrongValue(
         FirstDifference("OUTPUT0", "FP32", 1, 4, None, "000080ff", "000000c0", "-inf", "-2.0"),
         3, 2)),
    (make_case({**REJECT, "checks": ["client_error"]}),
     http(ERROR_BODY, 404), http(ERROR_BODY, 500),
     kinds.WrongStatus("4xx", 500, ERROR_BODY.decode())),
    (make_case({**REJECT, "checks": ["error_body"]}),
     http(ERROR_BODY, 404), http(b"oops", 404),
     kinds.InvalidErrorBody(404, "not JSON at byte 0: Expecting value", "oops")),
    (make_case({**REJECT, "checks": ["error_status"]}),
     http(b"", 500), http(ERROR_BODY, 200), kinds.AcceptedInvalidRequest(200, ERROR_BODY.decode())),
    (make_case({**REJECT, "checks": ["error_type"]}),
     http(ERROR_BODY, 400, ("Content-Type", "application/json")),
     http(ERROR_BODY, 400, ("Content-Type", "text/html")),
     kinds.WrongContentType(JSON_TYPE, "text/html")),
    (METADATA,
     http(b'{"name": "n", "version": "1", "extensions": ["binary_tensor_data"]}'),
     http(b'{"name": "n", "version": "1", "extensions": ["other"]}'),
     kinds.ExtensionNotListed(("other",))),
]  # fmt: skip


@pytest.mark.parametrize(("case", "good", "bad", "cause"), CHECKED, ids=lambda value: "")
def test_a_check_decides(
    case: RequestCase | GetCase, good: bytes, bad: bytes, cause: Cause
) -> None:
    assert verdict(good, case).outcome is Outcome.PASS
    assert failure(bad, case) == cause


def test_every_check_is_tested_and_named_in_the_schema_of_cases() -> None:
    assert {name for case, _, _, _ in CHECKED for name in case.expect["checks"]} == (
        CHECKS.keys() - {"encoded"}  # it cannot fail, see below
    )
    named = schema_document("case")["$defs"]["expect"]["properties"]["checks"]["items"]["enum"]
    assert set(named) == set(CHECKS)


def test_a_response_that_is_not_encoded_is_unsupported_for_a_check_that_it_is() -> None:
    case = checked("encoded", accept_encoding="gzip")
    found = verdict(GOOD, case)
    assert (found.outcome, found.cause) == (Outcome.UNSUPPORTED, kinds.NotEncoded())
    assert verdict(GZIPPED, case) == Verdict(Outcome.PASS)


@pytest.mark.parametrize(
    "data", [[1, 10**400, "NaN"], [1, -1e39, True], [], {"a": [1]}, "x", [1, [[]], 2]]
)
def test_any_non_finite_number_stands_for_none(data: object) -> None:
    received = v2(answer(entry(datatype="FP32", data=data)))
    found = verdict(received, NOT_FINITE)
    assert not isinstance(found.cause, kinds.WrongValue)


def test_bare_words_such_as_nan_are_left_to_the_case_about_valid_json() -> None:
    body = dump_json(answer(entry(datatype="FP32", data=[1, 2, 3]))).replace(b"3", b"NaN")
    assert verdict(http(body), NOT_FINITE).outcome is Outcome.UNSUPPORTED
    anywhere = replace(NOT_FINITE, expect={**NOT_FINITE.expect, "not_json": None})
    assert verdict(http(body), anywhere).outcome is Outcome.FAIL


def test_an_error_with_a_status_of_success_shows_no_error_status() -> None:
    found = verdict(http(ERROR_BODY), make_case({**REJECT, "checks": ["client_error"]}))
    assert found == Verdict(Outcome.UNSUPPORTED, kinds.NoErrorToJudge(200), found.sent)


def test_a_check_at_level_may_notes_and_never_fails() -> None:
    found = verdict(GOOD_JSON, checked("header_length_sent", level="MAY"))
    assert found == Verdict(Outcome.PASS, NotDone(kinds.HeaderLengthMissing()))


TYPES = {
    "json_type": [
        "application/json",
        "Application/JSON; charset=UTF-8",
        "application/problem+json",
    ],
    "binary_type": ["application/octet-stream", "application/vnd.v2.tensors ; x=1"],
    "neither": ["text/plain", "multipart/mixed; boundary=x", "json", ""],
}


def test_any_type_that_fits_is_accepted() -> None:
    for kind, types in TYPES.items():
        for value, check in itertools.product(types, ("binary_type", "json_type")):
            typed = GOOD.replace(b"application/octet-stream", value.encode(), 1)
            expected = Outcome.PASS if check == kind else Outcome.FAIL
            assert verdict(typed, checked(check)).outcome is expected, (value, check)


def test_the_checks_of_a_case_that_may_be_rejected_are_about_its_success() -> None:
    free = {"outcome": "either", "outputs": {"0": "any"}, "checks": ["header_length_sent"]}
    assert verdict(http(ERROR_BODY, 400), make_case(free)).outcome is Outcome.PASS
    assert failure(GOOD_JSON, make_case(free)) == kinds.HeaderLengthMissing()


def test_metadata_must_be_json_of_the_protocol() -> None:
    not_json = kinds.MetadataNotJson("not JSON at byte 0: Expecting value")
    assert failure(http(b"<html>"), METADATA) == not_json
    unnamed = kinds.SchemaViolation("server_metadata", "$", "'name' is a required property")
    assert failure(http(b'{"version": "1", "extensions": []}'), METADATA) == unnamed


def test_an_answer_without_a_blob_shows_nothing_about_binary_answers() -> None:
    without = http(dump_json(answer(sized(0, shape=[0]))))
    for name in ("header_length_sent", "binary_type"):
        empty = checked(name, inputs=[{"shape": [0]}])
        assert verdict(without, empty).outcome is Outcome.UNSUPPORTED
