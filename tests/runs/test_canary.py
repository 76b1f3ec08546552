"""Canaries are calibrated once; what is wrong with a later answer is a cause."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from support.cases import binding
from support.connections import FakeConnection, instant_patience
from support.responses import answer, entry, exchange_of, http, sized, v2
from v2_conformance.runs import canary as canary_module
from v2_conformance.runs.canary import TIMES, Canary
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.repeating import Repeats
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import ChangedAnswer, WrongShape, WrongStatus
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
WAITS = "to wait (Retry-After: 1)"


@pytest.fixture
def canary() -> Canary:
    server = Server("s", "1", (), {ROLE: binding()})
    return Canary(Target("http://host:1"), server, instant_patience(3.0)[0])


def test_a_canary_without_blobs_is_calibrated_by_itself(canary: Canary) -> None:
    replies = FakeConnection(EXACT, REFUSES, WRONG, EXACT)
    canary.calibrate(ROLE, replies)
    canary.calibrate(ROLE, replies, form="json")
    assert (canary.expected(ROLE), canary.expected(ROLE, form="json")) == (None, "status 500")
    changed = ChangedAnswer("status 500", "status 200")
    assert canary.send(ROLE, replies, form="json").problem == changed
    assert canary.send(ROLE, replies).problem is None
    assert not replies.replies


@pytest.mark.parametrize(
    ("replies", "silences"),
    [
        ([EXACT], ["", "", ""]),  # asked once
        ([SILENT] * 3, ["no complete response in time"] * 2),  # it stays silent
        ([AWAY] * 3 + [EXACT], ["Connection refused", ""]),
        ([BAD_GATEWAY] * 2 + [EXACT], [""]),
        ([BUSY] * 4 + [EXACT], [WAITS, ""]),
    ],
)
def test_a_model_is_calibrated_until_its_answers_say_enough(
    replies: list[Exchange], silences: list[str], canary: Canary
) -> None:
    connection = FakeConnection(*replies)
    for silence in silences:
        said = canary.calibrate(ROLE, connection)
        assert silence in said
        assert bool(silence) == bool(said)
    assert not connection.replies
    assert silences[-1] or canary.expected(ROLE) is None


@pytest.mark.parametrize(
    ("first", "expected", "later", "changed"),
    [
        (REFUSES, "status 500", WRONG, "status 200"),
        (WRONG, "status 200", REFUSES, "status 500"),
        (CLOSES, "closed", SILENT, "timeout"),
    ],
)
def test_a_server_that_is_exact_in_no_form_must_answer_as_at_first(
    first: Exchange, expected: str, later: Exchange, changed: str, canary: Canary
) -> None:
    again = 3 if first is WRONG else 0  # tensors that are wrong may be right the next time
    replies = FakeConnection(*[first] * (4 + again), later)
    assert canary.calibrate(ROLE, replies) == ""
    assert canary.expected(ROLE) == expected
    assert canary.send(ROLE, replies).problem is None
    assert canary.send(ROLE, replies).problem == ChangedAnswer(expected, changed)


def test_an_answer_that_was_right_is_right_again_without_another_look(
    canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = FakeConnection(EXACT, EXACT, EXACT, WRONG)
    canary.calibrate(ROLE, replies)
    assert canary.send(ROLE, replies).problem is None

    def never(*_: object) -> None:
        raise AssertionError("judged again")

    monkeypatch.setattr(canary_module, "problem_with", never)
    assert canary.send(ROLE, replies).problem is None
    with pytest.raises(AssertionError, match="judged again"):
        canary.send(ROLE, replies)


def test_a_server_that_becomes_exact_has_survived_and_must_stay_so(canary: Canary) -> None:
    replies = FakeConnection(REFUSES, REFUSES, REFUSES, EXACT, REFUSES)
    canary.calibrate(ROLE, replies)
    assert canary.send(ROLE, replies).problem is None
    assert canary.expected(ROLE) is None
    assert canary.send(ROLE, replies).problem == WrongStatus("200", 500, "no")


@pytest.mark.parametrize("asked", [False, True])
def test_a_gateway_that_reaches_no_server_is_asked_whether_it_is_alive(
    asked: bool, canary: Canary
) -> None:
    lost = [*[BAD_GATEWAY] * 4, ALIVE, BAD_GATEWAY] if asked else [BAD_GATEWAY] * 2
    replies = FakeConnection(EXACT, *lost, EXACT)
    canary.calibrate(ROLE, replies)
    heard = canary.send_patiently(ROLE, replies)
    assert (heard.problem, heard.liveness) == (None, ALIVE if asked else None)
    assert heard.exchange == EXACT.for_purpose(Purpose.CANARY_FRESH)
    paths = [request.head.target for request in replies.requests]
    assert ("/v2/health/live" in paths) is asked


# How often an arbitrary model is asked again before a wrong value is blamed on its server.

NO_ANSWER = WrongStatus("200", 503, "")
ONE, OTHER = (WrongShape("OUTPUT0", (2,), (size,)) for size in (3, 4))


class Answers:
    """A canary that gets these answers in turn, and the last one for ever."""

    def __init__(self, answers: Sequence[Cause | None]) -> None:
        self.sent = 0
        self._answers = answers

    def expected(self, role: str) -> None:
        return None

    def send(self, role: str, connection: Any) -> Any:
        self.sent += 1
        return SimpleNamespace(problem=self._answers[min(self.sent, len(self._answers)) - 1])


@pytest.mark.parametrize(
    ("answers", "differs", "sent"),
    [
        ([None, None, ONE], True, 3),
        ([ONE, ONE, None], True, 3),
        ([ONE] * 2 * TIMES + [OTHER], True, 2 * TIMES + 1),
        ([NO_ANSWER] * 3 + [ONE, OTHER], True, 5),
        ([None], False, 200),
        ([NO_ANSWER], False, TIMES + 1),  # each may take the time limit
        ([ONE, NO_ANSWER], False, TIMES + 1),
    ],
)
def test_two_answers_with_values_differ(
    answers: list[Cause | None], differs: bool, sent: int
) -> None:
    asked: Any = Answers(answers)
    assert Repeats(asked)._plain_differs("role", asked) is differs
    assert asked.sent == sent
