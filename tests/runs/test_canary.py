"""Known-good requests and their answers; how long a run waits for a server that is busy."""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from support.cases import binding
from support.connections import FakeConnection, instant_patience
from support.responses import answer, exchange_of, http, sized, v2
from v2_conformance.conversations.discovery import Server
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.runs.canary import TIMES, Canary
from v2_conformance.runs.patience import liveness
from v2_conformance.runs.repeating import Repeats
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import ChangedAnswer, WrongShape, WrongStatus
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.encode.deployment import Address
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending
from v2_conformance.wire.transport import Head, Request

ROLE = "identity/INT32"
EXACT = exchange_of(v2(answer(sized()), struct.pack("<3i", 1, 1, 1)))
WRONG = exchange_of(v2(answer(sized()), struct.pack("<3i", 1, 1, 2)))
REFUSES = exchange_of(http(b"no", 500))
SILENT = exchange_of(b"", Ending.TIMEOUT, "no complete response in time")
CLOSES = exchange_of(b"", Ending.CLOSED, "the server closed the connection")
GATEWAY = exchange_of(http(b"", 502))
ALIVE = exchange_of(http(b"", 200))
BUSY = exchange_of(http(b"later", 503, ("Retry-After", "1")))
AWAY = exchange_of(b"", Ending.REFUSED, "Connection refused")
WAITS = "to wait (Retry-After: 1)"


@pytest.fixture
def canary() -> Canary:
    server = Server(ServerInfo("s", "1", ()), {ROLE: binding()})
    return Canary(Target("http://host:1"), server, instant_patience(3.0)[0])


@pytest.mark.parametrize(
    ("replies", "silences"),
    [
        ([EXACT], ["", "", ""]),  # asked once
        ([SILENT] * 3, ["no complete response in time"] * 2),  # it stays silent
        ([AWAY] * 12 + [EXACT], ["Connection refused", ""]),
        ([GATEWAY] * 2 + [EXACT], [""]),
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


def test_beside_other_cases_only_an_exact_answer_is_kept(canary: Canary) -> None:
    replies = FakeConnection(REFUSES, REFUSES, REFUSES, EXACT)
    assert "while other cases ran" in canary.calibrate(ROLE, replies, alone=False)
    assert [canary.calibrate(ROLE, replies, alone=False) for _ in range(2)] == ["", ""]
    assert canary.expected(ROLE) is None


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
    # Tensors that are wrong may be right the next time, and what got no answer is sent again.
    again = {id(WRONG): 3, id(CLOSES): 9}.get(id(first), 0)
    replies = FakeConnection(*[first] * (4 + again), later)
    assert canary.calibrate(ROLE, replies) == ""
    assert canary.expected(ROLE) == expected
    assert canary.send(ROLE, replies).problem is None
    assert canary.send(ROLE, replies).problem == ChangedAnswer(expected, changed)


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
    lost = [*[GATEWAY] * 4, ALIVE, GATEWAY] if asked else [GATEWAY] * 2
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


# Patience.

GOOD = exchange_of(http(b"good"))
LATE = replace(GATEWAY, duration_ms=15_000.0)
REQUEST = Request(Head("GET", "/"), (), (b"GET / HTTP/1.1\r\n\r\n",))


def busy(after: str) -> Exchange:
    return exchange_of(http(b"", 503, ("Retry-After", after)))


class Busy(FakeConnection):
    """Answers as told, the last answer again and again; its time passes only in pauses."""

    def __init__(self, *answers: Exchange, limit_s: float = 10.0) -> None:
        super().__init__(*answers, repeats=True)
        self.patience, self.pauses = instant_patience(limit_s)

    def ask(self, *, unasked: bool = True) -> tuple[Exchange, bool]:
        return self.patience.exchange(self, REQUEST, unasked=unasked)


@pytest.mark.parametrize(
    ("answers", "unasked", "last", "tries", "pauses"),
    [
        # A gateway that lost its connection is asked again at once, a slow one is not.
        ([GATEWAY, GATEWAY, GATEWAY, GOOD], False, GOOD, 4, []),
        ([GATEWAY], False, GATEWAY, 4, []),
        ([LATE, LATE, GOOD], False, LATE, 1, []),
        ([LATE, GOOD], True, GOOD, 2, [0.05]),
        ([GATEWAY, AWAY], True, AWAY, 2, []),  # it went away meanwhile
        # One that asks to wait is waited for within bounds.
        ([busy("3"), GOOD], False, GOOD, 2, [3.0]),
        ([busy("0"), GOOD], False, GOOD, 2, [0.05]),
        ([busy("86400"), GOOD], False, GOOD, 2, [10.0]),
        ([busy("9" * 400), GOOD], False, GOOD, 2, [0.05]),
        ([busy("soon"), GOOD], False, GOOD, 2, [0.05]),
    ],
)
def test_an_unavailable_server_is_asked_again(
    answers: list[Exchange], unasked: bool, last: Exchange, tries: int, pauses: list[float]
) -> None:
    server = Busy(*answers)
    assert server.ask(unasked=unasked) == (last, tries > 1 or last is LATE)
    assert server.fresh == [False, *[True] * (tries - 1)]
    assert server.pauses == pauses


@pytest.mark.parametrize(
    ("status", "carried", "rate"),
    [(200, 8e5, 1e5), (200, 1e9, 1 << 20), (200, 1e3, 1 << 13), (413, 1e9, 1 << 18)],
)
def test_long_messages_get_the_time_of_their_path(status: int, carried: float, rate: float) -> None:
    answer = http(bytes(1_000_000), status)
    server = Busy(exchange_of(answer, duration_ms=1000 * len(answer) / carried))
    server.ask()
    server.ask()
    assert [one.rate for one in server.requests] == [1 << 18, pytest.approx(rate)]


@pytest.mark.parametrize(("answer", "limit_s"), [(GATEWAY, 1.0), (busy("0"), 2.0)])
def test_waiting_for_one_answer_takes_no_longer_than_the_limit(
    answer: Exchange, limit_s: float
) -> None:
    server = Busy(answer, limit_s=2.0)
    assert server.ask() == (answer, True)
    assert sum(server.pauses) == pytest.approx(limit_s)


def test_a_server_is_waited_for_as_often_as_it_keeps_its_word() -> None:
    faithful = Busy(*[busy("5"), GOOD] * 20)
    assert [faithful.ask()[0] for _ in range(20)] == [GOOD] * 20
    server = Busy(busy("5"))
    for _ in range(3):
        server.ask()
    waited, asked = len(server.pauses), len(server.fresh)
    server.ask()
    assert (len(server.pauses), len(server.fresh)) == (waited, asked + 1)


@pytest.mark.parametrize(
    ("refusal", "pauses"), [(busy("0"), [0.05] * 2), (exchange_of(http(b"", 503)), [])]
)
def test_no_more_requests_are_sent_at_a_time_than_the_server_went_on_with(
    refusal: Exchange, pauses: list[float]
) -> None:
    class Narrow(Busy):
        """Takes two requests at a time, each of which takes a moment; four come at once."""

        first, free = threading.Barrier(4), threading.Semaphore(2)

        def exchange(self, request: Request, *, fresh: bool = False) -> Exchange:
            taken = self.free.acquire(blocking=False)
            if not self.requests:
                self.first.wait()
            self.requests.append(request)
            threading.Event().wait(0.002 * taken)
            if taken:
                self.free.release()
            return GOOD if taken else refusal

    server = Narrow()
    with ThreadPoolExecutor(4) as pool:
        assert {one[0] for one in pool.map(lambda _: server.ask(), range(40))} == {GOOD}
    assert server.pauses == pauses


@pytest.mark.parametrize(("answer", "told"), [(GATEWAY, [4]), (busy("1"), [])])
def test_whoever_waits_is_told_when_trying_again_at_once_did_not_help(
    answer: Exchange, told: list[int]
) -> None:
    server, found = Busy(*[answer] * 6, GOOD), list[int]()
    server.patience.exchange(
        server, REQUEST, unasked=True, at_loss=lambda: found.append(len(server.fresh))
    )
    assert found == told


@pytest.mark.parametrize(
    ("answers", "last"), [((GATEWAY, GATEWAY, GOOD), GOOD), ((GATEWAY,), GATEWAY), ((AWAY,), AWAY)]
)
def test_liveness_is_asked_past_connections_that_a_gateway_lost(
    answers: tuple[Exchange, ...], last: Exchange
) -> None:
    server = Busy(*answers)
    assert liveness(server, Address("host", "/prefix")) is last
    assert {request.head.target for request in server.requests} == {"/prefix/v2/health/live"}
    assert len(server.requests) <= 4
