"""Variants of servers that keep something of their requests, or whose memory goes up and down."""

from __future__ import annotations

from collections import deque
from hashlib import sha256

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_mutants.registry import Right, variant

_KEPT = 100
_SAME_ANSWER = "RFC 9110, section 3.3: the same request may get the same answer"


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
