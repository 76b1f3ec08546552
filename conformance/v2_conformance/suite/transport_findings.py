"""What can keep a whole response from coming: one type for each finding, with its numbers.

A response that is whole but badly framed is here, too, and what a server may decline.
"""

from __future__ import annotations

from v2_conformance.suite.findings import CauseBase, Count

# What a server may decline, which shows nothing


class LengthRequired(CauseBase, frozen=True):
    """The server asks for a Content-Length (411): the case sends its body in chunks."""

    body: str


class ChunksToOldClient(CauseBase, frozen=True):
    """The response is in chunks, but the request is HTTP/1.0, which does not know them."""


class VariationDeclined(CauseBase, frozen=True):
    """The server refuses to be asked in this way, as it may, with a status that says so."""

    variation: str
    status: int
    body: str


class BodyTooLarge(CauseBase, frozen=True):
    """The server takes no body of this size (413): `size` is more than `limit` bytes.

    Of a body in a content coding, it is the larger of the encoded and the decoded size: a server
    may limit either.
    """

    size: int
    limit: int
    body: str


class BodyNotTaken(CauseBase, frozen=True):
    """The server closed the connection, without an answer, when it had been sent `sent` of the
    `size` bytes of a request that it need not serve."""

    sent: Count
    size: Count
    detail: str


# Transport: no whole response


class ConnectionRefused(CauseBase, frozen=True):
    """No connection could be made."""

    detail: str


class TimedOut(CauseBase, frozen=True):
    """No whole response within the limit; `received` bytes had arrived."""

    seconds: float
    received: int
    detail: str


class ConnectionClosed(CauseBase, frozen=True):
    """The connection ended before a whole response; `received` bytes had arrived."""

    received: int
    detail: str


class StreamReset(CauseBase, frozen=True):
    """Over HTTP/2, the server reset the stream before a whole response, with this error code;
    `received` bytes of heads and body had arrived."""

    code: Count
    received: Count


class GoneAway(CauseBase, frozen=True):
    """Over HTTP/2, the connection ended before a whole response, after GOAWAY with this error code;
    `received` bytes of heads and body had arrived."""

    code: Count
    received: Count


class NotHttp(CauseBase, frozen=True):
    """What arrived is not an HTTP response."""

    detail: str


class ResponseTooLarge(CauseBase, frozen=True):
    """The response, or its head, is larger than any answer can need."""

    detail: str


class ContentLengthTooLong(CauseBase, frozen=True):
    """The message is complete, but Content-Length promises more bytes than `body`."""

    body: int
    content_length: str


class BytesAfterResponse(CauseBase, frozen=True):
    """`count` bytes followed the end of the response."""

    count: int


class NoContentLength(CauseBase, frozen=True):
    """The response has no Content-Length; `framing` is what delimits it."""

    framing: str
