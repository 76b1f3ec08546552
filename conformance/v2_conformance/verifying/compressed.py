"""Compares messages in a content coding by what they decode to.

Another zlib, such as zlib-ng, which some systems have in its place, compresses the same bytes into
other ones. A message of the suite's that was sent elsewhere then differs from the one that is made
here in its compressed body, and so in its Content-Length and its chunks, but in nothing else.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest

from v2_conformance.protocol.content_codings import CodingError, decode, known
from v2_conformance.wire.messages import read_messages

_LENGTH = re.compile(rb"(?im)^(Content-Length:[ \t]*)([0-9]{1,18})")
_MOST = 8 << 20
_FIRST = 4096
_GZIP_OR_DEFLATE = 32 + zlib.MAX_WBITS


Equal = Callable[[bytes, bytes], bool]
_Message = tuple[bytes, bool, bytes]


def same_decoded(one: bytes, other: bytes, equal: Equal) -> bool:
    """Return True if these messages are `equal`, or differ only in how bodies are compressed."""
    pairs = zip_longest(_messages(one), _messages(other))
    return all(a and b and _same(a, b, equal) for a, b in pairs)


def _same(one: _Message, other: _Message, equal: Equal) -> bool:
    """A body that does not decode to its end begins like the other one, as far as both go."""
    heads, whole, body = one
    other_heads, other_whole, other_body = other
    size = max(len(body), len(other_body)) if whole else min(len(body), len(other_body))
    same_bodies = equal(body[:size], other_body[:size])
    return whole is other_whole and equal(heads, other_heads) and same_bodies


def _messages(data: bytes) -> Iterator[_Message]:
    """Yield the heads of each message, whether its body decodes to its end, and to what."""
    for message in read_messages(data):
        heads, body = (b"".join(data[a:b] for a, b in spans) for spans in message[:2])
        codings = [known(name) or "" for name in message.codings]
        if all(codings):
            whole, decoded = _decoded(body, codings)
            yield _without_length(heads, len(body) if whole else None), whole, decoded
        else:
            yield heads, True, body


def _without_length(heads: bytes, size: int | None) -> bytes:
    """Return `heads` with what Content-Length says beyond `size`, with nothing if that is None."""
    return _LENGTH.sub(
        lambda field: field[1] + (b"" if size is None else b"%d" % (int(field[2]) - size)), heads
    )


def _decoded(body: bytes, codings: Sequence[str]) -> tuple[bool, bytes]:
    for coding in reversed(codings):
        try:
            body = decode(coding, body, _MOST)
        except CodingError:
            return False, _beginning(body)
    return True, body


def _beginning(body: bytes) -> bytes:
    """Return what a stream that is broken, or very long, decodes to at first."""
    unpacker, beginning = zlib.decompressobj(_GZIP_OR_DEFLATE), bytearray()
    with suppress(zlib.error):  # byte for byte, as what a call has decoded is lost if it raises
        for at in range(min(len(body), _FIRST)):
            beginning += unpacker.decompress(body[at : at + 1])
    return bytes(beginning)
