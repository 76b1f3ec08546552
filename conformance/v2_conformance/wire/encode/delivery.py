"""How a request leaves: at once, in slices or HTTP chunks, or from a client that breaks off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Part
from v2_conformance.suite.causes.base import counted
from v2_conformance.wire.encode import from_hex
from v2_conformance.wire.spelling.http import HttpSpelling
from v2_conformance.wire.transport import Head, Parting, Request, write_head

# Short enough for many of them; a run shortens it further for a server that needs less.
_PAUSE_S = 0.005
MOST_SLICES = 50
"""Beyond these, slices are longer than a case says, which was written for a small body: that of an
arbitrary model may be an image."""
# A write costs as much as a thousand bytes, and an exchange records each.
_MOST_WRITES = 10_000


def read_delivery(given: Any) -> tuple[str, Any]:
    """Return the kind of a `delivery`, whole, slices or chunks, and where it cuts the body."""
    return (given, None) if isinstance(given, str) else next(iter(given.items()))


def delivery_words(given: Any, pieces: Sequence[Buffer]) -> str:
    """Return how a request is delivered whose body is in these pieces, as in "in chunks of 7
    bytes"; "" if all at once."""
    kind, how = read_delivery(given)
    if kind == "whole":
        return ""
    if how == "one":
        return f"in one {kind[:-1]}"
    if isinstance(how, int):
        size = max(how, len(pieces[0])) if len(pieces) > 1 else how
        return f"in {kind} of {counted(size, 'byte')}"
    if how == "seam":
        return f"in {kind}, cut after the JSON"
    cuts = [f"{counted(cut['at'], 'byte')} into blob {cut['blob']}" for cut in how]
    return f"in {kind}, cut {' and '.join(cuts)}"


def make_request(
    head: Head,
    wire: bytes,
    start: int,
    delivery: Any,
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
    kind, how = read_delivery(delivery)
    if kind == "whole":
        return Request(head, (body,) if body else (), (wire,))
    if kind == "slices" and isinstance(how, int):
        how = max(how, -(-len(body) // MOST_SLICES))
    pieces = cut_body(body, how, parts)
    if kind == "slices":
        return Request(head, pieces, (view[:start], *pieces), _PAUSE_S if pieces else 0.0)
    writes = spelling.write_chunks(pieces)
    if len(writes) > _MOST_WRITES:
        writes = tuple(b"".join(writes[at : at + 1000]) for at in range(0, len(writes), 1000))
    return Request(head, pieces, (wire[:start], *writes))


def cut_body(body: Buffer, how: Any, parts: Sequence[Part]) -> tuple[Buffer, ...]:
    """Return a body in pieces. Raises CaseFileError for a cut where the body is not."""
    places: list[int] = []
    if how == "seam":
        places = [part.end for part in parts[:1]]  # everything may have been dropped
    elif isinstance(how, int):
        places = list(range(how, len(body), how))
    elif how != "one":
        blobs = [part.start for part in parts if part.kind == "blob"]
        if any(cut["blob"] >= len(blobs) for cut in how):
            raise CaseFileError(f"`delivery`: the message has {counted(len(blobs), 'blob')}")
        places = sorted(blobs[cut["blob"]] + cut["at"] for cut in how)
        if places[0] < 0 or places[-1] > len(body):
            raise CaseFileError(f"`delivery`: a cut is outside the body of {len(body)} bytes")
    edges = pairwise([0, *places, len(body)])
    return tuple(body[a:b] for a, b in edges if b > a)


def broken_off(request: Request, client: Mapping[str, Any] | None) -> Request:
    """Return `request` as the `client` of a case's request sends it, who may not send everything,
    break the framing, or not wait. Raises CaseFileError.
    """
    if client is None:
        return request
    pieces = list(request.http1)
    if "claims" in client:
        claimed = str(client["claims"])
        fields = tuple(
            (name, claimed if name == "Content-Length" else value)
            for name, value in request.head.fields
        )
        pieces = [write_head(msgspec.structs.replace(request.head, fields=fields)), *request.body]
    if "chunk_size" in client or "chunk_end" in client:
        if len(pieces) < 3:
            raise CaseFileError("`client`: a broken chunk needs a delivery in chunks")
        size, _, data = bytes(pieces[1]).partition(b"\r\n")
        size = client["chunk_size"].encode() if "chunk_size" in client else size
        end = from_hex(client["chunk_end"]) if "chunk_end" in client else b"\r\n"
        pieces[1] = size + b"\r\n" + data[:-2] + end
    if "sends" in client:
        whole = b"".join(pieces)
        sent = len(whole)
        if client["sends"] != "all":
            sent = whole.index(b"\r\n\r\n") + 4 + client["sends"]
        if not 0 <= sent <= len(whole):
            raise CaseFileError(f"`client.sends`: the request has {len(whole)} bytes")
        pieces = [whole[:sent]]
    parting = Parting(client.get("then", Parting.WAITS.value))
    return msgspec.structs.replace(request, http1=tuple(pieces), parting=parting)
