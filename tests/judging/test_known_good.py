"""Known-good requests and servers that are not there: what an answer to one shows."""

from __future__ import annotations

import pytest

from support.cases import ADDRESS, binding, make_case, prepared
from support.responses import BLOB, GOOD, GOOD_JSON, answer, exchange_of, http, sized, v2
from v2_conformance.judging.availability import asks_to_wait, down, plea, retry_after_s, unavailable
from v2_conformance.judging.judge import canary_problem
from v2_conformance.judging.known_good import answer as answer_of
from v2_conformance.judging.known_good import known_good, problem_with
from v2_conformance.protocol.content_codings import encode
from v2_conformance.protocol.message import parse_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.models import contract
from v2_conformance.wire.response import Ending, Limits, Response
from v2_conformance.wire.response_reader import ResponseReader

PREPARED = prepared(make_case())


@pytest.mark.parametrize("role", contract())
def test_the_most_demanding_form_comes_first_and_json_has_no_blobs(role: str) -> None:
    model = contract()[role]
    forms = known_good(role, ADDRESS, binding(role))
    blobs = [[part.kind for part in form.parts].count("blob") for form in forms]
    assert blobs == [len(model.inputs), len(model.inputs), 0]
    asked = [b'"binary_data":true' in b"".join(form.request.http1) for form in forms]
    assert asked == [True, False, False]
    (alone,) = known_good(role, ADDRESS, binding(role), form="json")
    assert alone.request == forms[-1].request
    assert HEADER_LENGTH not in dict(alone.request.head.fields)
    assert parse_json(b"".join(alone.request.body))["inputs"]
    assert all({item.form for item in form.expected} == {"any"} for form in forms)


def test_a_canary_is_exact_in_any_form_or_says_what_is_wrong() -> None:
    expected = PREPARED.expected
    assert canary_problem(expected, exchange_of(GOOD)) is None
    assert canary_problem(expected, exchange_of(GOOD_JSON)) is None
    encoded = encode("gzip", GOOD.partition(b"\r\n\r\n")[2])
    length = GOOD.partition(f"{HEADER_LENGTH}: ".encode())[2].partition(b"\r\n")[0].decode()
    fields = (("Content-Encoding", "gzip"), (HEADER_LENGTH, length))
    assert canary_problem(expected, exchange_of(http(encoded, 200, *fields))) is None
    other = canary_problem(expected, exchange_of(v2(answer(sized()), BLOB[::-1])))
    assert isinstance(other, kinds.WrongValue)
    assert other.difference.element == 0
    refused = canary_problem(expected, exchange_of(http(b"", 503)))
    assert refused == kinds.WrongStatus("200", 503, "")
    assert canary_problem(expected, exchange_of(GOOD + b"xy")) is None  # C5 has a case for that
    ended = canary_problem(expected, exchange_of(b"", Ending.CLOSED, "reset\n"))
    assert ended == kinds.NoResponse("closed", "reset\\n")


def test_a_server_that_answered_none_exactly_must_answer_as_at_first() -> None:
    refusal, silence = exchange_of(http(b"no", 503)), exchange_of(b"", Ending.TIMEOUT)
    assert (answer_of(refusal), answer_of(silence)) == ("status 503", "timeout")
    for first, other in (("status 503", "timeout"), ("timeout", "status 503")):
        same, changed = (refusal, silence) if first == "status 503" else (silence, refusal)
        assert problem_with(PREPARED, first, same) is None
        assert problem_with(PREPARED, first, changed) == kinds.ChangedAnswer(first, other)
    wrong = exchange_of(http(b"{}"))
    assert problem_with(PREPARED, "status 503", wrong) == kinds.ChangedAnswer(
        "status 503", "status 200"
    )


def test_two_servers_behind_one_address_may_blame_a_request_with_two_statuses() -> None:
    for one, other in ((400, 422), (415, 406)):
        assert problem_with(PREPARED, f"status {one}", exchange_of(http(b"no", other))) is None
    for status in (200, 401, 404, 500):  # the request may be served, or the model is gone
        changed = problem_with(PREPARED, "status 400", exchange_of(http(b"{}", status)))
        assert changed == kinds.ChangedAnswer("status 400", f"status {status}")
    changed = problem_with(PREPARED, "status 503", exchange_of(http(b"no", 400)))
    assert changed == kinds.ChangedAnswer("status 503", "status 400")


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_asks_to_wait_has_not_answered(status: int) -> None:
    busy = exchange_of(http(b"later", status, ("Retry-After", "7")))
    for expected in (None, f"status {status}"):
        assert problem_with(PREPARED, expected, busy) == kinds.Unavailable(status, "7", "later")


def response(status: int, *fields: tuple[str, object]) -> Response:
    found = exchange_of(http(b"later", status, *fields)).response
    assert found is not None
    return found


@pytest.mark.parametrize("status", [200, 400, 429, 500, 502, 503, 504])
def test_gateway_errors_and_429_are_unavailability(status: int) -> None:
    expected = status in (429, 502, 503, 504)
    assert unavailable(exchange_of(http(b"", status))) is expected
    behind = ResponseReader(Limits(), answers=2)
    behind.feed(http(b"") + http(b"later", status))
    assert unavailable(exchange_of(http(b""), response=behind.response())) is expected


def test_no_answer_is_not_unavailability() -> None:
    assert not unavailable(exchange_of(b"", Ending.REFUSED))


def test_a_server_asks_to_wait_with_429_or_with_503_and_retry_after() -> None:
    assert asks_to_wait(response(429))
    assert asks_to_wait(response(503, ("Retry-After", "soon")))
    assert not asks_to_wait(response(503))
    assert not asks_to_wait(response(502, ("Retry-After", "1")))
    assert plea(response(429)) == kinds.Unavailable(429, None, "later")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("0", 0.0), ("120", 120.0), ("-1", None), ("1.5", None), ("9" * 5000, None), ("", None)],
)
def test_retry_after_is_seconds_or_nothing(value: str, seconds: float | None) -> None:
    assert retry_after_s(response(503, ("Retry-After", value))) == seconds


def test_down_if_only_a_gateway_answers() -> None:
    own = b'{"error": "busy"}'
    up = [http(), http(b"", 404), http(b"", 429), http(b"", 503, ("Retry-After", "1"))]
    assert not any(down(exchange_of(answer)) for answer in [*up, http(own, 503)])
    gone = [exchange_of(b"", ending) for ending in (Ending.REFUSED, Ending.TIMEOUT)]
    gone += [exchange_of(http(b"", status)) for status in (502, 503, 504)]
    assert all(map(down, [*gone, exchange_of(http(own, 502))]))
