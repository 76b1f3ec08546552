"""How a request arrived: in chunks, in a coding, to a version, in several reads from the socket."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.http_messages import Blobs, Request, Response
from v2_mutants.registry import Right, What, then


def is_chunked(request: Request) -> bool:
    """Return True if the body came in the chunked coding, without a Content-Length."""
    return bool(request.values("Transfer-Encoding"))


def is_coded(request: Request) -> bool:
    """Return True if the body is in a content coding."""
    return bool(request.values("Content-Encoding"))


def is_versioned(request: Request) -> bool:
    """Return True if the path names a version of the model."""
    return "/versions/" in request.target


def is_last(request: Request) -> bool:
    """Return True if the connection ends with the request."""
    return request.values("Connection") == ["close"]


def is_raw(request: Request) -> bool:
    """Return True if the whole body is one tensor."""
    return request.values(HEADER_LENGTH) == ["0"]


def changes_raw_if(
    when: Callable[[Request], object], change: Callable[[bytes], bytes]
) -> What[Request]:
    """A server that changes decoded raw bodies if `when` is true of the request."""
    return then(
        lambda decoded, request: (
            replace(decoded, body=memoryview(change(bytes(decoded.body))))
            if is_raw(request) and when(request)
            else decoded
        )
    )


def raw_read_as_zeros_if(when: Callable[[Request], object]) -> What[Request]:
    """A server that reads raw bodies as zeros if `when` is true of the request."""
    return changes_raw_if(when, lambda body: bytes(len(body)))


def first_read(request: Request) -> Request:
    """The request as a server gets it that reads the body from the socket only once."""
    if not request.segment_cuts:
        return request
    return replace(request, body=request.body[: request.segment_cuts[0]])


def reads_body_once(applies: Callable[[Request], bool]) -> What[Response]:
    """A server that reads the body of a request only once if `applies` to the request."""
    return lambda right, request: right(first_read(request) if applies(request) else request)


def with_length(response: Response, request: Request) -> Response:
    """The response with the header length of its request, if that has one."""
    own = tuple((HEADER_LENGTH, value) for value in request.values(HEADER_LENGTH)[:1])
    return replace(response, headers=(*response.headers, *own))


def loses_behind(pattern: bytes) -> What[bytes]:
    """A server that throws away the requests that come in the same read behind this pattern."""
    result = re.compile(b"(%s)POST .*" % pattern, re.DOTALL)
    return lambda right, data: result.sub(rb"\1", right())


def blobs_cut_if(when: Callable[[Request], object], size: int) -> What[tuple[memoryview, Blobs]]:
    """Return what reads only so much of the blobs of such a request, and zeros for the rest."""

    def what(
        right: Right[tuple[memoryview, Blobs]], request: Request, length: int | None
    ) -> tuple[memoryview, Blobs]:
        text, blobs = right()
        if len(blobs.view) <= size or not when(request):
            return text, blobs
        read = bytes(blobs.view[:size]).ljust(len(blobs.view), b"\0")
        return text, replace(blobs, view=memoryview(read))

    return what
