"""The pieces in which a request is sent: all at once, in slices, or in HTTP chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Part
from v2_conformance.suite.causes.base import counted
from v2_conformance.wire.case_data import array, integer, mapping, only_member, unexpected
from v2_conformance.wire.spelling.http import HttpSpelling
from v2_conformance.wire.transport import Head, Request

# Long enough for a server to be woken by each piece on loopback, short enough for many of them.
_PAUSE_S = 0.005
MOST_SLICES = 50
"""Beyond these, slices are longer than a case says, which was written for a small body: that of an
arbitrary model may be an image."""
# A write costs as much as a thousand bytes, and a exchange records each.
_MOST_WRITES = 10_000


@dataclass(frozen=True)
class Delivery:
    """`kind` is "whole", "slices" or "chunks"; `how` says where the latter two cut the body."""

    kind: str
    how: object = None

    @property
    def chunked(self) -> bool:
        """True if the body goes out in HTTP chunks, and without Content-Length."""
        return self.kind == "chunks"


_WHOLE = Delivery("whole")


def read_delivery(given: object) -> Delivery:
    """Return the `delivery` of a case's request. Raises CaseFileError."""
    if given == "whole":
        return _WHOLE
    if isinstance(given, str):
        raise unexpected("`delivery`", "whole, {slices: …} or {chunks: …}", given)
    return Delivery(*only_member(given, "`delivery`", ("slices", "chunks")))


def delivery_words(given: object, pieces: Sequence[Buffer]) -> str:
    """Return how a request is delivered whose body is in these pieces, as in "in chunks of 7
    bytes"; "" if all at once."""
    delivery = read_delivery(given)
    how = delivery.how
    if delivery.kind == "whole":
        return ""
    if how == "one":
        return f"in one {delivery.kind[:-1]}"
    if isinstance(how, int):
        size = max(how, len(pieces[0])) if len(pieces) > 1 else how
        return f"in {delivery.kind} of {counted(size, 'byte')}"
    if how == "seam":
        return f"in {delivery.kind}, cut after the JSON"
    cuts = [f"{counted(cut['at'], 'byte')} into blob {cut['blob']}" for cut in array(how, "cuts")]
    return f"in {delivery.kind}, cut {' and '.join(cuts)}"


def make_request(
    head: Head,
    wire: bytes,
    start: int,
    delivery: Delivery,
    parts: Sequence[Part],
    spelling: HttpSpelling,
) -> Request:
    """Return the request whose HTTP/1.1 bytes are `wire`, with the body from `start` on, cut into
    pieces.

    `parts` are the ranges of the body from which offsets count, `spelling` says how chunks are
    written. Raises CaseFileError.
    """
    view = memoryview(wire)
    body = view[start:]
    if delivery.kind == "whole":
        return Request(head, (body,) if body else (), (wire,))
    how, what = delivery.how, f"`delivery.{delivery.kind}`"
    if delivery.kind == "slices" and isinstance(how, int):
        how = max(integer(how, what, least=1), -(-len(body) // MOST_SLICES))
    places = cuts(how, what, parts, len(body))
    edges = pairwise([0, *places, len(body)])
    pieces: tuple[Buffer, ...] = tuple(body[a:b] for a, b in edges if b > a)
    if delivery.chunked:
        return Request(head, pieces, (wire[:start], *_writes(spelling.write_chunks(pieces))))
    return Request(head, pieces, (view[:start], *pieces), _PAUSE_S if pieces else 0.0)


def _writes(chunks: Sequence[bytes]) -> Sequence[bytes]:
    """Return a write for each chunk or, if there are very many, for each thousand."""
    if len(chunks) <= _MOST_WRITES:
        return chunks
    return [b"".join(chunks[at : at + 1000]) for at in range(0, len(chunks), 1000)]


def cuts(how: object, what: str, parts: Sequence[Part], length: int) -> list[int]:
    """Return where a body of `length` bytes is cut, in order. Raises CaseFileError."""
    if how == "one":
        return []
    if how == "seam":
        return [part.end for part in parts[:1]]  # everything may have been dropped
    if isinstance(how, int):
        size = integer(how, what, least=1)
        return list(range(size, length, size))
    if isinstance(how, str):
        raise unexpected(what, "one, seam, a size or a list of offsets", how)
    blobs = [part for part in parts if part.kind == "blob"]
    places = []
    for cut in array(how, what):
        given = mapping(cut, what, ("blob", "at"))
        index = integer(given.get("blob"), f"{what}: `blob`", least=0)
        if index >= len(blobs):
            raise CaseFileError(f"{what}: there is no blob {index}; the request has {len(blobs)}")
        at = blobs[index].start + integer(given.get("at"), f"{what}: `at`")
        if not 0 <= at <= length:
            raise CaseFileError(f"{what}: byte {at} is outside the body of {length} bytes")
        places.append(at)
    return sorted(places)
