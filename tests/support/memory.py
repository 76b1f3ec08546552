"""A transport in memory: the reference server reads requests and writes answers without a socket.

The server runs in the thread of the client, whenever that waits for an answer, so nothing depends
on chance. Time is counted, not spent: a client that gets no answer has waited until its limit.

What it cannot show needs sockets: requests at the same time, a server that waits, what a server
sends after its answer, and mutants that tell connections apart by their threads.

Requests are prepared once for all servers, and an answer is judged only if the reference server
without a mutant gives another one: see `Once`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from v2_conformance.conversations.steps import Result
from v2_conformance.judging.judge import judge
from v2_conformance.judging.observed.exchanges import observe
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.server import ServedConnection
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.patience import Patience
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.reaching import wait_until_ready
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.wire.encode.requests import prepare
from v2_conformance.wire.exchange import Body, Exchange, milliseconds, unsent
from v2_conformance.wire.response import Ending, Limits
from v2_conformance.wire.response_reader import ResponseReader, asks_for_no_body
from v2_conformance.wire.transport import Parting, Request, asks_to_close
from v2_mutants.servers import mutated

_LEAVES = (Parting.LEAVES, Parting.RESETS)
_MOMENT_S = 1.0


class _Idle(BaseException):
    """The server waits for the next request of a client that has its answer."""


class Memory:
    """A server in memory: connections to one behavior, with a clock of its own."""

    def __init__(self, behavior: Behavior, limits: Limits) -> None:
        self.behavior = behavior
        self.limits = limits
        self.now = 0.0
        self.listening = True
        self.once: Once | None = None

    def connection(self) -> MemoryConnection:
        """Return a new connection."""
        return MemoryConnection(self)

    def stop_listening(self) -> None:
        """Refuse connections from now on."""
        self.listening = False

    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class _Socket:
    """The server's end of a connection, and the client of one exchange after the other."""

    def __init__(self, server: Memory) -> None:
        self._server = server
        self._resets = self._shut = False

    def begin(self, request: Request, data: bytes) -> None:
        """Begin an exchange."""
        limits = self._server.limits
        limit_s = min(limits.exchange_s, request.limit_s or limits.exchange_s)
        self._limit_s = limit_s if request.parting is None else min(limit_s, _MOMENT_S)
        self._most = limits.response_to(len(data)) * request.answers
        self._request = request
        self._coming = deque(memoryview(piece) for piece in request.http1)
        self.sent = 0
        self.last = request.parting is Parting.HALF_CLOSES or asks_to_close(data)
        self._came = bytearray()
        self._read = 0  # how much of that the client has read
        self._began = self._server.now
        self.first_byte_s: float | None = None
        self.gone = self.left_open = False
        self.ending: Ending | None = None
        self.reader = ResponseReader(limits, request.answers, bodiless=asks_for_no_body(data))

    @property
    def elapsed_s(self) -> float:
        """How long the exchange has taken."""
        return self._server.now - self._began

    def recv(self, most: int) -> bytes:
        """Return what the client sends next; b"" once it has closed the connection."""
        if self._shut or self.gone:
            return b""
        if not self._coming or (self.sent and self._answered_in_pause()):
            return self._nothing_more()
        piece = self._coming.popleft()
        if len(piece) > most:
            self._coming.appendleft(piece[most:])
        self.sent += len(piece[:most])
        return bytes(piece[:most])

    def recv_into(self, buffer: memoryview) -> int:
        """Receive into `buffer`."""
        data = self.recv(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def sendall(self, data: bytes) -> None:
        """Send to the client, unless it is gone."""
        if self.gone or len(self._came) > self._most:
            raise ConnectionResetError("the client is gone")
        if self.first_byte_s is None and data:
            self.first_byte_s = self.elapsed_s
        self._came += data

    def shutdown(self, how: int) -> None:
        """Send nothing more."""
        self._shut = True

    def setsockopt(self, *option: object) -> None:
        """Reset the connection when it is closed: the server sets no other option."""
        self._resets = True

    def settimeout(self, seconds: float) -> None:
        """Nothing: a client sends at once, or closes the connection."""

    def close(self) -> None:
        """The server closes the connection."""
        self._hear()
        whole = self.reader.done or self.reader.error
        if not whole and self.ending is None:
            if self._resets:
                self.ending = Ending.RESET
            else:
                self.reader.feed(b"")

    def _answered_in_pause(self) -> bool:
        """Return True if the client has its answer, and so sends no further piece of its request.
        Let the pause before that piece pass, unless the server says something."""
        if not self._request.pause_s:
            return False
        if self._read == len(self._came):
            self._server.pass_time(self._request.pause_s)
        self._hear()
        return self.reader.done or bool(self.reader.error)

    def _nothing_more(self) -> bytes:
        parting = self._request.parting
        if parting in _LEAVES:
            self.gone = True
            if parting is Parting.RESETS:
                raise ConnectionResetError("reset by the client")
            return b""
        self._hear()
        if self.reader.done and self.reader.reusable and not self._coming and not self.last:
            raise _Idle
        self.left_open = self.reader.done and parting is None
        if parting is not Parting.HALF_CLOSES:
            self.gone = True
        if not (self.reader.done or self.reader.error or parting is Parting.HALF_CLOSES):
            self.ending = Ending.TIMEOUT
            self._server.now = self._began + self._limit_s
        return b""

    def _hear(self) -> None:
        """Read what the server has sent."""
        new = bytes(self._came[self._read :])
        self._read += len(new)
        if new and not (self.reader.done or self.reader.error):
            self.reader.feed(new)

    def result(self) -> tuple[Ending, str]:
        """Return how the exchange ended, and more about that in words."""
        reader = self.reader
        if self._request.parting in _LEAVES:
            return Ending.LEFT, ""
        if reader.error:
            return reader.error_ending, reader.error
        if reader.done:
            return Ending.COMPLETE, ""
        if reader.cost > self._most:
            return Ending.TOO_LARGE, f"the response is longer than {self._most} bytes"
        if self.ending is Ending.TIMEOUT:
            return Ending.TIMEOUT, "no complete response in time"
        return self.ending or Ending.CLOSED, "the server closed the connection"


class MemoryConnection:
    """See transport.Connection."""

    def __init__(self, server: Memory) -> None:
        self._server = server
        self._socket: _Socket | None = None
        self._closed = False  # by the server, after an answer that said nothing of it

    @property
    def open(self) -> bool:
        """See transport.Connection."""
        return self._socket is not None

    def pending(self) -> bool:
        """See transport.Connection."""
        return False

    def connect(self) -> None:
        """See transport.Connection."""

    def close(self) -> None:
        """See transport.Connection."""
        self._socket = None

    def exchange(self, request: Request, *, fresh: bool = False) -> Exchange:
        """See transport.Connection."""
        server, data = self._server, bytes(request.data)
        if fresh:
            self.close()
        reused, closed_before = self._socket is not None, self._closed
        self._closed = False
        if self._socket is None:
            if not server.listening:
                return unsent(data, Ending.REFUSED, "connection refused", request.answers)
            self._socket = _Socket(server)
            self._served = ServedConnection(
                self._socket,  # type: ignore[arg-type]
                server.behavior,
                server.stop_listening,
            )
        sock = self._socket
        sock.begin(request, data)
        closes = True
        try:
            self._served.serve()
        except _Idle:
            closes = False
        except OSError:
            pass
        sock.close()
        ending, detail = sock.result()
        reader = sock.reader
        cut = request.pause_s and (reader.done or reader.error)
        sent = sock.sent if cut else len(data)
        kept = ending is Ending.COMPLETE and sent == len(data) and reader.reusable
        kept = kept and not (sock.gone or sock.last)
        if closes or not kept:
            self._socket = None
        self._closed = closes and kept
        left = ending is Ending.LEFT
        several = len(request.http1) > 1
        exchange = replace(
            unsent(data, ending, detail, request.answers),
            received=Body(b"" if left else bytes(reader.raw)),
            sent=sent,
            reused=reused,
            open=bool(kept) or sock.left_open,
            first_byte_ms=None if left else milliseconds(sock.first_byte_s),
            duration_ms=milliseconds(sock.elapsed_s),
            pieces=tuple(map(len, request.http1)) if several else (),
            pause_ms=milliseconds(request.pause_s) if several else 0.0,
            closed_before_ms=0.0 if closed_before else None,
            shortened_ms=milliseconds(request.limit_s),
        )
        vars(exchange)["partial"] = reader.response() if reader.in_body and not left else None
        return exchange if server.once is None else server.once.same(exchange)


class Once:
    """What is the same for every server: prepared requests, and what is judged of the answers of
    the reference server. It is filled while it `learns`, and then only read."""

    def __init__(self) -> None:
        self.learns = True
        self._known: dict[object, tuple[object, Any]] = {}  # what a key has the ids of stays

    def same(self, exchange: Exchange) -> Exchange:
        """Return the exchange that was learned if this one is equal to it."""
        members = (getattr(exchange, name) for name in exchange.__struct_fields__)
        key = tuple(repr(one) if isinstance(one, dict) else one for one in members)
        return self._kept(key, None, lambda: exchange)  # type: ignore[no-any-return]

    def prepare(self, case: Case, address: object, model: object, *, variant: int = 0) -> Any:
        """See `prepare`, which this calls once."""
        key = (id(case), address, model, variant)
        return self._kept(key, case, lambda: _PREPARE(case, address, model, variant=variant))

    def judge(self, case: Case, prepared: object, exchange: Exchange) -> Any:
        """See `judge`, which this calls once."""
        key = (id(case), id(prepared), id(exchange))
        held = (case, prepared, exchange)
        return self._kept(key, held, lambda: _JUDGE(*held))

    def observe(self, case: Case, exchanges: Iterable[Exchange]) -> Any:
        """See `observe`, which this calls once."""
        held = (case, tuple(map(self.same, exchanges)))
        key = (id(case), *map(id, held[1]))
        return self._kept(key, held, lambda: _OBSERVE(*held))

    def _kept(self, key: object, held: object, make: Callable[[], Any]) -> Any:
        if key in self._known:
            return self._known[key][1]
        made = make()
        if self.learns:
            self._known[key] = (held, made)
        return made


_PREPARE: Callable[..., Any] = prepare
_JUDGE: Callable[..., Any] = judge
_OBSERVE: Callable[..., Any] = observe


@cache
def once(seed: int | None = None) -> Once:
    """Return what all servers have in common in runs with this seed."""
    learning = Once()
    _run(memory_target(mutated(), seed=seed), in_memory(suite_cases()), learning)
    learning.learns = False
    return learning


def in_memory(cases: Iterable[Case]) -> list[Case]:
    """Return the cases that a transport in memory can show: all but those that send at once."""
    return [case for case in cases if not (isinstance(case, RequestCase) and case.together > 1)]


def run_in_memory(
    cases: Sequence[Case],
    *,
    faults: Sequence[str] = (),
    variants: Sequence[str] = (),
    seed: int | None = None,
) -> list[Result]:
    """Return the results of cases on a server of its own, with every profile. Raises what
    `discover` raises."""
    behavior = mutated(faults, variants=variants)
    target = memory_target(behavior, seed=seed)
    if variants:  # one of them is not ready at once
        wait_until_ready(target, pause=target.server.pass_time)
    return _run(target, cases, once(seed))


def _run(target: MemoryTarget, cases: Sequence[Case], known: Once) -> list[Result]:
    server = target.server
    server.once = known
    patience = Patience(target.limits.exchange_s, pause=server.pass_time, clock=lambda: server.now)
    with (
        patch("v2_conformance.conversations.case.prepare", known.prepare),
        patch("v2_conformance.conversations.case.judge", known.judge),
        patch("v2_conformance.conversations.steps.observe", known.observe),
    ):
        engine = Engine(target, discover(target), patience=patience)
        return [event.result for event in run(engine, cases)]


@dataclass(frozen=True)
class MemoryTarget(Target):
    """A target in memory; each use of it reaches the same server."""

    server: Memory = field(default=None, compare=False, repr=False)  # type: ignore[assignment]

    def connection(self) -> MemoryConnection:
        """See Target."""
        return self.server.connection()


def memory_target(behavior: Behavior, *, seed: int | None = None) -> MemoryTarget:
    """Return a target with this behavior and every profile."""
    made = make_target("http://memory", profiles=SERVER_PROFILES)
    members = {one.name: getattr(made, one.name) for one in fields(made)}
    server = Memory(behavior, made.limits)
    return MemoryTarget(**{**members, "seed": seed}, server=server)
