"""Whether a server is there, by its answers, and how long to wait for one that is not."""

from __future__ import annotations

import pytest

from support.responses import exchange_of, http
from v2_conformance.judging.availability import asks_to_wait, down, plea, retry_after_s, unavailable
from v2_conformance.suite.causes.kinds import Unavailable
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, Limits, Response
from v2_conformance.wire.response_reader import ResponseReader


def response(status: int, *fields: tuple[str, object]) -> Response:
    found = exchange_of(http(b"later", status, *fields)).response
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("status", "expected"),
    [(200, False), (400, False), (429, True), (500, False), (502, True), (503, True), (504, True)],
)
def test_gateway_errors_and_429_are_unavailability(status: int, expected: bool) -> None:
    assert unavailable(exchange_of(http(b"", status))) is expected


@pytest.mark.parametrize(("second", "expected"), [(200, False), (503, True), (429, True)])
def test_the_answer_to_a_request_behind_counts_as_well(second: int, expected: bool) -> None:
    reader = ResponseReader(Limits(), answers=2)
    reader.feed(http(b"") + http(b"later", second))
    found = exchange_of(http(b""), response=reader.response())
    assert unavailable(found) is expected


def test_no_answer_is_not_unavailability() -> None:
    assert not unavailable(exchange_of(b"", Ending.REFUSED))


def test_a_server_asks_to_wait_with_429_or_with_503_and_retry_after() -> None:
    assert asks_to_wait(response(429))
    assert asks_to_wait(response(503, ("Retry-After", "soon")))
    assert not asks_to_wait(response(503))
    assert not asks_to_wait(response(502, ("Retry-After", "1")))
    assert plea(response(429)) == Unavailable(429, None, "later")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        ("999999999", 999999999.0),
        ("-1", None),
        ("1.5", None),
        ("9" * 5000, None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_seconds_or_nothing(value: str, seconds: float | None) -> None:
    assert retry_after_s(response(503, ("Retry-After", value))) == seconds


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (exchange_of(http()), False),
        (exchange_of(http(b"", 404)), False),
        (exchange_of(http(b"", 429)), False),
        (exchange_of(http(b"", 503, ("Retry-After", "1"))), False),
        (exchange_of(http(b"", 502)), True),
        (exchange_of(http(b"", 503)), True),
        (exchange_of(http(b"", 504)), True),
        (exchange_of(b"", Ending.REFUSED), True),
        (exchange_of(b"", Ending.TIMEOUT), True),
    ],
)
def test_down_if_only_a_gateway_answers(answer: Exchange, expected: bool) -> None:
    assert down(answer) is expected
