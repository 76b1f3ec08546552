"""Canaries are calibrated once; what is wrong with a later answer is a cause."""

from __future__ import annotations

import struct

import pytest

from support.cases import binding
from support.connections import FakeConnection, instant_patience
from support.responses import answer, entry, exchange_of, http, sized, v2
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.runs import canary as canary_module
from v2_conformance.runs.canary import Canary
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.kinds import ChangedAnswer, WrongStatus
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending

ROLE = "identity/INT32"
EXACT = exchange_of(v2(answer(sized()), struct.pack("<3i", 1, 1, 1)))
EXACT_JSON = exchange_of(v2(answer(entry(data=[1, 1, 1]))))
WRONG = exchange_of(v2(answer(sized()), struct.pack("<3i", 1, 1, 2)))
REFUSES = exchange_of(http(b"no", 500))
SILENT = exchange_of(b"", Ending.TIMEOUT, "no complete response in time")
CLOSES = exchange_of(b"", Ending.CLOSED, "the server closed the connection")
BAD_GATEWAY = exchange_of(http(b"", 502))
ALIVE = exchange_of(http(b"", 200))
BUSY = exchange_of(http(b"later", 503, ("Retry-After", "1")))
AWAY = exchange_of(b"", Ending.REFUSED, "Connection refused")


def new_canary() -> Canary:
    return Canary(
        Target("http://host:1"), Server("s", "1", (), {ROLE: binding()}), instant_patience(3.0)[0]
    )


def test_the_first_form_that_is_answered_exactly_is_the_canary() -> None:
    replies = FakeConnection(REFUSES, WRONG, EXACT_JSON, WRONG, EXACT_JSON)
    canary = new_canary()
    assert canary.calibrate(ROLE, replies) == ""
    assert not replies.open
    assert canary.expected(ROLE) is None
    heard = canary.send(ROLE, replies)
    assert (heard.exchange.received, heard.problem) == (EXACT_JSON.received, None)
    assert replies.requests[4] == replies.requests[2]
    assert HEADER_LENGTH not in dict(replies.requests[4].head.fields)
    forms = [dict(request.head.fields).get(HEADER_LENGTH) for request in replies.requests[:3]]
    assert all(forms[:2])
    assert forms[2] is None


def test_a_model_is_calibrated_once() -> None:
    replies = FakeConnection(EXACT)
    canary = new_canary()
    assert [canary.calibrate(ROLE, replies) for _ in range(3)] == [""] * 3
    assert len(replies.requests) == 1


def test_a_canary_without_blobs_is_calibrated_by_itself() -> None:
    replies = FakeConnection(EXACT, REFUSES, WRONG, EXACT)
    canary = new_canary()
    canary.calibrate(ROLE, replies)
    canary.calibrate(ROLE, replies, form="json")
    assert (canary.expected(ROLE), canary.expected(ROLE, form="json")) == (None, "status 500")
    assert canary.send(ROLE, replies, form="json").problem == ChangedAnswer(
        "status 500", "status 200"
    )
    assert canary.send(ROLE, replies).problem is None
    assert not replies.replies


@pytest.mark.parametrize(
    ("first", "expected", "later", "changed"),
    [
        (REFUSES, "status 500", WRONG, "status 200"),
        (WRONG, "status 200", REFUSES, "status 500"),
        (CLOSES, "closed", SILENT, "timeout"),
    ],
)
def test_a_server_that_is_exact_in_no_form_must_answer_as_at_first(
    first: Exchange, expected: str, later: Exchange, changed: str
) -> None:
    # Tensors that are wrong may be right the next time, and what got no answer is sent again.
    again = {id(WRONG): 3, id(CLOSES): 9}.get(id(first), 0)
    replies = FakeConnection(*[first] * (4 + again), later)
    canary = new_canary()
    assert canary.calibrate(ROLE, replies) == ""
    assert canary.expected(ROLE) == expected
    assert canary.send(ROLE, replies).problem is None
    assert canary.send(ROLE, replies).problem == ChangedAnswer(expected, changed)


def test_a_model_that_answers_no_form_at_all_is_silent_and_stays_so() -> None:
    replies = FakeConnection(SILENT, SILENT, SILENT)
    canary = new_canary()
    for _ in range(2):
        assert canary.calibrate(ROLE, replies) == "no complete response in time"
    assert not replies.replies


def test_an_unavailable_server_is_asked_again_before_a_model_is_judged() -> None:
    canary, replies = new_canary(), FakeConnection(*[AWAY] * 12, EXACT)
    assert canary.calibrate(ROLE, replies) == "Connection refused"
    assert canary.calibrate(ROLE, replies) == ""
    assert canary.expected(ROLE) is None


def test_an_answer_that_was_right_is_right_again_without_another_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    replies = FakeConnection(EXACT, EXACT, EXACT, WRONG)
    canary = new_canary()
    canary.calibrate(ROLE, replies)
    assert canary.send(ROLE, replies).problem is None

    def never(*_: object) -> None:
        raise AssertionError("judged again")

    monkeypatch.setattr(canary_module, "problem_with", never)
    assert canary.send(ROLE, replies).problem is None
    with pytest.raises(AssertionError, match="judged again"):
        canary.send(ROLE, replies)


def test_a_server_that_becomes_exact_has_survived_and_must_stay_so() -> None:
    replies = FakeConnection(REFUSES, REFUSES, REFUSES, EXACT, REFUSES)
    canary = new_canary()
    canary.calibrate(ROLE, replies)
    assert canary.send(ROLE, replies).problem is None
    assert canary.expected(ROLE) is None
    assert canary.send(ROLE, replies).problem == WrongStatus("200", 500, "no")


def test_a_server_that_is_unavailable_at_first_is_waited_for() -> None:
    replies = FakeConnection(BAD_GATEWAY, BAD_GATEWAY, EXACT)
    canary = new_canary()
    assert canary.calibrate(ROLE, replies) == ""
    assert canary.expected(ROLE) is None


def test_a_server_that_only_asks_to_wait_is_asked_again_by_the_next_case() -> None:
    replies = FakeConnection(*[BUSY] * 4, EXACT)
    canary = new_canary()
    assert "to wait (Retry-After: 1)" in canary.calibrate(ROLE, replies)
    assert canary.calibrate(ROLE, replies) == ""
    assert not replies.replies


def test_a_fresh_canary_is_sent_again_while_a_gateway_cannot_reach_the_server() -> None:
    replies = FakeConnection(EXACT, BAD_GATEWAY, BAD_GATEWAY, EXACT)
    canary = new_canary()
    canary.calibrate(ROLE, replies)
    heard = canary.send_patiently(ROLE, replies)
    assert (heard.problem, heard.liveness) == (None, None)
    assert heard.exchange == EXACT.for_purpose(Purpose.CANARY_FRESH)


def test_a_gateway_that_reaches_no_server_is_asked_whether_it_is_alive() -> None:
    replies = FakeConnection(EXACT, *[BAD_GATEWAY] * 4, ALIVE, BAD_GATEWAY, EXACT)
    canary = new_canary()
    canary.calibrate(ROLE, replies)
    heard = canary.send_patiently(ROLE, replies)
    assert (heard.problem, heard.liveness) == (None, ALIVE)
    assert heard.exchange == EXACT.for_purpose(Purpose.CANARY_FRESH)
    path = replies.requests[-3].head.target
    assert path == "/v2/health/live"
