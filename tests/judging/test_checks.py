"""What a case asks for by name: each check decides, and is in the schema of cases."""

from __future__ import annotations

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
from v2_conformance.suite.causes import Cause, NotDone
from v2_conformance.suite.findings import (
    ExtensionNotListed,
    HeaderLengthMissing,
    HeaderLengthUnexpected,
    MetadataNotJson,
    NoContentLength,
    NotEncoded,
    SchemaViolation,
    UnrequestedCoding,
    UnrequestedOutputs,
    WrongContentType,
    WrongId,
    WrongStatus,
)
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import Level

ERROR_BODY = b'{"error": "no"}'
SIZE = len(dump_json(answer(sized())))


def checked(*checks: str, level: Level = "MUST", **request: Any) -> RequestCase:
    expect = {"outcome": "success", "outputs": {"0": "any"}, "checks": list(checks)}
    return make_case(expect, level=level, **request)


METADATA = make_get("/v2", {"outcome": "success", "checks": ["lists_extension"]})
GZIPPED = http(
    encode("gzip", dump_json(answer(entry(data=[1, 2, 3])))), 200, ("Content-Encoding", "gzip")
)
CHECKED: list[tuple[RequestCase | GetCase, bytes, bytes, Cause]] = [
    (checked("octet_stream_type"), GOOD, GOOD_JSON,
     WrongContentType("application/octet-stream", "application/json")),
    (checked("json_type"), GOOD_JSON, GOOD,
     WrongContentType("application/json", "application/octet-stream")),
    (checked("header_length_sent"), GOOD, GOOD_JSON, HeaderLengthMissing()),
    (checked("no_header_length"), GOOD_JSON, v2(answer(sized()), BLOB),
     HeaderLengthUnexpected(str(SIZE))),
    (checked("id_echo", id="é"), v2(answer(sized(), id="é"), BLOB), GOOD,
     WrongId("'\\xe9'", "None")),
    (checked("only_requested"), GOOD, v2(answer(sized(), entry(name="X", data=[1, 2, 3])), BLOB),
     UnrequestedOutputs(("X",))),
    (checked("content_length_sent"), GOOD, GOOD.replace(b"Content-Length: ", b"X: ", 1),
     NoContentLength("close")),
    (checked("not_encoded", accept_encoding="gzip"), GOOD, GZIPPED,
     UnrequestedCoding(("gzip",), ())),
    (make_case({**REJECT, "checks": ["client_error"]}),
     http(ERROR_BODY, 404), http(ERROR_BODY, 500), WrongStatus("4xx", 500, ERROR_BODY.decode())),
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


def test_a_response_that_is_not_encoded_is_inconclusive_for_a_check_that_it_is() -> None:
    case = checked("encoded", accept_encoding="gzip")
    found = verdict(GOOD, case)
    assert (found.outcome, found.cause) == (Outcome.INCONCLUSIVE, NotEncoded())
    assert verdict(GZIPPED, case) == Verdict(Outcome.PASS)


def test_a_check_at_level_may_notes_and_never_fails() -> None:
    found = verdict(GOOD_JSON, checked("header_length_sent", level="MAY"))
    assert found == Verdict(Outcome.PASS, NotDone(HeaderLengthMissing()))


def test_a_response_without_a_content_type_has_none() -> None:
    untyped = GOOD.replace(b"Content-Type: ", b"X-Type: ", 1)
    cause = failure(untyped, checked("octet_stream_type"))
    assert cause == WrongContentType("application/octet-stream", None)


def test_metadata_must_be_json_of_the_protocol() -> None:
    assert failure(http(b"<html>"), METADATA) == MetadataNotJson(
        "not JSON at byte 0: Expecting value"
    )
    without_name = http(b'{"version": "1", "extensions": []}')
    assert failure(without_name, METADATA) == SchemaViolation(
        "server_metadata", "$", "'name' is a required property"
    )
