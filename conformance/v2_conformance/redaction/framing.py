"""Cuts the recorded bytes of a connection into heads and bodies, as leniently as a reader would.

Nothing is judged here: what does not look like HTTP is a body.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from v2_conformance.wire.messages import begins_message, decimal, read_chunks, read_head

Span = tuple[int, int]


@dataclass(frozen=True)
class Message:
    """Where a message has its head and its trailers, and the pieces of its body without framing.

    `codings` are what its Content-Encoding names.
    """

    heads: tuple[Span, ...]
    body: tuple[Span, ...] = ()
    codings: tuple[str, ...] = ()


def messages(data: bytes) -> Iterator[Message]:
    """Yield every message in `data`, including interim responses and pipelined ones."""
    at = 0
    while at < len(data) and (at == 0 or begins_message(data, at)):
        head = read_head(data, at)
        heads = ((at, head.end),)
        at = head.end
        if head.is_interim:
            yield Message(heads)
            continue
        codings = tuple(one for one in head.listed("content-encoding") if one != "identity")
        *chunks, last = read_chunks(data, at)
        if chunks or last.size == 0:  # whatever the fields say
            trailers = ((last.data, last.end),) if last.size == 0 else ()
            rest = ((last.data, last.end),) if last.data < last.end and not trailers else ()
            body = (*((chunk.data, chunk.end) for chunk in chunks), *rest)
            yield Message(heads + trailers, body, codings)
            at = last.after
        else:
            lengths = map(decimal, head.values("content-length"))
            length = next((one for one in lengths if one is not None), len(data))
            body = ((at, min(at + length, len(data))),)
            yield Message(heads, body, codings)
            at = body[-1][1]
    if at < len(data):
        yield Message((), ((at, len(data)),))
