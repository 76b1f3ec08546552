"""Variants of servers that keep something of their requests, or whose memory goes up and down."""

from __future__ import annotations

from collections import deque
from hashlib import sha256

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_mutants.registry import Right, variant

_NO_DOCUMENT = "no document speaks of memory"
_CACHED = 24 << 20
_ENTRY = 64 << 10
_GARBAGE = 6 << 20
_LEFT = 16 << 10
_KEPT = 100
_SAME_ANSWER = "RFC 9110, section 3.3: the same request may get the same answer"


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


@variant("answers-kept-by-whole-requests", _SAME_ANSWER, Behaviour.handle)
def _(right: Right[Response], request: Request) -> Response:
    """The last hundred answers are kept, and sent again if a request comes byte for byte."""
    kept = right.state.setdefault("answers", deque(maxlen=_KEPT))
    key = request.head, request.framing, sha256(request.body).digest()
    for own, answer in list(kept):
        if own == key:
            result: Response = answer
            return result
    response = right()
    kept.append((key, response))
    return response
