"""Verdicts on one exchange: success, rejection, free and disputed answers, no whole response."""

from __future__ import annotations

import dataclasses
import struct
from typing import Any
from unittest.mock import ANY

import pytest

from support.cases import JSON, REJECT, failure, make_case, make_get, verdict
from support.responses import BLOB, GOOD, GOOD_JSON, answer, entry, http, sized, v2
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.message import dump_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import excerpt
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.response import Ending

ANY_FORM = {"outcome": "success", "outputs": {"0": "any"}}
EITHER = {"outcome": "either", "outputs": {"0": "binary"}}
EXACT = {**REJECT, "exact": "should", "outputs": {"0": "binary"}}
BINARY = {"outcome": "success", "outputs": {"0": "binary"}}
SURVIVES = {"outcome": "survives", "checks": ["client_error"]}
FREE_VALUES = {**EITHER, "compare": "nothing"}
SEVERAL = {**EITHER, "one_of": [[1, 2, 3], [1, 9, None]]}
ANY_SEVERAL = {"outcome": "either", "outputs": {"0": "any"}, "one_of": [[9]]}
ERROR_BODY = b'{"error": "no"}'
NO = http(ERROR_BODY, 400)
SWAPPED = v2(answer(sized()), BLOB[::-1])
TWICE = answer(sized(), sized())
REPEATED = dump_json(answer(sized())).replace(b"{", b'{"id":"x","id":"x",', 1)
NINE = v2(answer(entry(data=[9], shape=[1])))
PASS, FAIL = Outcome.PASS, Outcome.FAIL
REJECTED, ACCEPTED = kinds.Rejected(400), kinds.Accepted()
NOT_SCHEMA = kinds.SchemaViolation("response", "$", "'outputs' is a required property")


def status(expected: str, got: int, body: bytes = ERROR_BODY) -> Cause:
    return kinds.WrongStatus(expected, got, body.decode())


JUDGED: list[tuple[dict[str, Any], bytes, Outcome, Cause | str | None]] = [
    (BINARY, GOOD, PASS, None),
    (JSON, GOOD_JSON, PASS, None),
    (BINARY, GOOD_JSON, FAIL, kinds.WrongForm("OUTPUT0", "binary", "json")),
    (JSON, GOOD, FAIL, kinds.WrongForm("OUTPUT0", "json", "binary")),
    (ANY_FORM, GOOD, PASS, None),
    (ANY_FORM, GOOD_JSON, PASS, None),
    (BINARY, v2(TWICE, BLOB, BLOB), PASS, None),
    (BINARY, v2(TWICE, BLOB, BLOB[::-1]), FAIL, "wrong_value"),
    (BINARY, v2(answer(sized(name="B")), BLOB), FAIL, kinds.MissingOutput("OUTPUT0", ("B",))),
    (BINARY, v2(REPEATED, BLOB), PASS, None),
    (BINARY, http(b"", 204), FAIL, status("200", 204, b"")),
    (BINARY, http(ERROR_BODY, 302), FAIL, status("200", 302)),
    (BINARY, NO, FAIL, status("200", 400)),
    (BINARY, http(ERROR_BODY), FAIL, NOT_SCHEMA),
    # Rejections.
    (REJECT, http(b'{"error": "a", "error": "b"}', 400), PASS, REJECTED),
    (REJECT, http(ERROR_BODY), PASS, kinds.Rejected(200)),  # a flawed one
    (REJECT, http(ERROR_BODY, 302), FAIL, kinds.AcceptedInvalidRequest(302, ANY)),
    (REJECT, http(b"{}"), FAIL, kinds.AcceptedInvalidRequest(200, ANY)),
    (REJECT, GOOD, FAIL, kinds.AcceptedInvalidRequest(200, ANY)),
    ({**REJECT, "accepted": "unsupported"}, GOOD, Outcome.UNSUPPORTED, kinds.NoErrorToJudge(200)),
    (EXACT, GOOD, FAIL, kinds.AnsweredExactly(200)),
    (EXACT, NO, PASS, REJECTED),
    (EXACT, SWAPPED, FAIL, kinds.AcceptedInvalidRequest(200, ANY)),
    (EXACT, http(b"{}"), FAIL, kinds.AcceptedInvalidRequest(200, ANY)),
    # Answers that are free.
    (EITHER, GOOD, PASS, ACCEPTED),
    (EITHER, NO, PASS, REJECTED),
    (EITHER, http(b"oops", 400), PASS, REJECTED),
    (EITHER, http(ERROR_BODY), PASS, kinds.Rejected(200)),
    (EITHER, SWAPPED, FAIL, "wrong_value"),
    (EITHER, http(ERROR_BODY, 302), FAIL, status("200", 302)),
    (SURVIVES, NO, PASS, None),
    ({"outcome": "survives"}, GOOD, PASS, None),
    (SURVIVES, GOOD, FAIL, kinds.WrongStatus("4xx", 200, ANY)),
    (FREE_VALUES, NINE, PASS, kinds.AnsweredInJson()),
    (FREE_VALUES, http(b"oops"), FAIL, "body_not_json"),
    (SEVERAL, GOOD, PASS, "answered_with"),
    (SEVERAL, v2(answer(sized()), struct.pack("<3i", 1, 9, 7)), PASS,
     kinds.AnsweredWith("1, 9, 7")),
    (SEVERAL, v2(answer(sized()), struct.pack("<3i", 9, 2, 3)), FAIL, "wrong_value"),
    (SEVERAL, NO, PASS, REJECTED),
    (SEVERAL, GOOD_JSON, FAIL, "wrong_form"),
    (ANY_SEVERAL, NINE, FAIL, "wrong_shape"),
]  # fmt: skip


@pytest.mark.parametrize(("expect", "received", "outcome", "cause"), JUDGED)
def test_an_answer_is_judged_by_what_is_expected(
    expect: dict[str, Any], received: bytes, outcome: Outcome, cause: Cause | str | None
) -> None:
    found = verdict(received, make_case(expect))
    kind = None if found.cause is None else found.cause.kind
    assert (found.outcome, kind if isinstance(cause, str) else found.cause) == (outcome, cause)


def test_a_disputed_case_shows_its_reading() -> None:
    case = make_case(EITHER, level="DISPUTED")
    assert verdict(GOOD, case) == Verdict(Outcome.DISPUTED, ACCEPTED)
    assert verdict(NO, case) == Verdict(Outcome.DISPUTED, REJECTED)


def test_a_get_must_be_answered_with_200() -> None:
    assert verdict(http(b"any"), make_get("/v2")) == Verdict(PASS)
    found = verdict(http(b"any", 201), make_get("/v2"))
    assert found == Verdict(FAIL, status("200", 201, b"any"), "sent GET /v2")


THREE = {"shape": [3], "values": [1, 2, 3]}
PLAIN = "[3] binary, 12 blob bytes"


def test_what_is_odd_comes_first() -> None:
    found = verdict(http(b"{}", 302), make_case(REJECT, header_length={"value": "-1"}))
    assert found.message.startswith(f"{HEADER_LENGTH}: -1: expected an error status, but ")
    assert found.message.endswith(f" ({found.sent})")


@pytest.mark.parametrize(
    ("members", "sent", "odd"),
    [
        ({"headers": {"Content-Length": "5"}}, PLAIN, "Content-Length: 5 and 110"),
        ({"path": "/v2/models/a/infer"}, PLAIN, "/v2/models/a/infer"),
        ({"inputs": [{**THREE, "size": {"value": "é"}}]}, PLAIN,
         'binary_data_size "\\u00e9" for a blob of 12 bytes'),
        ({"inputs": [{**THREE, "size": {"times": -1}}]}, PLAIN,
         "binary_data_size -12 for a blob of 12 bytes"),
        ({"inputs": [{"shape": [3], "values": "counting", "elements": 1}]},
         "[3] binary, 4 blob bytes", "1 element for the shape [3]"),
        ({"header_length": {"value": "-1"}}, PLAIN, f"{HEADER_LENGTH}: -1"),
        ({"header_length": "absent", "encoding": "gzip"}, PLAIN,
         f"no {HEADER_LENGTH}, Content-Encoding gzip"),
        ({"inputs": [{"shape": [3], "blob": "ff00"}]}, "[3] binary, 2 blob bytes",
         "a blob of 2 bytes for the shape [3]"),
        ({"inputs": [{**THREE, "name": "a\nb"}]}, PLAIN, 'an input with the name "a\\nb"'),
        ({"inputs": [{**THREE, "form": "both"}]}, "[3] both, 12 blob bytes",
         "an input with both data and a blob"),
        ({"parameters": {"binary_data_output": "true"}}, PLAIN, 'binary_data_output "true"'),
        ({"json": {"text": ""}, "inputs": []}, "no inputs, 0 blob bytes", 'the body ""'),
        ({"body": {"drop": 1}}, "[3] binary, 11 blob bytes", "1 byte of the body left out"),
        ({"delivery": {"slices": "seam"}}, PLAIN, "in slices, cut after the JSON"),
        ({"delivery": {"slices": [{"blob": 0, "at": 1}, {"blob": 0, "at": 5}]}}, PLAIN,
         "in slices, cut 1 byte into blob 0 and 5 bytes into blob 0"),
    ],
)  # fmt: skip
def test_what_is_odd_about_a_request_is_said(members: dict[str, Any], sent: str, odd: str) -> None:
    found = verdict(http(b"{}", 302), make_case(REJECT, **members))
    assert (found.sent, found.odd) == (f"sent to identity/INT32: {sent}", odd)


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (400, b"<html>Bad Request</html>", "not JSON at byte 0: Expecting value"),
        (422, b'{"detail": []}', "'error' is a required property"),
        (400, b'{"error": {"code": 1}}', "{\"code\": 1} is not of type 'string'"),
        (400, b'{"error": "\xff"}', "the JSON is not UTF-8 at byte 11"),
    ],
)
def test_only_a_case_about_error_bodies_judges_them(status: int, body: bytes, problem: str) -> None:
    received = http(body, status)
    assert verdict(received, make_case(REJECT)) == Verdict(Outcome.PASS, kinds.Rejected(status))
    found = failure(received, make_case({**REJECT, "checks": ["error_body"]}))
    assert found == kinds.InvalidErrorBody(status, problem, excerpt(body))


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize(
    "deep", [b"[" * 100 + b"]" * 100, b'{"a":' * 200_000 + b"1" + b"}" * 200_000, b"9" * 5000]
)
def test_json_that_the_suite_does_not_read_whole_is_no_failure(deep: bytes, status: int) -> None:
    case = make_case() if status == 200 else make_case({**REJECT, "checks": ["error_body"]})
    found = verdict(http(b'{"error": "no", "outputs": [], "x": ' + deep + b"}", status), case)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert isinstance(found.cause, kinds.ReadsNoDeeper)


@pytest.mark.parametrize(
    ("expect", "blocks"), [({}, "conformant"), ({"ambiguous": True}, "robust")]
)
def test_wrong_numbers_count_in_full_if_a_rare_request_has_one_reading(
    expect: dict[str, Any], blocks: str
) -> None:
    case = dataclasses.replace(make_case({**make_case().expect, **expect}), blocks="robust")
    assert case.facts((), failure(SWAPPED, case)).blocks == blocks
    assert case.facts((), failure(http(b"", 500), case)).blocks == "robust"


def test_an_exact_answer_to_a_malformed_request_fails_it_as_a_should() -> None:
    case, exactly = make_case(EXACT), kinds.AnsweredExactly(200)
    assert (case.facts(()).level, case.facts((), exactly).level) == ("MUST", "SHOULD")
    assert case.facts((), failure(SWAPPED, case)).level == "MUST"
    assert make_case(EXACT, level="MAY").facts((), exactly).level == "MAY"
    more = make_case(EXACT, inputs=[{"shape": [3], "values": [1, 2, 3, 4]}])
    assert failure(GOOD, more) == exactly
    fewer = make_case(EXACT, inputs=[{"shape": [4], "values": [1, 2, 3]}])
    assert failure(GOOD, fewer) == kinds.AcceptedInvalidRequest(200, ANY)


@pytest.mark.parametrize(
    ("received", "ending", "outcome", "cause"),
    [
        (b"", Ending.REFUSED, Outcome.INCONCLUSIVE, kinds.ConnectionRefused("detail")),
        (b"", Ending.TIMEOUT, Outcome.INCONCLUSIVE, kinds.TimedOut(0.0, 0, "detail")),
        (GOOD[:40], Ending.TIMEOUT, Outcome.INCONCLUSIVE, kinds.TimedOut(0.0, 40, "detail")),
        (GOOD[:-3], Ending.CLOSED, Outcome.FAIL, kinds.ConnectionClosed(len(GOOD) - 3, "detail")),
        (b"SSH-2.0\r\n\r\n", Ending.MALFORMED, Outcome.FAIL, kinds.NotHttp("detail")),
        (GOOD, Ending.TOO_LARGE, Outcome.FAIL, kinds.ResponseTooLarge("detail")),
    ],
)
@pytest.mark.parametrize("expect", [None, REJECT])
def test_without_a_whole_response_the_ending_decides(
    received: bytes, ending: Ending, outcome: Outcome, cause: Cause, expect: dict[str, Any] | None
) -> None:
    found = verdict(received, make_case(expect), ending)
    assert (found.outcome, found.cause) == (outcome, cause)


CUT = b"HTTP/1.1 400 Bad Request\r\n\r\n"
CUT_LATER = b'HTTP/1.1 500 Error\r\nContent-Length: 90\r\n\r\n{"error": "the hea'
CUT_IN_CHUNKS = b"HTTP/1.1 400 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"
CODED = b"HTTP/1.1 400 No\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08"


@pytest.mark.parametrize("received", [CUT, CUT_LATER, CUT_IN_CHUNKS, CODED])
def test_an_error_that_a_reset_cut_off_behind_its_head_is_a_rejection(received: bytes) -> None:
    for expect in (REJECT, {**REJECT, "checks": ["error_status"]}, {**ANY_FORM, **EITHER}):
        found = verdict(received, make_case(expect), Ending.RESET)
        assert (found.outcome, found.cause) == (PASS, kinds.Rejected(int(received[9:12])))
    cause = failure(received, make_case(), Ending.RESET)
    assert cause == kinds.WrongStatus("200", int(received[9:12]), ANY)
    found = verdict(received, make_case({**REJECT, "checks": ["error_body"]}), Ending.RESET)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert isinstance(found.cause, kinds.ConnectionClosed)


@pytest.mark.parametrize(
    ("received", "ending"),
    [
        (CUT[:-2], Ending.RESET),  # its head is not whole
        (CUT.replace(b"400", b"302"), Ending.RESET),
        (CUT.replace(b"400 Bad Request", b"100 Continue"), Ending.RESET),
        (GOOD[:-3], Ending.RESET),
        (CUT_LATER, Ending.CLOSED),  # the server's own doing
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
    assert failure(received, ending=ending) == kinds.ContentLengthTooLong(len(body), "9999")


@pytest.mark.parametrize("ending", [Ending.TIMEOUT, Ending.CLOSED])
def test_so_does_one_larger_than_an_error(ending: Ending) -> None:
    cause = failure(CUT_LATER + b'd"}', make_case(REJECT), ending)
    assert cause == kinds.ContentLengthTooLong(len(b'{"error": "the head"}'), "90")
