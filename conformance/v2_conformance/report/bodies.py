"""The messages of a report stand in streams, each message once.

Many requests of a run differ in a few bytes, a response often repeats its request's tensors, and
the same known-good exchange follows most cases. So all messages are packed one after the other
into zlib streams (RFC 1950) of at most 16 MiB unpacked, and an exchange has the place of its own:
the number of the stream, the first byte, and how many there are. A longer message has a stream of
its own. A run writes what a case adds to the streams with the case, so a killed run loses nothing,
and a report is what its record has, put together.

Reading one message unpacks one stream. What a report says about its streams is hostile: nothing is
unpacked beyond the places in it, which are bounded before.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from v2_conformance.errors import ReportFileError
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.suite.causes.base import Count
from v2_conformance.wire.exchange import Body

SHORT = 16 << 10
"""Messages of at most this many bytes are short, which nearly all are."""
FULL = 16 << 20
"""No more bytes are in one stream, unless they are one message."""
_LONGEST = 256 << 20
# A shorter message takes less room than its place.
_SHORTEST = 16
_KEPT_UNPACKED = 64 << 20
_STEP = 64 << 10

_DIGITS = "[A-Za-z0-9+/]"
_PATTERN = f"^({_DIGITS}{{4}})*({_DIGITS}{{3}}=|{_DIGITS}{{2}}==)?$"
Base64 = Annotated[bytes, Meta(extra_json_schema={"pattern": _PATTERN})]
"""Bytes, in base64 in JSON."""
Added = tuple[tuple[Count, Base64], ...]
"""Pieces of streams, each with the number of its stream."""


class Place(NamedTuple):
    """Where a message is: the number of the stream, its first byte, and how many bytes there are.
    If the report had no room for all, `size` bytes went over the wire; `sha256` is their digest.
    """

    stream: Count
    start: Count
    length: Count
    size: Count | None = None
    sha256: Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] = ""


JsonBody = Annotated[
    Base64 | Place, Meta(description="The bytes of a message, or their place in `bodies`.")
]
"""A message in JSON."""


class PlacedBody(Body):
    """A message that has its place in the streams of a report."""

    __slots__ = ("place", "streams")

    def __init__(self, streams: Streams, place: Place) -> None:
        self.streams, self.place = streams, place

    def __bytes__(self) -> bytes:
        return self.start(self.place.length)

    def __len__(self) -> int:
        return self.place.length

    @property
    def size(self) -> int:
        return len(self) if self.place.size is None else self.place.size

    def start(self, length: int) -> bytes:
        return self.streams.read(self.place, min(length, self.place.length))


class _Stream:
    """One stream: what is in it, and if it is being written, what packs it."""

    def __init__(self) -> None:
        self.packed = bytearray()
        self.extent = 0
        """How many of its bytes have places."""
        self.written = 0
        """How many packed bytes were handed out by Streams.added."""
        self.packing: Any = None  # a zlib compressor, which mypy cannot name

    def add(self, data: bytes, most: int | None) -> bool:
        """Pack a message, unless that takes more than `most` bytes. Return whether it was."""
        packing = self.packing if most is None else self.packing.copy()
        made = packing.compress(data)
        if most is not None:
            made += packing.flush(zlib.Z_SYNC_FLUSH)
            if len(made) > most:
                return False
        self.packing = packing
        self.packed += made
        self.extent += len(data)
        return True

    def flush(self, how: int = zlib.Z_SYNC_FLUSH) -> None:
        """Make everything so far readable."""
        if self.packing is not None:
            self.packed += self.packing.flush(how)
        if how == zlib.Z_FINISH:
            self.packing = None

    def end_read(self) -> None:
        """End what was read if its writer did not. Raises ReportFileError."""
        stream, checksum = zlib.decompressobj(), 1
        try:
            for at in range(0, len(self.packed), _STEP):  # unpacks to a thousand times as much
                piece = stream.decompress(self.packed[at : at + _STEP])
                checksum = zlib.adler32(piece, checksum)
        except zlib.error as error:
            raise _damaged(str(error)) from error
        if not stream.eof:  # an empty last block (RFC 1951, section 3.2.6), and the checksum
            self.packed += b"\x03\x00" + checksum.to_bytes(4, "big")


class Streams:
    """The streams of a report, which is being written or was read.

    Short messages stand apart from long ones: they are the most, and what repeats is near.
    """

    def __init__(self) -> None:
        self._all: list[_Stream] = []
        self._open: dict[bool, int] = {}  # the stream to which long, or short, messages are added
        self._known: dict[bytes, PlacedBody] = {}  # by digest
        self._claimed: dict[int, set[tuple[int, int]]] = {}  # by stream: the places that were read
        self._unpacked: dict[int, bytes] = {}

    @property
    def packed(self) -> list[bytearray]:
        """All streams. They are ended; what is placed after that begins a new one."""
        for stream in self._all:
            stream.flush(zlib.Z_FINISH)
        self._open.clear()
        return [stream.packed for stream in self._all]

    @property
    def packed_size(self) -> int:
        """Number of packed bytes so far."""
        return sum(len(stream.packed) for stream in self._all)

    def place(self, data: Buffer, *, most: int | None = None) -> PlacedBody | None:
        """Return the place of a message, which is added unless it is there already; None if it
        would take more than `most` packed bytes.
        """
        data = bytes(data)
        digest = hashlib.sha256(data).digest()
        known = self._known.get(digest)
        if known is not None:
            return known
        is_long = len(data) > SHORT
        number = self._open.get(is_long)
        if number is None or self._all[number].extent + len(data) > FULL:
            if number is not None:
                self._all[number].flush(zlib.Z_FINISH)
            number = self._open[is_long] = len(self._all)
            self._all.append(_Stream())
            self._all[number].packing = zlib.compressobj()
        start = self._all[number].extent
        if not self._all[number].add(data, most):
            return None
        known = self._known[digest] = PlacedBody(self, Place(number, start, len(data)))
        return known

    def cut(self, data: Buffer, length: int) -> PlacedBody:
        """Return the place of the first `length` bytes of a message, with the digest of all."""
        place = self._placed(bytes(data[:length]))
        digest = hashlib.sha256(data).hexdigest()
        return PlacedBody(self, place._replace(size=len(data), sha256=digest))

    def _placed(self, data: bytes) -> Place:
        found = self.place(data)
        assert found is not None
        return found.place

    def added(self, *, last: bool = False) -> Added:
        """Return what was packed since the last call, each piece with the number of its stream; of
        the `last` call, with the ends of the streams.
        """
        found = []
        for number, stream in enumerate(self._all):
            stream.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)
            if stream.written < len(stream.packed):
                found.append((number, bytes(stream.packed[stream.written :])))
                stream.written = len(stream.packed)
        return tuple(found)

    def add(self, pieces: Added) -> None:
        """Take in pieces of streams that were read. Raises ReportFileError for a stream that does
        not follow the others.
        """
        for number, piece in pieces:
            if number == len(self._all):
                self._all.append(_Stream())
            if number >= len(self._all):
                raise _damaged(f"stream {number} does not follow the others")
            self._all[number].packed += piece

    def end_read(self) -> None:
        """End the streams of a run that was killed. Raises ReportFileError."""
        for stream in self._all:
            stream.end_read()

    def body(self, kind: type, said: object) -> Body:
        """Return the message that stands for itself in JSON, as base64, or at a place.

        Raises ValueError for anything else: msgspec says then where it stood.
        """
        if isinstance(said, str):
            return Body(base64.b64decode(said, validate=True))
        place = msgspec.convert(said, Place)
        stream, start, length, size, _ = place
        longest = FULL if start else _LONGEST
        if start + length > longest or (size is not None and size < length):
            raise ValueError(str(_damaged(f"no stream has {length} bytes from byte {start} on")))
        self._claimed.setdefault(stream, set()).add((start, length))
        return PlacedBody(self, place)

    def encoded(self, body: object) -> object:
        """Encode a message, which is placed unless it is very short: the hook for JSON."""
        if not isinstance(body, Body):
            raise NotImplementedError
        if len(body) < _SHORTEST and len(body) == body.size:
            return base64.b64encode(bytes(body)).decode()
        if not isinstance(body, PlacedBody):
            place = self._placed(bytes(body))
        elif body.streams is self:
            place = body.place
        else:
            place = self._placed(bytes(body))._replace(
                size=body.place.size, sha256=body.place.sha256
            )
        return place[:3] if place.size is None else place

    def check(self, most: int) -> None:
        """Take in the places that were read. Raises ReportFileError if one is in no stream, if they
        overlap, or if all have more than `most` bytes.
        """
        total = 0
        for number, places in self._claimed.items():
            if number >= len(self._all):
                raise _damaged(f"there is no stream {number}")
            self._all[number].extent = max(start + length for start, length in places)
            size = sum(length for _, length in places)
            if size > self._all[number].extent:
                raise _damaged(f"places in stream {number} overlap")
            total += size
        if total > most:
            raise _damaged(f"its messages have over {most >> 20} MiB")

    def read(self, place: Place, length: int) -> bytes:
        """Return the first bytes of a message. Raises ReportFileError if they are not there."""
        stream, end = self._all[place.stream], place.start + length
        found = self._unpacked.pop(place.stream, b"")
        if len(found) < end:
            stream.flush()
            alone = stream.extent > FULL
            found = _unpack(stream.packed, end if alone else stream.extent)
            if alone:
                return found
        self._unpacked[place.stream] = found  # now it is the last to be forgotten
        while sum(map(len, self._unpacked.values())) > _KEPT_UNPACKED:
            del self._unpacked[next(iter(self._unpacked))]
        return found[place.start : end]


def inline(body: object) -> str:
    """Encode a message by itself: the hook for JSON that has no streams."""
    if not isinstance(body, Body):
        raise NotImplementedError
    return base64.b64encode(bytes(body)).decode()


def _unpack(packed: Buffer, length: int) -> bytes:
    """Return the first `length` bytes of a stream. Never makes more. Raises ReportFileError."""
    try:
        data = zlib.decompressobj().decompress(packed, length) if length else b""
    except zlib.error as error:
        raise _damaged(str(error)) from error
    if len(data) < length:
        raise _damaged(f"a stream has not {length} bytes in it")
    return data


def _damaged(what: str) -> ReportFileError:
    return ReportFileError(f"a message in the report is damaged: {what}")


def streams_of(document: object) -> Streams:
    """Return the streams in which all messages of a report, or of a part of one, have places: those
    that it was read from, or new ones.
    """
    found: list[Streams] = []
    bodies: list[Body] = []

    def note(value: object) -> None:
        if not isinstance(value, Body):
            raise NotImplementedError
        bodies.append(value)
        if isinstance(value, PlacedBody):
            found.append(value.streams)

    msgspec.to_builtins(document, enc_hook=note)
    streams = found[0] if found else Streams()
    for body in bodies:
        streams.encoded(body)
    return streams
