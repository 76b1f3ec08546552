"""Clients that break off: they do not send everything, break the framing, or do not wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.wire.case_data import from_hex, integer, mapping, one_of, text
from v2_conformance.wire.transport import Parting, Request, write_head

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
