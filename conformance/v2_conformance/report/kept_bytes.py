"""How a report keeps the bytes of a message: as they are, or deflated, or only their start.

Most messages are short and stand in the record of a run as they went over the wire. Long ones are
mostly tensors whose values repeat: deflated, they take a fraction. What a report has no room for
(see `report.room`) is left out, and said to be. A report.json has the messages of all exchanges
in common blocks, see `report.messages`.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from v2_conformance.errors import ReportFileError
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.suite.causes.base import Count

PLAIN = 16 * 1024
"""A message of at most this many bytes is kept as it is."""
_STEP = 1 << 20

Base64 = Annotated[bytes, Meta(extra_json_schema={"pattern": "^[A-Za-z0-9+/]*={0,2}$"})]
"""Bytes, in base64 in JSON."""


class Deflated(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A long message as a zlib stream (RFC 1950) of its first `kept` bytes, or of all of them.

    `size` is the number of bytes that went over the wire. If only the first were kept, `sha256` is
    the digest of all.
    """

    deflated: Base64
    size: Count
    kept: Annotated[
        Count | None, Meta(description="How many bytes were kept; null if all were.")
    ] = None
    sha256: Annotated[str | None, Meta(description="Digest of all bytes, in hex.")] = None

    @property
    def omitted(self) -> int:
        """Number of bytes at the end of the message that were not kept."""
        return 0 if self.kept is None else max(0, self.size - self.kept)


class Place(NamedTuple):
    """Where a message is in a report.json: the block in `messages`, counted from 0, its first byte
    in what is in that block, and its length. Once a report is read it has none."""

    block: Count
    start: Count
    length: Count


KeptBytes = Base64 | Deflated | Place
"""The bytes of a message as a report has them."""


def keep(data: bytes) -> KeptBytes:
    """Return `data` as a report keeps it: deflated if it is long and that makes it shorter."""
    if len(data) <= PLAIN:
        return data
    made = deflated(data)
    return made if is_shorter(made) else data


def deflated(data: bytes) -> Deflated:
    """Return `data` deflated, even if that makes it longer."""
    return Deflated(zlib.compress(data), len(data))


def is_shorter(made: Deflated) -> bool:
    """Return True if deflating a message makes it short enough to be worth it."""
    return len(made.deflated) < made.size * 0.9


def start_of(kept: KeptBytes, length: int) -> KeptBytes:
    """Return the first `length` bytes of a message that is kept in full."""
    data = unpacked(kept)
    if len(data) <= length:
        return kept
    digest = hashlib.sha256(data).hexdigest()
    return Deflated(zlib.compress(data[:length]), len(data), length, digest)


def beginning(kept: KeptBytes, length: int) -> bytes:
    """Return the first `length` bytes of a message, or all if it has fewer, unpacking no more than
    that.

    Raises ReportFileError for a stream that is damaged.
    """
    if not isinstance(kept, Deflated):
        return _here(kept)[:length]
    try:
        return zlib.decompressobj().decompress(kept.deflated, length)
    except zlib.error as error:
        raise ReportFileError(f"a message in the report is damaged: {error}") from error


def stored_size(kept: KeptBytes) -> int:
    """Return how many bytes a message takes in a report, before base64."""
    return len(kept.deflated) if isinstance(kept, Deflated) else len(_here(kept))


def size_of(kept: KeptBytes) -> int:
    """Return how many bytes went over the wire."""
    return kept.size if isinstance(kept, Deflated) else len(_here(kept))


def unpacked_size(kept: KeptBytes) -> int:
    """Return how many bytes a message has once it is unpacked: those that were kept."""
    if isinstance(kept, Deflated) and kept.kept is not None:
        return kept.kept
    return size_of(kept)


def unpacked(kept: KeptBytes) -> bytes:
    """The bytes that were kept. Never makes more than the message says that it has.

    Raises ReportFileError for a stream that is damaged or holds another number of bytes.
    """
    if not isinstance(kept, Deflated):
        return _here(kept)
    size = unpacked_size(kept)
    stream = zlib.decompressobj()
    pieces: list[bytes] = []
    made = 0
    data: Buffer = kept.deflated
    try:
        while made <= size and not stream.eof:
            piece = stream.decompress(data, min(_STEP, size - made + 1))
            if not piece and not stream.eof:
                break  # it ends early
            pieces.append(piece)
            made += len(piece)
            data = stream.unconsumed_tail
    except zlib.error as error:
        raise ReportFileError(f"a message in the report is damaged: {error}") from error
    if made != size or not stream.eof or stream.unused_data or size > kept.size:
        raise ReportFileError(f"a message in the report is damaged: it has not {size} bytes in it")
    return b"".join(pieces)


def _here(kept: bytes | Place) -> bytes:
    if isinstance(kept, Place):  # in a record, or in a report without blocks
        raise ReportFileError(
            "a message in the report is damaged: it is in a block, but none is there"
        )
    return kept
