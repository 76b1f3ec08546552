"""Verdicts on one exchange: success, rejection, free and disputed answers, no whole response."""

from __future__ import annotations

import struct
from typing import Any
from unittest.mock import ANY

import pytest

from support.cases import JSON, REJECT, failure, make_case, make_get, verdict
from support.responses import BLOB, GOOD, GOOD_JSON, answer, entry, http, parsed, sized, v2
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.message import dump_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import (
    Accepted,
    AcceptedInvalidRequest,
    AnsweredExactly,
    AnsweredInJson,
    AnsweredWith,
    BodyNotJson,
    ConnectionClosed,
    ConnectionRefused,
    ContentLengthTooLong,
    InvalidErrorBody,
    MissingOutput,
    NoErrorToJudge,
    NotHttp,
    ReadsNoDeeper,
    Rejected,
    ResponseTooLarge,
    SchemaViolation,
    TimedOut,
    WrongForm,
    WrongShape,
    WrongStatus,
    WrongValue,
)
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.response import Ending

ANY_FORM = {"outcome": "success", "outputs": {"0": "any"}}
EITHER = {"outcome": "either"}


# Success.


def test_the_exact_answer_passes_in_the_form_that_is_asked_for() -> None:
    assert verdict(GOOD) == Verdict(Outcome.PASS)
    assert verdict(GOOD).message == ""
    assert verdict(GOOD_JSON, make_case(JSON)).outcome is Outcome.PASS
    assert failure(GOOD_JSON) == WrongForm("OUTPUT0", "binary", "json")
    assert failure(GOOD, make_case(JSON)) == WrongForm("OUTPUT0", "json", "binary")
    for received in (GOOD, GOOD_JSON):
        assert verdict(received, make_case(ANY_FORM)).outcome is Outcome.PASS


def test_an_output_that_comes_twice_must_be_right_twice() -> None:
    twice = answer(sized(), sized())
    assert verdict(v2(twice, BLOB, BLOB)).outcome is Outcome.PASS
    second = failure(v2(twice, BLOB, BLOB[::-1]))
    assert isinstance(second, WrongValue)
    assert (second.difference.element, second.elements, second.differing) == (0, 3, 3)


def test_an_output_of_another_name_is_a_missing_one() -> None:
    received = v2(answer(sized(name="OTHER")), BLOB)
    assert failure(received) == MissingOutput("OUTPUT0", ("OTHER",))
    none = v2({"outputs": []})
    assert failure(none) == MissingOutput("OUTPUT0", ())


@pytest.mark.parametrize("status", [201, 204, 302, 400, 500])
def test_a_status_other_than_200_is_no_success(status: int) -> None:
    body = b"" if status == 204 else ERROR_BODY
    assert failure(http(body, status)) == WrongStatus("200", status, body.decode())


@pytest.mark.parametrize("status", [201, 404])
def test_a_get_must_be_answered_with_200(status: int) -> None:
    assert verdict(http(b"any"), make_get("/v2")) == Verdict(Outcome.PASS)
    found = verdict(http(b"any", status), make_get("/v2"))
    assert found == Verdict(Outcome.FAIL, WrongStatus("200", status, "any"), "sent GET /v2")


# Messages begin with what is odd, and end with what was sent.

THREE = {"shape": [3], "values": [1, 2, 3]}
PLAIN = "[3] binary, 12 blob bytes"


def test_what_is_odd_comes_first() -> None:
    found = verdict(http(b"{}", 302), make_case(REJECT, header_length={"value": "-1"}))
    assert found.message.startswith(f"{HEADER_LENGTH}: -1: expected an error status, but ")
    assert found.message.endswith(f" ({found.sent})")


@pytest.mark.parametrize(
    ("request_members", "sent", "odd"),
    [
        ({"inputs": []}, "no inputs, 0 blob bytes", ""),
        ({"inputs": [{**THREE, "form": "json"}]}, "[3] json, 0 blob bytes", ""),
        (
            {"inputs": [{**THREE, "size": {"value": "é"}}]},
            PLAIN,
            'binary_data_size "\\u00e9" for a blob of 12 bytes',
        ),
        (
            {"inputs": [{**THREE, "size": {"add": -1}}]},
            PLAIN,
            "binary_data_size 11 for a blob of 12 bytes",
        ),
        (
            {"inputs": [{**THREE, "size": {"times": -1}}]},
            PLAIN,
            "binary_data_size -12 for a blob of 12 bytes",
        ),
        (
            {"inputs": [{"shape": [3], "values": "counting", "elements": 1}]},
            "[3] binary, 4 blob bytes",
            "1 element for the shape [3]",
        ),
        ({"header_length": {"value": "-1"}}, PLAIN, f"{HEADER_LENGTH}: -1"),
        ({"header_length": "absent"}, PLAIN, f"no {HEADER_LENGTH}"),
        ({"encoding": "gzip"}, PLAIN, "Content-Encoding gzip"),
        (
            {"inputs": [{"shape": [3], "blob": "ff00"}]},
            "[3] binary, 2 blob bytes",
            "a blob of 2 bytes for the shape [3]",
        ),
        ({"inputs": [{**THREE, "name": "a\nb"}]}, PLAIN, 'an input with the name "a\\nb"'),
        (
            {"inputs": [{**THREE, "form": "both"}]},
            "[3] both, 12 blob bytes",
            "an input with both data and a blob",
        ),
        (
            {"inputs": [{**THREE, "form": "neither"}]},
            "[3] neither, 0 blob bytes",
            "an input with neither data nor a blob",
        ),
        ({"outputs": [{"name": "no"}]}, PLAIN, 'an output with the name "no"'),
        ({"outputs": [{"tensor": 0, "binary_data": [True]}]}, PLAIN, "binary_data [true]"),
        ({"parameters": {"binary_data_output": "true"}}, PLAIN, 'binary_data_output "true"'),
        ({"json": {"after": "{}"}}, PLAIN, '"{}" behind the JSON'),
        ({"json": {"text": ""}, "inputs": []}, "no inputs, 0 blob bytes", 'the body ""'),
        ({"body": {"append": 4}}, PLAIN, "4 bytes behind the last blob"),
        ({"body": {"append": "ff"}}, PLAIN, "1 byte behind the last blob"),
        ({"body": {"drop": 1}}, "[3] binary, 11 blob bytes", "1 byte of the body left out"),
        ({"path": "/v2/models/a/infer"}, PLAIN, "/v2/models/a/infer"),
        ({"headers": {"Content-Length": "5"}}, PLAIN, "Content-Length: 5"),
        ({"content_type": None}, PLAIN, "Content-Type left out"),
        ({"delivery": "whole"}, PLAIN, ""),
        ({"delivery": {"chunks": "one"}}, PLAIN, "in one chunk"),
        ({"delivery": {"chunks": 7}}, PLAIN, "in chunks of 7 bytes"),
        ({"delivery": {"slices": "seam"}}, PLAIN, "in slices, cut after the JSON"),
        (
            {"delivery": {"slices": [{"blob": 0, "at": 1}, {"blob": 0, "at": 5}]}},
            PLAIN,
            "in slices, cut 1 byte into blob 0 and 5 bytes into blob 0",
        ),
    ],
)
def test_what_is_odd_about_a_request_is_said(
    request_members: dict[str, Any], sent: str, odd: str
) -> None:
    found = verdict(http(b"{}", 302), make_case(REJECT, **request_members))
    assert (found.sent, found.odd) == (f"sent to identity/INT32: {sent}", odd)


# Rejections.

ERROR_BODY = b'{"error": "no"}'


@pytest.mark.parametrize("status", [400, 413, 422, 500, 503])
def test_an_error_status_with_an_error_string_is_a_rejection(status: int) -> None:
    found = verdict(http(ERROR_BODY, status), make_case(REJECT))
    assert found == Verdict(Outcome.PASS, Rejected(status))


def _not_by_schema(
    status: int, body: str, problem: str = "'error' is a required property"
) -> Cause:
    return InvalidErrorBody(status, problem, body)


@pytest.mark.parametrize(
    ("received", "cause"),
    [
        (
            http(b"<html><body>Bad Request</body></html>", 400),
            InvalidErrorBody(400, ANY, "<html><body>Bad Request</body></html>"),
        ),
        (http(b"", 400), InvalidErrorBody(400, ANY, "")),
        (http(b"{}", 400), _not_by_schema(400, "{}")),
        (
            http(b'{"error": {"code": 1}}', 400),
            _not_by_schema(400, '{"error": {"code": 1}}', "{\"code\": 1} is not of type 'string'"),
        ),
        (
            http(b'{"error": "\xff"}', 400),
            InvalidErrorBody(400, "the JSON is not UTF-8 at byte 11", '{"error": "\\xff"}'),
        ),
        (http(b'{"detail": []}', 422), _not_by_schema(422, '{"detail": []}')),
    ],
)
def test_only_a_case_about_the_body_of_errors_judges_it(received: bytes, cause: Cause) -> None:
    status = parsed(received).status
    assert verdict(received, make_case(REJECT)) == Verdict(Outcome.PASS, Rejected(status))
    assert failure(received, make_case({**REJECT, "checks": ["error_body"]})) == cause


@pytest.mark.parametrize("received", [http(ERROR_BODY, 302), http(b"{}"), GOOD])
def test_anything_else_is_no_rejection(received: bytes) -> None:
    cause = AcceptedInvalidRequest(parsed(received).status, ANY)
    assert failure(received, make_case(REJECT)) == cause


def test_an_error_with_a_status_of_success_is_a_flawed_rejection() -> None:
    received = http(ERROR_BODY)
    assert verdict(received, make_case(REJECT)) == Verdict(Outcome.PASS, Rejected(200))
    either = make_case({"outcome": "either", "outputs": {"0": "binary"}})
    assert verdict(received, either) == Verdict(Outcome.PASS, Rejected(200))
    assert failure(received) == SchemaViolation("response", "$", "'outputs' is a required property")


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize(
    "deep",
    [
        b"[" * 100 + b"]" * 100,
        b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
        b"9" * 5000,
    ],
)
def test_json_that_the_suite_does_not_read_to_its_end_is_no_failure(
    deep: bytes, status: int
) -> None:
    case = make_case() if status == 200 else make_case({**REJECT, "checks": ["error_body"]})
    found = verdict(http(b'{"error": "no", "outputs": [], "x": ' + deep + b"}", status), case)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert isinstance(found.cause, ReadsNoDeeper)


EXACT = {**REJECT, "exact": "should", "outputs": {"0": "binary"}}


def test_an_exact_answer_to_a_malformed_request_fails_it_as_a_should() -> None:
    case = make_case(EXACT)
    found = verdict(GOOD, case)
    assert (found.outcome, found.cause) == (Outcome.FAIL, AnsweredExactly(200))
    assert (case.facts(()).level, case.facts((), found.cause).level) == ("MUST", "SHOULD")
    may = make_case(EXACT, level="MAY")
    assert may.facts((), found.cause).level == "MAY"
    assert verdict(http(ERROR_BODY, 400), case) == Verdict(Outcome.PASS, Rejected(400))


@pytest.mark.parametrize(
    "received", [v2(answer(sized()), BLOB[::-1]), http(b"{}"), v2(answer(sized(name="B")), BLOB)]
)
def test_any_other_answer_to_it_fails_the_must(received: bytes) -> None:
    case = make_case(EXACT)
    cause = failure(received, case)
    assert cause == AcceptedInvalidRequest(200, ANY)
    assert case.facts((), cause).level == "MUST"


def test_exact_are_as_many_elements_as_the_shape_has() -> None:
    more = make_case(EXACT, inputs=[{"shape": [3], "values": [1, 2, 3, 4]}])
    assert failure(GOOD, more) == AnsweredExactly(200)
    fewer = make_case(EXACT, inputs=[{"shape": [4], "values": [1, 2, 3]}])
    assert failure(GOOD, fewer) == AcceptedInvalidRequest(200, ANY)


def test_a_case_about_the_error_alone_is_unsupported_if_the_request_is_accepted() -> None:
    found = verdict(GOOD, make_case({**REJECT, "accepted": "unsupported"}))
    assert (found.outcome, found.cause) == (Outcome.UNSUPPORTED, NoErrorToJudge(200))


def test_a_member_that_is_repeated_fails_no_rejection_and_no_success() -> None:
    repeated = http(b'{"error": "a", "error": "b"}', 400)
    assert verdict(repeated, make_case(REJECT)) == Verdict(Outcome.PASS, Rejected(400))
    again = dump_json(answer(sized())).replace(b"{", b'{"id":"x","id":"x",', 1)
    assert verdict(v2(again, BLOB)) == Verdict(Outcome.PASS)


@pytest.mark.parametrize(
    ("received", "cause"), [(GOOD, Accepted()), (http(ERROR_BODY, 400), Rejected(400))]
)
def test_disputed_case_shows_its_reading(received: bytes, cause: Cause) -> None:
    case = make_case({"outcome": "either", "outputs": {"0": "binary"}}, level="DISPUTED")
    assert verdict(received, case) == Verdict(Outcome.DISPUTED, cause)


# Answers that are free or disputed.


def test_either_answer_is_free_but_not_a_wrong_one() -> None:
    case = make_case({"outcome": "either", "outputs": {"0": "binary"}})
    assert verdict(GOOD, case) == Verdict(Outcome.PASS, Accepted())
    assert verdict(http(ERROR_BODY, 400), case) == Verdict(Outcome.PASS, Rejected(400))
    assert isinstance(failure(v2(answer(sized()), BLOB[::-1]), case), WrongValue)
    assert verdict(http(b"oops", 400), case) == Verdict(Outcome.PASS, Rejected(400))
    redirected = failure(http(ERROR_BODY, 302), case)
    assert redirected == WrongStatus("200", 302, ERROR_BODY.decode())


def test_an_answer_that_need_not_come_must_pass_the_checks() -> None:
    free = make_case({"outcome": "survives"})
    case = make_case({"outcome": "survives", "checks": ["client_error"]})
    for received, ending in ((b"", Ending.CLOSED), (http(ERROR_BODY, 400), Ending.COMPLETE)):
        assert verdict(received, case, ending=ending).outcome is Outcome.PASS
    assert verdict(GOOD, free).outcome is Outcome.PASS
    assert failure(GOOD, case) == WrongStatus("4xx", 200, ANY)


def test_a_case_that_compares_nothing_takes_any_strict_json() -> None:
    case = make_case({"outcome": "either", "outputs": {"0": "binary"}, "compare": "nothing"})
    other = answer(entry(data=[9], shape=[1]))
    assert verdict(v2(other), case) == Verdict(Outcome.PASS, AnsweredInJson())
    assert isinstance(failure(http(b"oops"), case), BodyNotJson)


def test_a_case_with_several_readings_passes_with_those_of_one() -> None:
    expect = {"outcome": "either", "outputs": {"0": "binary"}}
    case = make_case(expect | {"one_of": [[1, 2, 3], [1, 9, None]]})
    assert isinstance(verdict(GOOD, case).cause, AnsweredWith)
    second = verdict(v2(answer(sized()), struct.pack("<3i", 1, 9, 7)), case)
    assert second == Verdict(Outcome.PASS, AnsweredWith("1, 9, 7"))
    mixed = failure(v2(answer(sized()), struct.pack("<3i", 9, 2, 3)), case)
    assert isinstance(mixed, WrongValue)
    assert mixed.difference.element == 0
    assert verdict(http(ERROR_BODY, 400), case) == Verdict(Outcome.PASS, Rejected(400))
    assert isinstance(failure(GOOD_JSON, case), WrongForm)
    free = make_case({"outcome": "either", "outputs": {"0": "any"}, "one_of": [[9]]})
    assert isinstance(failure(v2(answer(entry(data=[9], shape=[1]))), free), WrongShape)


# No whole response.


@pytest.mark.parametrize(
    ("received", "ending", "outcome", "cause"),
    [
        (b"", Ending.REFUSED, Outcome.INCONCLUSIVE, ConnectionRefused("detail")),
        (b"", Ending.TIMEOUT, Outcome.INCONCLUSIVE, TimedOut(0.0, 0, "detail")),
        (GOOD[:40], Ending.TIMEOUT, Outcome.INCONCLUSIVE, TimedOut(0.0, 40, "detail")),
        (GOOD[:-3], Ending.TIMEOUT, Outcome.INCONCLUSIVE, TimedOut(0.0, len(GOOD) - 3, "detail")),
        (b"", Ending.CLOSED, Outcome.FAIL, ConnectionClosed(0, "detail")),
        (GOOD[:-3], Ending.CLOSED, Outcome.FAIL, ConnectionClosed(len(GOOD) - 3, "detail")),
        (GOOD[:-3], Ending.RESET, Outcome.FAIL, ConnectionClosed(len(GOOD) - 3, "detail")),
        (b"SSH-2.0\r\n\r\n", Ending.MALFORMED, Outcome.FAIL, NotHttp("detail")),
        (GOOD, Ending.TOO_LARGE, Outcome.FAIL, ResponseTooLarge("detail")),
    ],
)
@pytest.mark.parametrize("expect", [None, REJECT])
def test_without_a_whole_response_the_ending_decides(
    received: bytes, ending: Ending, outcome: Outcome, cause: Cause, expect: dict[str, Any] | None
) -> None:
    found = verdict(received, make_case(expect), ending)
    assert (found.outcome, found.cause) == (outcome, cause)


# An error that a reset cut off.

CUT = b"HTTP/1.1 400 Bad Request\r\n\r\n"
CUT_LATER = b'HTTP/1.1 500 Error\r\nContent-Length: 90\r\n\r\n{"error": "the hea'
CUT_IN_CHUNKS = b"HTTP/1.1 400 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"
CODED = b"HTTP/1.1 400 No\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08"


@pytest.mark.parametrize("received", [CUT, CUT + b'{"error"', CUT_LATER, CUT_IN_CHUNKS, CODED])
def test_an_error_with_a_whole_head_is_a_rejection_although_a_reset_cut_it_off(
    received: bytes,
) -> None:
    status = int(received[9:12])
    for expect in (REJECT, {**REJECT, "checks": ["error_status"]}, {**ANY_FORM, **EITHER}):
        found = verdict(received, make_case(expect), Ending.RESET)
        assert (found.outcome, found.cause) == (Outcome.PASS, Rejected(status))
    found = verdict(received, make_case(), Ending.RESET)
    assert found.outcome is Outcome.FAIL
    assert isinstance(found.cause, WrongStatus)
    assert found.cause.got == status
    found = verdict(received, make_case({**REJECT, "checks": ["error_body"]}), Ending.RESET)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert isinstance(found.cause, ConnectionClosed)


@pytest.mark.parametrize(
    ("received", "ending"),
    [
        (CUT[:-2], Ending.RESET),  # its head is not whole
        (CUT.replace(b"400", b"302"), Ending.RESET),
        (CUT.replace(b"400 Bad Request", b"100 Continue"), Ending.RESET),
        (GOOD[:-3], Ending.RESET),
        (CUT_LATER, Ending.CLOSED),  # the server's own doing
        (CUT_LATER, Ending.TIMEOUT),
        (CUT_LATER, Ending.MALFORMED),
    ],
)
def test_what_else_is_cut_off_is_no_rejection(received: bytes, ending: Ending) -> None:
    assert verdict(received, make_case(REJECT), ending).outcome is not Outcome.PASS


@pytest.mark.parametrize("ending", [Ending.TIMEOUT, Ending.CLOSED, Ending.RESET])
def test_a_content_length_larger_than_the_message_fails_also_on_a_time_out(ending: Ending) -> None:
    body = dump_json(answer(sized())) + BLOB
    true, wrong = b"Content-Length: %d\r\n" % len(body), b"Content-Length: 9999\r\n"
    received = GOOD.replace(true, wrong, 1)
    assert wrong in received
    assert failure(received, ending=ending) == ContentLengthTooLong(len(body), "9999")
