"""Variants of how connections are kept, closed and shared."""

from __future__ import annotations

import itertools

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.variants.registry import variant


@variant(
    "closes-after-each-response",
    allowed_by="RFC 9112, section 9.6",
    text="Each response has `Connection: close`.",
)
class _ClosesAfterEachResponse(Behaviour):
    def keeps_open(self, request: Request, response: Response) -> bool:
        return False


@variant(
    "closes-after-errors",
    allowed_by="RFC 9112, section 9.6",
    text="Each error has `Connection: close`.",
)
class _ClosesAfterErrors(Behaviour):
    def keeps_open(self, request: Request, response: Response) -> bool:
        return response.status < 400 and super().keeps_open(request, response)


@variant(
    "closes-now-and-then",
    allowed_by="RFC 9112, section 9.6",
    text="Every third response has `Connection: close`, as if a limit of requests were reached.",
)
class _ClosesNowAndThen(Behaviour):
    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._served = itertools.count(1)

    def keeps_open(self, request: Request, response: Response) -> bool:
        return bool(next(self._served) % 3) and super().keeps_open(request, response)


@variant(
    "short-idle-timeout",
    allowed_by="RFC 9112, section 9.5",
    text="A connection is kept for 0.6 s after a response.",
)
class _ShortIdleTimeout(Behaviour):
    def idle_seconds(self) -> float:
        return 0.6


@variant(
    "idle-timeout-with-408",
    allowed_by="RFC 9110, section 15.5.9",
    text="A connection that is idle for a second gets an unasked 408 and is closed.",
)
class _IdleTimeoutWith408(Behaviour):
    def idle_seconds(self) -> float:
        return 1.0

    def farewell(self) -> bytes:
        response = self.error(408, "no request came")
        return b"".join(self.serialize(response, keep_open=False))


@variant(
    "one-connection-at-a-time",
    allowed_by="RFC 9112, section 9.4: a server may limit connections",
    text="A connection is served only when the one before it has been closed.",
)
class _OneConnectionAtATime(Behaviour):
    def serves_one_at_a_time(self) -> bool:
        return True


@variant(
    "refuses-before-the-body",
    allowed_by="RFC 9112, section 9.3, and RFC 9110, section 10.1.1",
    text="What the head shows to be wrong is refused before the body is read, and the connection "
    "closed.",
)
class _RefusesBeforeTheBody(Behaviour):
    def check_head(self, request: Request) -> None:
        super().check_head(request)
        self.header_length(request)
        for coding in self.request_codings(request):
            if self.zlib_format(coding) is None:
                self.unknown_coding(coding, b"")


@variant(
    "no-pipelining",
    allowed_by="RFC 9112, section 9.3.2: the client sends again what was not answered",
    text="If another request has come with one, the connection is closed after the first response.",
)
class _NoPipelining(Behaviour):
    def keeps_open(self, request: Request, response: Response) -> bool:
        return not request.followed and super().keeps_open(request, response)


@variant(
    "never-sends-continue",
    allowed_by="RFC 9110, section 10.1.1: a client must not wait indefinitely",
    text="A client that expects 100 Continue gets none.",
)
class _NeverSendsContinue(Behaviour):
    def before_expected_body(self, request: Request) -> bytes:
        return b""


@variant(
    "expectations-refused",
    allowed_by="RFC 9110, section 15.5.18",
    text="A request with Expect is answered with 417.",
)
class _ExpectationsRefused(Behaviour):
    def check_head(self, request: Request) -> None:
        if request.values("expect"):
            raise Rejected("no expectations", 417)
        super().check_head(request)


@variant(
    "http-1.0-refused",
    allowed_by="RFC 9110, section 15.6.6",
    text="An HTTP/1.0 request is answered with 505.",
)
class _Http10Refused(Behaviour):
    def check_head(self, request: Request) -> None:
        if request.version == "1.0":
            raise Rejected("HTTP/1.1 only", 505)
        super().check_head(request)
