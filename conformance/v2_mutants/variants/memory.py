"""Variants of servers whose memory grows for a while, or goes up and down: none leaks."""

from __future__ import annotations

from collections import deque

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_mutants.registry import Right, variant

_NO_DOCUMENT = "no document speaks of memory"
_CACHED = 24 << 20
_ENTRY = 64 << 10
_GARBAGE = 6 << 20
_LEFT = 16 << 10


@variant("cache-fills-up", _NO_DOCUMENT, Behaviour.handle)
def _(right: Right[Response], request: Request) -> Response:
    """Something of each request is cached, and the cache takes 24 MiB at most."""
    cache = right.state.setdefault("cache", deque(maxlen=_CACHED // _ENTRY))
    cache.append(bytearray(b"x" * _ENTRY))
    return right()


@variant("garbage-is-collected-late", _NO_DOCUMENT, Behaviour.handle)
def _(right: Right[Response], request: Request) -> Response:
    """Each request leaves garbage, which is collected once there are 6 MiB of it."""
    garbage = right.state.setdefault("garbage", [])
    garbage.append(bytearray(b"x" * _LEFT))
    if len(garbage) * _LEFT > _GARBAGE:
        garbage.clear()
    return right()
