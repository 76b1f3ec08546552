"""Faults of the sizes of chunks: large ones, and those that are no numbers (C)."""

from __future__ import annotations

import re
from itertools import pairwise

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.http_messages import Request, Response

_BUFFER = 2**14


def _chunks(request: Request) -> list[int]:
    return [end - start for start, end in pairwise([0, *request.chunk_cuts])]


@fault(
    "chunk-size-of-16-bits",
    breaks="C2",
    text="The size of a chunk is read in 16 bits: a mebibyte is 0, which ends the body.",
)
class _ChunkSizeOf16Bits(Behaviour):
    def handle(self, request: Request) -> Response:
        if any(size >= 2**16 for size in _chunks(request)):
            return self.error(400, "a chunk does not end where its size says")
        return super().handle(request)


@fault(
    "chunks-have-a-buffer",
    breaks="C2",
    text=f"A chunk of more than {_BUFFER} bytes is rejected.",
)
class _ChunksHaveABuffer(Behaviour):
    def handle(self, request: Request) -> Response:
        if any(size > _BUFFER for size in _chunks(request)):
            return self.error(400, "a chunk is too large")
        return super().handle(request)


def _reads_size(pattern: bytes) -> type[Behaviour]:
    """A server that reads the digits of a first chunk's size of this pattern, in its groups."""
    line = re.compile(rb"(?:\A|(?<=\r\n\r\n))" + pattern + rb"(?=\r\n)")

    class ReadsSize(Behaviour):
        def received(self, data: bytes) -> bytes:
            return line.sub(lambda match: b"".join(match.groups()), super().received(data))

    return ReadsSize


for _name, _text, _pattern in (
    ("up-to-a-letter", "up to its first wrong character", rb"([0-9a-f]+)x"),
    ("with-prefix", "with the prefix 0x", rb"0x([0-9a-f]+)"),
    ("with-underscore", "with an underscore", rb"([0-9a-f]+)_([0-9a-f]+)"),
    ("with-plus", "with a plus sign", rb"\+([0-9a-f]+)"),
):
    fault(f"chunk-size-read-{_name}", breaks="C8", text=f"The size of a chunk is read {_text}.")(
        _reads_size(_pattern)
    )
