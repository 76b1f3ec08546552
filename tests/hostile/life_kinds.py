"""Servers that change while a run lasts: they die, flap, mix answers up, or make everybody wait."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

from hostile.bounds_kinds import DISCOVERY, MIB, MODEL, NO_TARGET, stalls
from hostile.http_kinds import INFER, NO_ANSWER, UNREADABLE
from hostile.kit import (
    MARK,
    Answer,
    Change,
    Start,
    Turns,
    add,
    always,
    anew,
    answering,
    changing,
    faulty,
)
from hostile.message_kinds import FAILED
from support.responses import http, v2
from support.servers import Peer, Scripted, served, serving
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Response
from v2_conformance.reference.server import ReferenceServer

READY = b"GET /v2/health/ready "
GONE = dict.fromkeys(("H1", "P2", "R3", *NO_ANSWER), "inconclusive")


def _from(number: int, change: Change) -> Answer:
    """Changes the answers from the request of this number on."""
    turns = Turns()

    def answer(peer: Peer, request: bytes) -> None:
        good = served(request)
        peer.send(good if turns.next() < number else change(good))

    return answer


def _dying(number: int, *, at: bytes = b"") -> Start:
    """A server that is gone, its port too, once it gets its `number`-th request with `at`."""

    @contextlib.contextmanager
    def start() -> Iterator[str]:
        turns = Turns()
        running: list[Scripted] = []

        def talk(peer: Peer) -> None:
            while True:
                request = peer.request()
                if at in request and turns.next() >= number:
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


def _shifted(good: bytes) -> bytes:
    """Every byte of the body one place later, the last one lost."""
    return good.replace(b"\r\n\r\n", b"\r\n\r\n ", 1)[:-1]


def _differently() -> Answer:
    """Adds one to another number of the blob each time."""
    turns = Turns()

    def answer(peer: Peer, request: bytes) -> None:
        good = bytearray(served(request))
        if good.startswith(b"HTTP/1.1 200"):
            good[-1 - turns.next() % 32] ^= 1
        peer.send(bytes(good))

    return answer


def _every_other(change: Change) -> Answer:
    turns = Turns()

    def answer(peer: Peer, request: bytes) -> None:
        good = served(request)
        peer.send(change(good) if turns.next() % 2 else good)

    return answer


def _late(after_s: float, surplus: bytes = b"") -> Answer:
    """Waits before it answers, and again before it sends the surplus."""

    def answer(peer: Peer, request: bytes) -> None:
        peer.left(within_s=after_s)
        peer.send(served(request))
        peer.left(within_s=after_s)
        peer.send(surplus)

    return answer


def _echo(peer: Peer, request: bytes) -> None:
    peer.send(http(request))


@contextlib.contextmanager
def _answers_unasked() -> Iterator[str]:
    """Answers an inference before it reads what to compute."""

    def talk(peer: Peer) -> None:
        while True:
            early = INFER in peer.head_of_next()
            if early:
                peer.send(v2({"id": "x", "outputs": []}))
            request = peer.request()
            if not early:
                peer.send(served(request))

    with serving(talk) as server:
        yield server.url


@contextlib.contextmanager
def _never_accepts() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextlib.contextmanager
def _one_connection() -> Iterator[str]:
    """Serves one connection at a time; the next one waits until that has gone."""
    busy = threading.Lock()

    def talk(peer: Peer) -> None:
        with busy:
            while True:
                peer.send(served(peer.request()))

    with serving(talk) as server:
        yield server.url


@contextlib.contextmanager
def _killed() -> Iterator[str]:
    """The reference server in a process of its own, which is killed once it is in use."""
    program = "from v2_conformance.cli.main import main; main(['serve', '--port', '0'])"
    with subprocess.Popen(
        [sys.executable, "-u", "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[2]
        timer = threading.Timer(2.5, process.kill)
        timer.start()
        try:
            yield url
        finally:
            timer.cancel()
            process.kill()


@contextlib.contextmanager
def _reused() -> Iterator[str]:
    """After some requests another server, which is none of V2's, has the port."""
    with answering(_from(25, lambda good: http(b"<html>It works!</html>")))() as url:
        yield url


class _Surplus(Behaviour):
    def serialize(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        pieces = super().serialize(response, keep_open=keep_open, with_body=with_body)
        inferred = any(name == HEADER_LENGTH for name, _ in response.headers)
        return [*pieces, bytes(1 << 16)] if inferred else pieces


@contextlib.contextmanager
def _with_surplus() -> Iterator[str]:
    with ReferenceServer(_Surplus) as server:
        yield server.url


MODELS = v2({"name": "x", "version": "1", "extensions": [], "models": ["model"] * MIB})
EXTENSIONS = v2({"name": "x", "version": "1", "extensions": [f"e{n}" for n in range(10_000)]})


def _other_datatype(good: bytes) -> bytes:
    return good.replace(b"INT32", b"INT16")


# Death

for number in (1, 2, 5):
    add(f"dies at request {number}", _dying(number), code=3, says=NO_TARGET)
add("ready and then dead", _dying(1, at=DISCOVERY), code=3, says=NO_TARGET)
add("dies at the first model", _dying(1, at=MODEL), code=3, says=NO_TARGET)
add("dies at the first inference", _dying(1, at=INFER), outcomes=GONE)
add("dies at the request of one case", _dying(1, at=MARK),
    outcomes={"H1": "fail", "R3": "not_run"})  # fmt: skip
add("killed in the middle of a whole run", _killed, outcomes=None, cases=(), timeout=2, seconds=120,
    mib=300, slow=True)  # fmt: skip
add("the port goes to another server", _reused, outcomes=FAILED)

# Availability

add("readiness that flaps", anew(lambda: _every_other(lambda good: http(b"", 503)), READY))
add("never ready", changing(always(http(b"", 503)), READY), options=("--wait-ready", "1"),
    code=3, says="is not ready")  # fmt: skip
for value in ("1", "0", "-1", str(10**30), "Fri, 31 Dec 9999 23:59:59 GMT", "soon", ""):
    wait = always(http(b"", 503, ("Retry-After", value)))
    add(f"503 with Retry-After: {value}", changing(wait, INFER),
        outcomes=GONE, timeout=0.5)  # fmt: skip
add("503 for everything", changing(always(http(b"", 503))), code=3, says=NO_TARGET,
    timeout=0.5, options=("--wait-ready", "1"))  # fmt: skip
# A gateway's answer: the request goes out again, and the right answer counts.
add("502 every other time", anew(lambda: _every_other(lambda good: http(b"", 502)), INFER))
add("never accepts", _never_accepts, timeout=0.5, code=3, says=NO_TARGET)
add("one connection at a time", _one_connection)
add("a pause before each answer", answering(_late(0.05)))

# Answers that are somebody else's

add("the answer to the request before", anew(_previous, INFER), outcomes=UNREADABLE)
add("another answer each time", anew(_differently, INFER), outcomes=FAILED)
add("an answer that is shifted every other time", anew(lambda: _every_other(_shifted), INFER),
    outcomes=None)  # fmt: skip
add("answers of connections that are swapped", faulty("concurrent-requests-mixed"),
    cases=("C6/*",), outcomes={"C6": "fail"})  # fmt: skip
add("an echo of the request", answering(_echo, INFER), outcomes=FAILED)
add("an echo of every request", answering(_echo), code=3, says="not with V2")
add("an answer before the request is read", _answers_unasked, outcomes=FAILED)
add("a page for everything", changing(always(http(b"<html>Sign in</html>"))), code=3,
    says="HTML")  # fmt: skip
# Whether they are found after a response or before the next one is a matter of chance.
for surplus in (b"x", b"\r\n", b"{}" * 500, http(b"{}")):
    add(f"{len(surplus)} bytes that come late", answering(_late(0.001, surplus), INFER),
        outcomes=None)  # fmt: skip

# Metadata

add("a million models", changing(always(MODELS), DISCOVERY), code=3,
    says="longer than 1048576 bytes")  # fmt: skip
add("10^4 extensions", changing(always(EXTENSIONS), DISCOVERY))
add("metadata of models that changes", anew(lambda: _every_other(_other_datatype), MODEL))
add("no models", changing(always(http(b"{}", 404)), MODEL), code=4)

# What a server serves, and what it lets hang

add("stalls on a request that it should reject", answering(stalls(), b'"shape":[4]'),
    code=0, outcomes={"R3": "fail"}, timeout=1, slow=True)  # fmt: skip
add("64 KiB after each answer of a whole run", _with_surplus, cases=(), outcomes=None,
    seconds=120, mib=300, slow=True)  # fmt: skip
# Long before the time limit of a run: a hang for each of hundreds of cases would take an hour.
for fault in ("wrong-sizes-never-answered", "lock-kept-if-client-leaves"):
    add(f"whole run: {fault}", faulty(fault), cases=(), code=1, outcomes=None, timeout=10,
        seconds=90, mib=300, slow=True)  # fmt: skip
