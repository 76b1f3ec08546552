"""Faults of the sizes of chunks: large ones, and those that are no numbers (C)."""

from __future__ import annotations

import re
from itertools import pairwise

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request
from v2_mutants.registry import What, fault

_BUFFER = 2**14


def _chunks(request: Request) -> list[int]:
    return [end - start for start, end in pairwise([0, *request.chunk_cuts])]


fault("chunk-size-of-16-bits", "C2", Behaviour.handle)(
    "The size of a chunk is read in 16 bits: a mebibyte is 0, which ends the body.",
    lambda right, request: (
        right.server.error(400, "a chunk does not end where its size says")
        if any(size >= 2**16 for size in _chunks(request))
        else right()
    ),
)
fault("chunks-have-a-buffer", "C2", Behaviour.handle)(
    f"A chunk of more than {_BUFFER} bytes is rejected.",
    lambda right, request: (
        right.server.error(400, "a chunk is too large")
        if any(size > _BUFFER for size in _chunks(request))
        else right()
    ),
)


def _reads_size(pattern: bytes) -> What[bytes]:
    """A server that reads the digits of a first chunk's size of this pattern, in its groups."""
    line = re.compile(rb"(?:\A|(?<=\r\n\r\n))" + pattern + rb"(?=\r\n)")
    return lambda right, data: line.sub(lambda match: b"".join(match.groups()), right())


for _name, _text, _pattern in (
    ("up-to-a-letter", "up to its first wrong character", rb"([0-9a-f]+)x"),
    ("with-prefix", "with the prefix 0x", rb"0x([0-9a-f]+)"),
    ("with-underscore", "with an underscore", rb"([0-9a-f]+)_([0-9a-f]+)"),
    ("with-plus", "with a plus sign", rb"\+([0-9a-f]+)"),
):
    fault(f"chunk-size-read-{_name}", "C8", Behaviour.received)(
        f"The size of a chunk is read {_text}.", _reads_size(_pattern)
    )
