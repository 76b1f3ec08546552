"""Servers that change while a run lasts: they die, flap, mix answers up, or make everybody wait."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from itertools import count

from hostile.bounds_kinds import DISCOVERY, MIB, MODEL, NO_TARGET, stalls
from hostile.kit import (
    INFER,
    MARK,
    NO_ANSWER,
    UNREADABLE,
    Answer,
    Change,
    Start,
    add,
    always,
    anew,
    answering,
    changing,
    faulty,
)
from hostile.message_kinds import FAILED
from support.responses import http, v2
from support.servers import Peer, Scripted, served

READY = b"GET /v2/health/ready "
GONE = dict.fromkeys(("H1", "P2", "R3", *NO_ANSWER), "inconclusive")


def _from(number: int, change: Change) -> Answer:
    """Changes the answers from the request of this number on."""
    turns = count(1)

    def answer(peer: Peer, request: bytes) -> None:
        good = served(request)
        peer.send(good if next(turns) < number else change(good))

    return answer


def _dying(number: int, *, at: bytes = b"") -> Start:
    """A server that is gone, its port too, once it gets its `number`-th request with `at`."""

    @contextlib.contextmanager
    def start() -> Iterator[str]:
        turns = count(1)
        running: list[Scripted] = []

        def talk(peer: Peer) -> None:
            while True:
                request = peer.request()
                if at in request and next(turns) >= number:
                    running[0].die()
                    return
                peer.send(served(request))

        server = Scripted((talk,), None)
        running.append(server)
        try:
            yield server.url
        finally:
            server.close()

    return start


def _previous() -> Answer:
    """Answers each inference as it should have answered the one before."""
    before = [http(b'{"error":"none yet"}', 400)]

    def answer(peer: Peer, request: bytes) -> None:
        peer.send(before[0])
        before[0] = served(request)

    return answer


def _every_other(change: Change) -> Answer:
    turns = count(1)

    def answer(peer: Peer, request: bytes) -> None:
        good = served(request)
        peer.send(change(good) if next(turns) % 2 else good)

    return answer


@contextlib.contextmanager
def _never_accepts() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


MODELS = v2({"name": "x", "version": "1", "extensions": [], "models": ["model"] * MIB})
EXTENSIONS = v2({"name": "x", "version": "1", "extensions": [f"e{n}" for n in range(10_000)]})


def _other_datatype(good: bytes) -> bytes:
    return good.replace(b"INT32", b"INT16")


# Death

add("dies at the first request", _dying(1), code=3, says=NO_TARGET)
add("dies at the first model", _dying(1, at=MODEL), code=3, says=NO_TARGET)
add("dies at the first inference", _dying(1, at=INFER), outcomes=GONE)
add("dies at the request of one case", _dying(1, at=MARK),
    outcomes={"H1": "fail", "R3": "not_run"})  # fmt: skip
works = always(http(b"<html>It works!</html>"))
add("the port goes to another server", anew(lambda: _from(25, works)), outcomes=FAILED)

# Availability

add("readiness that flaps", anew(lambda: _every_other(lambda good: http(b"", 503)), READY))
add("never ready", changing(always(http(b"", 503)), READY), options=("--wait-ready", "1"),
    code=3, says="is not ready")  # fmt: skip
for value in ("0", str(10**30), "Fri, 31 Dec 9999 23:59:59 GMT", "soon"):
    wait = always(http(b"", 503, ("Retry-After", value)))
    add(f"503 with Retry-After: {value}", changing(wait, INFER),
        outcomes=GONE, timeout=0.5)  # fmt: skip
# A gateway's answer: the request goes out again, and the right answer counts.
add("502 every other time", anew(lambda: _every_other(lambda good: http(b"", 502)), INFER))
add("never accepts", _never_accepts, timeout=0.5, code=3, says=NO_TARGET)

# Answers that are somebody else's

add("the answer to the request before", anew(_previous, INFER), outcomes=UNREADABLE)

# Metadata

add("a million models", changing(always(MODELS), DISCOVERY), code=3,
    says="longer than 1048576 bytes")  # fmt: skip
add("10^4 extensions", changing(always(EXTENSIONS), DISCOVERY))
add("metadata of models that changes", anew(lambda: _every_other(_other_datatype), MODEL))
add("no models", changing(always(http(b"{}", 404)), MODEL), code=4)

# What a server serves, and what it lets hang

add("stalls on a request that it should reject", answering(stalls(), b'"shape":[4]'),
    code=0, outcomes={"R3": "fail"}, timeout=1, slow=True)  # fmt: skip
# Long before the time limit of a run: a hang for each of hundreds of cases would take an hour.
add("whole run: wrong sizes never answered", faulty("wrong-sizes-never-answered"), cases=(), code=1,
    outcomes=None, timeout=10, seconds=90, mib=300, slow=True)  # fmt: skip
