"""Faults in how HTTP is written: heads, framing, chunks and interim responses (C, R)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Framing, Response
from v2_mutants.registry import Right, What, fault, then


def _head_changed(
    change: Callable[[bytes], bytes], *, errors_only: bool = False
) -> What[list[Buffer]]:
    """A server that changes the head of each response as it is sent."""

    def what(
        right: Right[list[Buffer]], response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        head, *body = right()
        applies = response.status >= 400 or not errors_only
        return [change(bytes(head)) if applies else head, *body]

    return what


def _one_more(line: bytes) -> Callable[[bytes], bytes]:
    """Adds a line behind the status line."""
    return lambda head: head.replace(b"\r\n", b"\r\n" + line + b"\r\n", 1)


def _length(head: bytes) -> bytes:
    """The line of a head that has the Content-Length, with the end of the line before."""
    at = head.index(b"\r\nContent-Length")
    return head[at : head.index(b"\r\n", at + 2)]


for _name, _requirement, _text, _what in (
    ("content-type-twice", "R7", "Errors have two Content-Type fields.",
     _head_changed(_one_more(b"Content-Type: application/json"), errors_only=True)),
    ("status-line-without-last-space", "C12", "The status line ends right after the status code.",
     _head_changed(lambda head: head[:12] + head[head.index(b"\r\n") :])),
    ("field-name-with-space", "C13", "A header field has a name of two words.",
     _head_changed(_one_more(b"Served By: a"))),
    ("control-character-in-field", "C14", "The value of a header field has a control character.",
     _head_changed(_one_more(b"X-Trace: a\x01b"))),
    ("header-field-folded", "C15", "A header field goes on in a second line.",
     _head_changed(_one_more(b"Server: a\r\n b"))),
    ("lines-end-with-lf", "C16", "The lines of a response's head end with LF instead of CRLF.",
     _head_changed(lambda head: head.replace(b"\r\n", b"\n"))),
    ("content-length-list", "C10", "A response has the same Content-Length twice.",
     _head_changed(lambda head: _one_more(_length(head)[2:])(head))),
):  # fmt: skip
    fault(_name, _requirement, Behaviour.serialize)(_text, _what)


def _chunked(
    size_line: Callable[[int], bytes],
    *,
    keep_length: bool = False,
    coding: bytes = b"chunked",
    after: bytes = b"",
    old_errors: bool = False,
) -> What[list[Buffer]]:
    """A server that sends each body as one chunk; `size_line` is the line before it. With
    `old_errors` it does so in errors alone, as HTTP/1.0. It sends no chunks before it closes the
    connection: a client of HTTP/1.0, which the connection closes for, knows none (C11)."""

    def what(
        right: Right[list[Buffer]], response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        head, *body = right()
        size = sum(map(len, body))
        if not keep_open or (old_errors and response.status < 400):
            return [head, *body]
        if not size:
            return [head]
        line = _length(bytes(head))
        kept = line if keep_length else b""
        coded = bytes(head).replace(line, kept + b"\r\nTransfer-Encoding: " + coding)
        if old_errors:
            coded = coded.replace(b"HTTP/1.1", b"HTTP/1.0", 1)
        return [coded, size_line(size), *body, b"\r\n0\r\n", after, b"\r\n"]

    return what


for _name, _requirement, _text, _what in (
    ("chunks-beside-content-length", "C9", "A response in chunks also has a Content-Length.",
     _chunked(lambda size: b"%x\r\n" % size, keep_length=True)),
    ("chunked-twice", "C11",
     "The Transfer-Encoding of a response names chunked twice, although it is applied once.",
     _chunked(lambda size: b"%x\r\n" % size, coding=b"chunked, chunked")),
    ("chunk-size-padded", "C17", "The size of a chunk is padded with spaces.",
     _chunked(lambda size: b"%-8x\r\n" % size)),
):  # fmt: skip
    fault(_name, _requirement, Behaviour.serialize)(_text, _what)

fault("transfer-coding-for-http-1.0", "C11", Behaviour.finish)(
    "A response to HTTP/1.0 ends with its connection and has `Transfer-Encoding: identity`.",
    lambda right, request, response: (
        replace(
            right(),
            framing=Framing.CLOSE,
            headers=(*response.headers, ("Transfer-Encoding", "identity")),
        )
        if request.version == "1.0"
        else right()
    ),
)
fault("interim-response-for-http-1.0", "C18", Behaviour.interim_responses)(
    "Each response to a client of HTTP/1.0 is preceded by 103.",
    then(
        lambda sent, request: (
            sent + b"HTTP/1.1 103 Early Hints\r\n\r\n" if request.version == "1.0" else sent
        )
    ),
)
fault("interim-response-with-length", "C18", Behaviour.interim_responses)(
    "Each response is preceded by a 103 that has a Content-Length.",
    then(
        lambda sent, request: (
            sent + b"HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\n"
            if request.version == "1.1"
            else sent
        )
    ),
)
