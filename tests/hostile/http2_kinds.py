"""Servers that speak HTTP/2, and then do not: floods of frames, bombs, resets, silence."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from hpack import Encoder
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    ExtensionFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    PushPromiseFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from hostile.kit import BINARY, MARK, REJECTED, VICTIM, Start, add
from support.http2_servers import Asked, Http2Peer, http2, received
from support.servers import serving
from v2_conformance.reference.behaviour import Behaviour

CASES = (VICTIM, BINARY, REJECTED, "C12/observed", "R7/observed", "R2/observed")
STATUS = (b":status", b"200")
Answer = Callable[[Http2Peer, Asked], object]


def over_http2(answer: Answer) -> Start:
    """A good server, but for requests with MARK in them."""
    right = Behaviour()

    def script(peer: Http2Peer) -> None:
        while True:
            asked = peer.request()
            if MARK in asked.body:
                answer(peer, asked)
                peer.peer.until_closed()
                return
            response = right.handle(received(asked.fields, bytes(asked.body)))
            fields = [(":status", str(response.status))]
            fields += [(name.lower(), value) for name, value in response.headers]
            peer.answer(asked, b"".join(map(bytes, response.body)), fields)

    @contextlib.contextmanager
    def start() -> Iterator[str]:
        with serving(http2(script)) as server:
            yield server.url

    return start


def head(stream: int, *fields: tuple[bytes, bytes], end: bool = True) -> Frame:
    flags = ["END_HEADERS"] if end else []
    return HeadersFrame(stream, Encoder().encode([STATUS, *fields]), flags=flags)


def forever(make: Callable[[int], Frame], *before: Callable[[int], Frame]) -> Answer:
    """Sends one frame again and again, after others."""

    def answer(peer: Http2Peer, asked: Asked) -> None:
        for one in before:
            peer.peer.send(one(asked.stream).serialize())
        peer.peer.forever(make(asked.stream).serialize() * 50)

    return answer


def bomb(stream: int) -> Frame:
    encoder = Encoder()
    start = encoder.encode([STATUS, (b"x", b"x" * 3000)])
    again = encoder.encode([(b"x", b"x" * 3000)])
    return HeadersFrame(stream, start + again * 4000, flags=["END_HEADERS"])


def sends(*makes: Callable[[int], Frame]) -> Answer:
    def answer(peer: Http2Peer, asked: Asked) -> None:
        for make in makes:
            peer.peer.send(make(asked.stream).serialize())

    return answer


def resets(peer: Http2Peer, asked: Asked) -> None:
    peer.h2.reset_stream(asked.stream, 2)
    peer.flush()


def interim(stream: int) -> Frame:
    fields = Encoder().encode([(b":status", b"103"), (b"link", b"</a>")])
    return HeadersFrame(stream, fields, flags=["END_HEADERS"])


def padded(stream: int) -> Frame:
    return DataFrame(stream, b"", pad_length=255, flags=["PADDED"])


def push(stream: int) -> Frame:
    fields = Encoder().encode([(b":method", b"GET"), (b":path", b"/"), (b":scheme", b"http")])
    return PushPromiseFrame(stream, 2, fields, flags=["END_HEADERS"])


def drips(peer: Http2Peer, asked: Asked) -> None:
    """Sends a byte of a frame at a time."""
    for byte in head(asked.stream).serialize() * 9:
        peer.peer.send(bytes((byte,)))
        if peer.peer.left(within_s=0.5):
            return


def silent(peer: Http2Peer, asked: Asked) -> None:
    """Says nothing more."""


def script_in_fields(stream: int) -> Frame:
    return head(stream, (b"x", b"<script>alert(1)</script>"), (b"y", b"\x1b[31m"))


for name, answer in {
    "ping-flood": forever(lambda stream: PingFrame(0, b"12345678")),
    "settings-flood": forever(lambda stream: SettingsFrame(0)),
    "empty-data": forever(lambda stream: DataFrame(stream, b""), head),
    "continuation": forever(
        lambda stream: ContinuationFrame(stream, b"\x88"), lambda stream: head(stream, end=False)
    ),
    "body": forever(lambda stream: DataFrame(stream, b"x" * 16384), head),
    "bomb": sends(bomb),
    "garbage-head": sends(lambda stream: HeadersFrame(stream, b"\x80" * 9, flags=["END_HEADERS"])),
    "reset": resets,
    "window-flood": forever(lambda stream: WindowUpdateFrame(0, 1)),
    "window-overflow": sends(lambda stream: WindowUpdateFrame(0, 2**31 - 1)),
    "priority-flood": forever(lambda stream: PriorityFrame(stream, 0, 1)),
    "unknown-flood": forever(lambda stream: ExtensionFrame(0xFA, stream, 0, b"x" * 99)),
    "reset-flood": forever(lambda stream: RstStreamFrame(stream, 2)),
    "interim-without-end": forever(interim),
    "padding-without-end": forever(padded, head),
    "fields-twice-without-end": forever(head),
    "push": sends(push),
    "goaway": sends(lambda stream: GoAwayFrame(0, 0, 2, b"x" * 16000)),
    "body-of-no-stream": sends(lambda stream: DataFrame(stream + 2, b"x")),
}.items():
    add(
        f"http2-{name}",
        over_http2(answer),
        outcomes={"H1": "fail"},
        options=("--http2",),
        cases=CASES,
        timeout=2.0,
    )
add(
    "http2-drips",
    over_http2(drips),
    outcomes={"H1": "fail"},  # it hangs
    options=("--http2",),
    cases=CASES,
    timeout=2.0,
)
add(
    "http2-silent",
    over_http2(silent),
    outcomes={"H1": "fail"},  # it hangs
    options=("--http2",),
    cases=CASES,
    timeout=2.0,
)
add(
    "http2-markup",
    over_http2(
        sends(script_in_fields, lambda stream: DataFrame(stream, b"{}", flags=["END_STREAM"]))
    ),
    outcomes=None,
    options=("--http2",),
    cases=CASES,
    timeout=2.0,
)
