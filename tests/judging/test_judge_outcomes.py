"""Verdicts on rejections, on free and disputed cases, on checks, and on missing responses."""

from __future__ import annotations

from typing import Any

import pytest

from support.cases import BLOB, GOOD, GOOD_JSON, REJECT, answer, entry, failed, sized, verdict
from support.servers import http, make_case, prepared, transcript, v2
from v2_conformance.judging.judge import (
    CHECKS,
    DISPUTED,
    FAIL,
    INCONCLUSIVE,
    PASS,
    Verdict,
    canary_verdict,
)
from v2_conformance.protocol.content_codings import encode
from v2_conformance.protocol.message import dump_json
from v2_conformance.resources import schema_document
from v2_conformance.suite.cases import Case
from v2_conformance.wire.http1 import CLOSED, MALFORMED, REFUSED, TIMEOUT, TOO_LARGE

# Rejections, free cases, checks.

ERROR_BODY = b'{"error": "no"}'


@pytest.mark.parametrize("status", [400, 413, 422, 500, 503])
def test_an_error_status_with_an_error_string_is_a_rejection(status: int) -> None:
    came = verdict(http(ERROR_BODY, status), make_case(REJECT))
    assert came == Verdict(PASS, f"rejected with status {status}")


@pytest.mark.parametrize(
    ("received", "words"),
    [
        (http(b"<html><body>Bad Request</body></html>", 400), "<html>"),
        (http(b"", 400), "status 400"),
        (http(b"{}", 400), "'error' is a required property"),
        (http(b'{"error": {"code": 1}}', 400), "$.error"),
        (http(b'{"error": "a", "error": "b"}', 400), "twice"),
        (http(b'{"error": "\xff"}', 400), "not UTF-8"),
        (http(b'{"detail": []}', 422), "'error' is a required property"),
        (http(ERROR_BODY, 200), "accepted it with 200"),
        (http(ERROR_BODY, 302), "accepted it with 302"),
        (GOOD, "accepted it with 200"),
    ],
)
def test_anything_else_is_no_rejection(received: bytes, words: str) -> None:
    failed(received, words, case=make_case(REJECT))


@pytest.mark.parametrize("status", [201, 204, 302, 400, 500])
def test_a_status_other_than_200_is_no_success(status: int) -> None:
    failed(http(b"" if status == 204 else ERROR_BODY, status), f"200 wanted, {status} came")


def test_either_answer_is_free_but_not_a_wrong_one() -> None:
    case = make_case({"outcome": "either", "outputs": {"0": "binary"}})
    assert verdict(GOOD, case) == Verdict(PASS, "accepted")
    assert verdict(http(ERROR_BODY, 400), case) == Verdict(PASS, "rejected with status 400")
    failed(v2(answer(sized()), BLOB[::-1]), "element 0", case=case)
    failed(http(b"oops", 400), "not JSON", case=case)
    failed(http(ERROR_BODY, 302), "302 came", case=case)


def test_a_disputed_case_reports_the_reading_and_fails_only_for_wrong_values() -> None:
    case = make_case({"outcome": "disputed", "outputs": {"0": "any"}})
    assert verdict(GOOD, case) == Verdict(DISPUTED, "the server answered in binary form")
    assert verdict(GOOD_JSON, case) == Verdict(DISPUTED, "the server answered in json form")
    failed(v2(answer(sized()), BLOB[::-1]), "element 0", case=case)


def checked(*checks: str, level: str = "MUST", **request: Any) -> Case:
    expect = {"outcome": "success", "outputs": {"0": "any"}, "checks": list(checks)}
    return make_case(expect, level=level, **request)


CHECKED: list[tuple[Case, bytes, bytes]] = [
    (checked("octet_stream_type"), GOOD, GOOD_JSON),
    (checked("json_type"), GOOD_JSON, GOOD),
    (checked("header_length_sent"), GOOD, GOOD_JSON),
    (checked("no_header_length"), GOOD_JSON, GOOD),
    (checked("id_echo", id="é"), v2(answer(sized(), id="é"), BLOB), GOOD),
    (checked("only_requested"), GOOD, v2(answer(sized(), entry(name="X", data=[1, 2, 3])), BLOB)),
    (checked("content_length_sent"), GOOD, GOOD.replace(b"Content-Length: ", b"X: ", 1)),
    (checked("not_encoded", accept_encoding="gzip"), GOOD,
     http(encode("gzip", dump_json(answer(entry(data=[1, 2, 3])))), 200,
          ("Content-Encoding", "gzip"))),
    (make_case({**REJECT, "checks": ["client_error"]}),
     http(ERROR_BODY, 404), http(ERROR_BODY, 500)),
    (make_case({"outcome": "success", "checks": ["lists_extension"]}, get="/v2"),
     http(b'{"name": "n", "version": "1", "extensions": ["binary_tensor_data"]}'),
     http(b'{"name": "n", "version": "1", "extensions": []}')),
]  # fmt: skip


@pytest.mark.parametrize(("case", "good", "bad"), CHECKED, ids=lambda value: "")
def test_a_check_that_a_case_asks_for_decides(case: Case, good: bytes, bad: bytes) -> None:
    assert verdict(good, case).outcome == PASS
    failed(bad, case=case)


def test_every_check_is_tested_and_named_in_the_schema_of_cases() -> None:
    assert {name for case, _, _ in CHECKED for name in case.expect["checks"]} == (
        CHECKS.keys() - {"encoded"}  # it cannot fail, see test_compression
    )
    named = schema_document("case")["$defs"]["expect"]["properties"]["checks"]["items"]["enum"]
    assert set(named) == set(CHECKS)


def test_a_check_at_level_may_notes_and_never_fails() -> None:
    came = verdict(GOOD_JSON, checked("header_length_sent", level="MAY"))
    assert came.outcome == PASS
    assert "free, not done here" in came.message


# No whole response.


@pytest.mark.parametrize(
    ("received", "ending", "outcome"),
    [
        (b"", REFUSED, INCONCLUSIVE),
        (b"", TIMEOUT, INCONCLUSIVE),
        (GOOD[:40], TIMEOUT, INCONCLUSIVE),
        (GOOD[:-3], TIMEOUT, INCONCLUSIVE),
        (b"", CLOSED, FAIL),
        (GOOD[:-3], CLOSED, FAIL),
        (b"SSH-2.0\r\n\r\n", MALFORMED, FAIL),
        (GOOD, TOO_LARGE, FAIL),
    ],
)
@pytest.mark.parametrize("expect", [None, REJECT])
def test_without_a_whole_response_the_ending_decides(
    received: bytes, ending: str, outcome: str, expect: dict[str, Any] | None
) -> None:
    came = verdict(received, make_case(expect), ending)
    assert came.outcome == outcome
    assert "detail" in came.message or ending == TIMEOUT


@pytest.mark.parametrize("ending", [TIMEOUT, CLOSED])
def test_a_content_length_larger_than_the_message_fails_also_on_a_time_out(ending: str) -> None:
    body = dump_json(answer(sized())) + BLOB
    true, wrong = b"Content-Length: %d\r\n" % len(body), b"Content-Length: 9999\r\n"
    received = GOOD.replace(true, wrong, 1)
    assert wrong in received
    failed(received, f"complete with {len(body)} bytes of body", "promises 9999", ending=ending)


def test_a_canary_is_exact_in_any_form_or_says_what_is_wrong() -> None:
    expected = prepared(make_case()).expected
    assert canary_verdict(expected, transcript(GOOD)) == ""
    assert canary_verdict(expected, transcript(GOOD_JSON)) == ""
    assert "element 0" in canary_verdict(expected, transcript(v2(answer(sized()), BLOB[::-1])))
    assert "status 200 wanted, 503 came" in canary_verdict(expected, transcript(http(b"", 503)))
    assert "2 bytes came after" in canary_verdict(expected, transcript(GOOD + b"xy"))
    assert "closed" in canary_verdict(expected, transcript(b"", CLOSED))
