"""What a case asks for by name: each check decides, and is in the schema of cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.cases import REJECT, failure, make_case, make_get, verdict
from support.responses import BLOB, GOOD, GOOD_JSON, answer, entry, http, sized, v2
from v2_conformance.judging.checks import CHECKS
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.content_codings import encode
from v2_conformance.protocol.message import dump_json
from v2_conformance.resources import schema_document
from v2_conformance.suite.cases import GetCase, RequestCase
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import Cause, NotDone
from v2_conformance.suite.causes.kinds import (
    AcceptedInvalidRequest,
    DataAndSize,
    ExtensionNotListed,
    HeaderLengthMissing,
    HeaderLengthUnexpected,
    InvalidErrorBody,
    MetadataNotJson,
    MixedForms,
    NoContentLength,
    NoErrorToJudge,
    NotEncoded,
    RepeatedMember,
    SchemaViolation,
    UnrequestedCoding,
    UnrequestedOutputs,
    WrongContentType,
    WrongId,
    WrongModelName,
    WrongStatus,
    WrongValue,
)
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import Level

ERROR_BODY = b'{"error": "no"}'
SIZE = len(dump_json(answer(sized())))
BINARY_TYPE = "application/octet-stream or another binary type"
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
    (checked("binary_type"), GOOD, GOOD_JSON, WrongContentType(BINARY_TYPE, "application/json")),
    (checked("json_type"), GOOD_JSON, GOOD,
     WrongContentType(JSON_TYPE, "application/octet-stream")),
    (checked("unique_members"), GOOD, v2(REPEATED, BLOB), RepeatedMember("id")),
    (checked("model_name"), v2(answer(sized(), model_name="identity_int32"), BLOB),
     v2(answer(sized(), model_name="other"), BLOB), WrongModelName("identity_int32", "other")),
    (checked("model_name_sent"), v2(answer(sized(), model_name="identity_int32"), BLOB),
     v2({"outputs": [sized()]}, BLOB), WrongModelName("identity_int32", None)),
    (checked("data_or_size"), GOOD, v2(answer(sized(data=[1, 2, 3])), BLOB),
     DataAndSize("OUTPUT0")),
    (checked("one_form"), v2(answer(sized(), sized()), BLOB, BLOB),
     v2(answer(sized(), entry(name="OTHER", data=[1, 2, 3])), BLOB),
     MixedForms(("OUTPUT0",), ("OTHER",))),
    (checked("header_length_sent"), GOOD, GOOD_JSON, HeaderLengthMissing()),
    (checked("no_blob_announced"), GOOD_JSON, v2(answer(sized()), BLOB),
     HeaderLengthUnexpected(str(SIZE))),
    (checked("id_echo", id="é"), v2(answer(sized(), id="é"), BLOB), GOOD,
     WrongId("'\\xe9'", "None")),
    (replace(checked("own_id", id="mine"), foreign_ids=("theirs",)),
     v2(answer(sized(), id="mine"), BLOB), v2(answer(sized(), id="theirs"), BLOB),
     WrongId("'mine'", "'theirs'")),
    (checked("only_requested"), GOOD, v2(answer(sized(), entry(name="X", data=[1, 2, 3])), BLOB),
     UnrequestedOutputs(("X",))),
    (checked("content_length_sent"), GOOD, GOOD.replace(b"Content-Length: ", b"X: ", 1),
     NoContentLength("close")),
    (checked("not_encoded", accept_encoding="gzip"), GOOD, GZIPPED,
     UnrequestedCoding(("gzip",), ())),
    (NOT_FINITE, v2(answer(entry(datatype="FP32", data=[1, "-Infinity", None]))),
     v2(answer(entry(datatype="FP32", data=[[1, -2.0], [0]]))),
     WrongValue(
         FirstDifference("OUTPUT0", "FP32", 1, 4, None, "000080ff", "000000c0", "-inf", "-2.0"),
         3, 2)),
    (make_case({**REJECT, "checks": ["client_error"]}),
     http(ERROR_BODY, 404), http(ERROR_BODY, 500), WrongStatus("4xx", 500, ERROR_BODY.decode())),
    (make_case({**REJECT, "checks": ["error_body"]}),
     http(ERROR_BODY, 404), http(b"oops", 404),
     InvalidErrorBody(404, "not JSON at byte 0: Expecting value", "oops")),
    (make_case({**REJECT, "checks": ["error_status"]}),
     http(b"", 500), http(ERROR_BODY, 200), AcceptedInvalidRequest(200, ERROR_BODY.decode())),
    (make_case({**REJECT, "checks": ["error_type"]}),
     http(ERROR_BODY, 400, ("Content-Type", "application/json")),
     http(ERROR_BODY, 400, ("Content-Type", "text/html")),
     WrongContentType(JSON_TYPE, "text/html")),
    (METADATA,
     http(b'{"name": "n", "version": "1", "extensions": ["binary_tensor_data"]}'),
     http(b'{"name": "n", "version": "1", "extensions": ["other"]}'),
     ExtensionNotListed(("other",))),
]  # fmt: skip


@pytest.mark.parametrize(("case", "good", "bad", "cause"), CHECKED, ids=lambda value: "")
def test_a_check_that_a_case_asks_for_decides(
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
    assert (found.outcome, found.cause) == (Outcome.UNSUPPORTED, NotEncoded())
    assert verdict(GZIPPED, case) == Verdict(Outcome.PASS)


@pytest.mark.parametrize(
    "data", [[1, 10**400, "NaN"], [1, -1e39, True], [], {"a": [1]}, "x", [1, [[]], 2]]
)
def test_any_non_finite_number_stands_for_none(data: object) -> None:
    received = v2(answer(entry(datatype="FP32", data=data)))
    found = verdict(received, NOT_FINITE)
    assert not isinstance(found.cause, WrongValue)


def test_bare_words_such_as_nan_are_left_to_the_case_about_valid_json() -> None:
    body = dump_json(answer(entry(datatype="FP32", data=[1, 2, 3]))).replace(b"3", b"NaN")
    headed = http(body, 200, ("Inference-Header-Content-Length", str(len(body))))
    for received in (http(body), headed):
        assert verdict(received, NOT_FINITE).outcome is Outcome.UNSUPPORTED
        anywhere = replace(NOT_FINITE, expect={**NOT_FINITE.expect, "not_json": None})
        assert verdict(received, anywhere).outcome is Outcome.FAIL


def test_an_error_with_a_status_of_success_shows_no_error_status() -> None:
    found = verdict(http(ERROR_BODY), make_case({**REJECT, "checks": ["client_error"]}))
    assert (found.outcome, found.cause) == (Outcome.UNSUPPORTED, NoErrorToJudge(200))


def test_a_check_at_level_may_notes_and_never_fails() -> None:
    found = verdict(GOOD_JSON, checked("header_length_sent", level="MAY"))
    assert found == Verdict(Outcome.PASS, NotDone(HeaderLengthMissing()))


def test_a_response_without_a_content_type_has_none() -> None:
    untyped = GOOD.replace(b"Content-Type: ", b"X-Type: ", 1)
    assert failure(untyped, checked("binary_type")) == WrongContentType(BINARY_TYPE, None)


@pytest.mark.parametrize(
    ("value", "is_binary", "is_json"),
    [
        ("application/json", False, True),
        ("Application/JSON; charset=UTF-8", False, True),
        ("application/problem+json", False, True),
        ("application/vnd.v2.response+json;v=1", False, True),
        ("text/json", False, True),
        ("application/octet-stream", True, False),
        ("application/vnd.v2.tensors ; x=1", True, False),
        ("text/plain", False, False),
        ("text/html; charset=utf-8", False, False),
        ("multipart/mixed; boundary=x", False, False),
        ("json", False, False),
        ("application/", False, False),
        ("", False, False),
    ],
)
def test_any_type_that_fits_is_accepted(value: str, is_binary: bool, is_json: bool) -> None:
    typed = GOOD.replace(b"application/octet-stream", value.encode(), 1)
    for check, fits in (("binary_type", is_binary), ("json_type", is_json)):
        expected = Outcome.PASS if fits else Outcome.FAIL
        assert verdict(typed, checked(check)).outcome is expected


def test_the_checks_of_a_case_that_may_be_rejected_are_about_its_success() -> None:
    case = make_case(
        {"outcome": "either", "outputs": {"0": "any"}, "checks": ["header_length_sent"]}
    )
    assert verdict(http(ERROR_BODY, 400), case).outcome is Outcome.PASS
    assert failure(GOOD_JSON, case) == HeaderLengthMissing()


def test_metadata_must_be_json_of_the_protocol() -> None:
    assert failure(http(b"<html>"), METADATA) == MetadataNotJson(
        "not JSON at byte 0: Expecting value"
    )
    without_name = http(b'{"version": "1", "extensions": []}')
    assert failure(without_name, METADATA) == SchemaViolation(
        "server_metadata", "$", "'name' is a required property"
    )


@pytest.mark.parametrize("name", ["header_length_sent", "binary_type"])
def test_an_answer_without_a_blob_shows_nothing_about_binary_answers(name: str) -> None:
    empty = make_case(
        {"outcome": "success", "outputs": {"0": "any"}, "checks": [name]}, inputs=[{"shape": [0]}]
    )
    without = http(dump_json(answer(entry(shape=[0], parameters={"binary_data_size": 0}))), 200)
    found = verdict(without, empty)
    assert found.outcome is Outcome.UNSUPPORTED
