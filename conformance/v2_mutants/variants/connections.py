"""Variants of how connections are kept, closed and shared."""

from __future__ import annotations

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_mutants.registry import Right, refuses, variant

_FEW = "RFC 9112, section 9.4: a server may limit connections"
_EARLY = "RFC 9112, section 9.3, and RFC 9110, section 10.1.1"
_AGAIN = "RFC 9112, section 9.3.2: the client sends again what was not answered"
_NO_WAITING = "RFC 9110, section 10.1.1: a client must not wait indefinitely"

variant("closes-after-each-response", "RFC 9112, section 9.6", Behaviour.keeps_open)(
    "Each response has `Connection: close`.",
    lambda right, request, response: False,
)
variant("closes-after-errors", "RFC 9112, section 9.6", Behaviour.keeps_open)(
    "Each error has `Connection: close`.",
    lambda right, request, response: response.status < 400 and right(),
)


@variant.several("closes-now-and-then", "RFC 9112, section 9.6")
class _ClosesNowAndThen(Behaviour):
    """Every third response has `Connection: close`, as if a limit of requests were reached."""

    _served = 0

    def keeps_open(self, request: Request, response: Response) -> bool:
        self._served += 1
        return self._served % 3 != 0 and super().keeps_open(request, response)


variant("short-idle-timeout", "RFC 9112, section 9.5", Behaviour.idle_seconds)(
    "A connection is kept for 0.6 s after a response.",
    lambda right: 0.6,
)


@variant.several("idle-timeout-with-408", "RFC 9110, section 15.5.9")
class _IdleTimeoutWith408(Behaviour):
    """A connection that is idle for a second gets an unasked 408 and is closed."""

    def idle_seconds(self) -> float:
        return 1.0

    def farewell(self) -> bytes:
        response = self.error(408, "no request came")
        return b"".join(self.serialize(response, keep_open=False))


variant("one-connection-at-a-time", _FEW, Behaviour.serves_one_at_a_time)(
    "A connection is served only when the one before it has been closed.",
    lambda right: True,
)


@variant("refuses-before-the-body", _EARLY, Behaviour.check_head)
def _(right: Right[None], request: Request) -> None:
    """What the head shows to be wrong is refused before the body is read, and the connection
    closed.
    """
    right()
    right.server.header_length(request)
    for coding in right.server.request_codings(request):
        if right.server.zlib_format(coding) is None:
            right.server.unknown_coding(coding, b"")


variant("no-pipelining", _AGAIN, Behaviour.keeps_open)(
    "If another request has come with one, the connection is closed after the first response.",
    lambda right, request, response: not request.followed and right(),
)
variant("never-sends-continue", _NO_WAITING, Behaviour.before_expected_body)(
    "A client that expects 100 Continue gets none.",
    lambda right, request: b"",
)
variant("expectations-refused", "RFC 9110, section 15.5.18", Behaviour.check_head)(
    "A request with Expect is answered with 417.",
    refuses(lambda request: bool(request.values("expect")), 417),
)
variant("http-1.0-refused", "RFC 9110, section 15.6.6", Behaviour.check_head)(
    "An HTTP/1.0 request is answered with 505.",
    refuses(lambda request: request.version == "1.0", 505),
)
