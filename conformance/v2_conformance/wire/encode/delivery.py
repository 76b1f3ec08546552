"""The pieces in which a request is sent: all at once, in slices, or in HTTP chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Part
from v2_conformance.suite.causes.base import counted
from v2_conformance.wire.case_data import (
    array,
    from_hex,
    integer,
    mapping,
    one_of,
    only_member,
    text,
    unexpected,
)
from v2_conformance.wire.spelling.http import HttpSpelling
from v2_conformance.wire.transport import Head, Parting, Request, write_head

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


_MEMBERS = ("claims", "chunk_size", "chunk_end", "sends", "then", "times")
_MOST_TIMES = 64


def part(request: Request, given: object) -> Request:
    """Return `request` as the client of a case sends it. Raises CaseFileError.

    `given` is `client` of the case's request, None for a client that does nothing odd.
    """
    if given is None:
        return request
    client = mapping(given, "`client`", _MEMBERS)
    pieces = list(request.http1)
    if "claims" in client:
        pieces = _claiming(request, client["claims"])
    if "chunk_size" in client or "chunk_end" in client:
        pieces = _broken_chunk(pieces, client)
    if "sends" in client:
        pieces = _cut(pieces, len(write_head(request.head)), client["sends"])
    ways = [way.value for way in Parting]
    then = one_of(client.get("then", Parting.WAITS.value), "`client.then`", ways)
    return msgspec.structs.replace(request, http1=tuple(pieces), parting=Parting(then))


def times(request: Mapping[str, Any]) -> int:
    """Return on how many connections the client of a case's request breaks off. Raises
    CaseFileError.
    """
    client = mapping(request.get("client", {}), "`client`", _MEMBERS)
    return integer(client.get("times", 1), "`client.times`", least=1, most=_MOST_TIMES)


def _claiming(request: Request, claimed: object) -> list[Buffer]:
    """Return the request with another Content-Length."""
    value = str(integer(claimed, "`client.claims`", least=0))
    fields = tuple(
        (name, value if name == "Content-Length" else old) for name, old in request.head.fields
    )
    return [write_head(msgspec.structs.replace(request.head, fields=fields)), *request.body]


def _broken_chunk(pieces: Sequence[Buffer], client: Mapping[str, Any]) -> list[Buffer]:
    """Return the head and chunks of a request, of which the first has a wrong size or end."""
    if len(pieces) < 3:
        raise CaseFileError("`client`: a broken chunk needs a delivery in chunks")
    head, first, *rest = pieces
    size, _, data = bytes(first).partition(b"\r\n")
    if "chunk_size" in client:
        size = text(client["chunk_size"], "`client.chunk_size`").encode()
    end = b"\r\n"
    if "chunk_end" in client:
        end = from_hex(client["chunk_end"], "`client.chunk_end`")
    return [head, size + b"\r\n" + data[:-2] + end, *rest]


def _cut(pieces: Sequence[Buffer], head: int, sends: object) -> list[Buffer]:
    """Return the head and this many bytes of what follows."""
    whole = b"".join(pieces)
    if sends == "all":
        return [whole]
    start = whole.index(b"\r\n\r\n") + 4
    most = len(whole) - start
    end = start + integer(sends, "`client.sends`", least=-head, most=most)
    return [whole[:end]]
