"""What a kind of hostile server is: what it does, and what a run against it has to come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from support.servers import Peer, served, serving

VICTIM = "H1/honoured[short,INT32]"
"""Its request is the only one whose JSON has lines."""
MARK = b'{\n"inputs"'
BINARY = "P2/blob-follows-json[INT32]"
REJECTED = "R3/survives-a-rejection[no_data]"
SYNTAX = tuple(f"C{number}/observed" for number in (5, *range(9, 19)))
CASES = (VICTIM, BINARY, REJECTED, *SYNTAX, "R7/observed", "R2/observed")
"""What a run sends and judges unless its kind says otherwise."""

HEAD = b"HTTP/1.1 200 OK\r\n"
INFER = b"/infer "
# What strict clients cannot read at all: no case passes that needs an answer.
NO_ANSWER = ("R2", "R7", "C5", *(f"C{number}" for number in range(9, 19)))
UNREADABLE = {"H1": "fail", "P2": "fail", "R3": "fail"}


Start = Callable[[], AbstractContextManager[Any]]
"""Starts a server, which has a `url`; it ends with the block."""
Answer = Callable[[Peer, bytes], object]
"""Answers one request on a connection. The connection ends if the result is False."""
Change = Callable[[bytes], bytes]
"""Makes of a right response what is sent instead."""


@dataclass(frozen=True)
class Kind:
    """A kind of hostile server, and what a run against it must end with.

    `code` is the exit code: unless it is given, 0 if `outcomes` is empty and 1 if not.
    `outcomes` are those of the requirements that do not simply pass; requirements that are not
    named are `pass`, `unsupported` or `disputed`. None: whatever fails, something does. Without a
    report (`code` 3 or 4) it is empty, and `says` is in what the run prints. `seconds` and `mib`
    bound its time and its peak of memory. `timeout` is the run's --timeout. A `slow` kind is tried
    in `tox -e hostile` only.
    """

    start: Start
    code: int
    outcomes: Mapping[str, str] | None = field(default_factory=dict)
    says: str = ""
    cases: tuple[str, ...] = CASES
    timeout: float = 5.0
    seconds: float = 20.0
    mib: int = 200
    options: tuple[str, ...] = ()
    slow: bool = False


KINDS: dict[str, Kind] = {}


def add(name: str, start: Start, **how: object) -> None:
    """Register a kind."""
    if name in KINDS:
        raise ValueError(f"the kind {name} occurs twice")
    code = 0 if how.get("outcomes", {}) == {} else 1
    KINDS[name] = Kind(start, **{"code": code} | how)  # type: ignore[arg-type]


def answering(answer: Answer, *marks: bytes) -> Start:
    """A good server, but for requests with one of `marks` in them (all, if there are none)."""

    def talk(peer: Peer) -> None:
        while True:
            request = peer.request()
            if marks and not any(mark in request for mark in marks):
                peer.send(served(request))
            elif answer(peer, request) is False:
                return

    return lambda: serving(talk)


def changing(change: Change, *marks: bytes) -> Start:
    """A server that changes its right responses (to requests with one of `marks`)."""
    return answering(lambda peer, request: peer.send(change(served(request))), *marks)


def always(data: bytes) -> Change:
    """Sends `data` instead."""
    return lambda good: data


def line(text: bytes) -> Change:
    """Adds a line to a response's head."""
    return lambda good: good.replace(b"\r\n", b"\r\n" + text + b"\r\n", 1)
