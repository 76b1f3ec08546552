"""Reasons why no whole response came: one type for each finding, with its numbers.

Whole responses that are badly framed are also here, and what a server may decline.
"""

from __future__ import annotations

from v2_conformance.suite.causes.base import CauseBase

# What a server may decline, which shows nothing


class LengthRequired(CauseBase, frozen=True):
    """The server asks for a Content-Length (411): the case sends its body in chunks."""

    says = (
        "answered with 411, which is allowed: a server may require a Content-Length, and the case "
        "sends its body in chunks: {body:body}"
    )
    body: str


class ChunksToOldClient(CauseBase, frozen=True):
    """The response is in chunks, but the request is HTTP/1.0, which does not know them."""

    says = "the response is chunked, but the request is HTTP/1.0, whose clients cannot read chunks"


class VariationDeclined(CauseBase, frozen=True):
    """The server refuses to be asked in this way, as it may, with a status that says so."""

    says = (
        "answered with {status}, which is allowed: a server may refuse the variation {variation}: "
        "{body:body}"
    )
    variation: str
    status: int
    body: str


class BodyTooLarge(CauseBase, frozen=True):
    """The server takes no body of this size (413 or 400): `size` is more than `limit` bytes.

    Of a body in a content coding, it is the larger of the encoded and the decoded size: a server
    may limit either.
    """

    says = (
        "answered with {status}: a server may limit the size of bodies, and the case sends {size} "
        "bytes, more than {limit}: {body:body}"
    )
    size: int
    limit: int
    body: str
    status: int = 413


# Transport: no whole response


class ConnectionRefused(CauseBase, frozen=True):
    """No connection could be made."""

    says = "cannot connect: {detail}"
    detail: str


class TimedOut(CauseBase, frozen=True):
    """No whole response within the limit; `received` bytes had arrived."""

    says = "{detail} ({seconds:.1f} s, {received:byte} received)"
    seconds: float
    received: int
    detail: str


class ConnectionClosed(CauseBase, frozen=True):
    """The connection ended before a whole response; `received` bytes had arrived."""

    says = "incomplete response: the connection ended after {received:byte} ({detail})"
    received: int
    detail: str


class NotHttp(CauseBase, frozen=True):
    """The bytes that arrived are not an HTTP response."""

    says = "the response is not HTTP: {detail}"
    detail: str


class ResponseTooLarge(CauseBase, frozen=True):
    """The response, or its head, is larger than any answer can need."""

    says = "the response is too large: {detail}"
    detail: str


class ContentLengthTooLong(CauseBase, frozen=True):
    """The message is complete, but Content-Length promises more bytes than `body`."""

    says = (
        "Content-Length is {content_length}, but the message is complete after {body:byte} of body"
    )
    body: int
    content_length: str


class BytesAfterResponse(CauseBase, frozen=True):
    """`count` bytes followed the end of the response."""

    says = "expected nothing after the end of the response, got {count:byte}"
    count: int


class NoContentLength(CauseBase, frozen=True):
    """The response has no Content-Length; `framing` is what delimits it."""

    says = "expected a Content-Length, got a response delimited by {framing}"
    stable = ("framing",)
    framing: str
