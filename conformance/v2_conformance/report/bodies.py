"""The messages of a report are in streams, each message once.

Many requests of a run differ in a few bytes, a response often repeats its request's tensors, and
the same known-good exchange follows most cases. So short messages are packed one after the other
into zlib streams (RFC 1950) of at most 16 MiB unpacked, in which zlib finds what repeats. A long
message has a stream of its own, because zlib remembers only the last 32 KiB. An exchange has the
places of its messages: the number of the stream, the first byte, and how many there are. A run
writes what a case adds to the streams with the case, so a killed run loses nothing, and a report is
what its record has, put together.

Reading one message unpacks one stream. What a report says about its streams is hostile: nothing is
unpacked beyond the places in it, which are bounded before.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from dataclasses import dataclass, field
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
_READ_IN_ALL = 2 << 30  # of all exchanges, which may share a message: ten times those of a long run

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


@dataclass
class _Stream:
    """One stream. `packing` packs it while it is open; places lead to its first `extent` bytes;
    `written` of its packed bytes were handed out by `Streams.added`."""

    number: int
    packed: bytearray = field(default_factory=bytearray)
    extent: int = 0
    packing: Any = None  # a zlib compressor, which mypy cannot name
    written: int = 0

    def flush(self, how: int = zlib.Z_SYNC_FLUSH) -> None:
        """Make everything so far readable."""
        if self.packing is not None:
            self.packed += self.packing.flush(how)
        if how == zlib.Z_FINISH:
            self.packing = None


class Streams:
    """The streams of a report, which is being written or was read."""

    def __init__(self) -> None:
        self.packed_long = 0  # packed bytes of all long messages
        self._all: list[_Stream] = []
        self._open: _Stream | None = None  # the stream to which short messages are added
        self._grown: dict[int, _Stream] = {}  # by number: those that `added` has not handed out
        self._known: dict[bytes, PlacedBody] = {}  # by digest
        self._reading: list[Place] = []  # of a line that may turn out to be cut off
        self._claimed: dict[int, set[tuple[int, int]]] = {}  # by stream: the places that were read
        self._in_all = 0  # bytes of all messages that were read
        self._unpacked: dict[int, bytes] = {}

    @property
    def packed(self) -> list[bytearray]:
        """All streams. They are ended; what is placed after that begins a new one."""
        for stream in self._all:
            stream.flush(zlib.Z_FINISH)
        self._open = None
        return [stream.packed for stream in self._all]

    def place(self, data: Buffer, *, most: int | None = None) -> PlacedBody | None:
        """Return the place of a message; None for a new one of over `most` packed bytes."""
        data = bytes(data)
        digest = hashlib.sha256(data).digest()
        if digest in self._known:
            return self._known[digest]
        if len(data) > SHORT:
            stream = _Stream(len(self._all), bytearray(zlib.compress(data)))
            if most is not None and len(stream.packed) > most:
                return None
            self._all.append(stream)
            self.packed_long += len(stream.packed)
        else:
            if self._open is None or self._open.extent + len(data) > FULL:
                self._open = _Stream(len(self._all), packing=zlib.compressobj())
                self._all.append(self._open)
            stream = self._open
            stream.packed += stream.packing.compress(data)
        self._grown[stream.number] = stream
        place = Place(stream.number, stream.extent, len(data))
        stream.extent += len(data)
        self._known[digest] = PlacedBody(self, place)
        return self._known[digest]

    def cut(self, data: Buffer, length: int) -> PlacedBody:
        """Return the place of the first `length` bytes of a message, with the digest of all."""
        place = self._placed(bytes(data[:length]))
        digest = hashlib.sha256(data).hexdigest()
        return PlacedBody(self, place._replace(size=len(data), sha256=digest))

    def _placed(self, data: bytes) -> Place:
        placed = self.place(data)
        assert placed is not None
        return placed.place

    def added(self, *, last: bool = False) -> Added:
        """Return what was packed since the last call, each piece with the number of its stream; of
        the `last` call, with the ends of the streams."""
        pieces = []
        for stream in self._all if last else self._grown.values():
            stream.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)
            if stream.written < len(stream.packed):
                pieces.append((stream.number, bytes(stream.packed[stream.written :])))
                stream.written = len(stream.packed)
        self._grown.clear()
        return tuple(pieces)

    def add(self, pieces: Added) -> None:
        """Take in the pieces of streams, and the places in them, of a line or report that was read
        whole. Raises ReportFileError for a stream that does not follow the others."""
        for number, piece in pieces:
            if number == len(self._all):
                self._all.append(_Stream(number))
            if number >= len(self._all):
                raise _damaged(f"stream {number} does not follow the others")
            self._all[number].packed += piece
        for place in self._reading:
            self._in_all += place.length
            self._claimed.setdefault(place.stream, set()).add((place.start, place.length))
        self._reading.clear()

    def end_read(self) -> None:
        """End the streams of a run that was killed, after `check`. Raises ReportFileError."""
        for stream in self._all:
            stream.packed = bytearray(zlib.compress(_unpack(stream.packed, stream.extent)))

    def body(self, kind: type, value: object) -> Body:
        """Return the message that is here in base64, or at a place. Raises ValueError."""
        if isinstance(value, str):
            return Body(base64.b64decode(value, validate=True))
        place = msgspec.convert(value, Place)
        _, start, length, size, _ = place
        longest = FULL if start else _LONGEST
        if start + length > longest or (size is not None and size < length):
            raise ValueError(str(_damaged(f"no stream has {length} bytes from byte {start} on")))
        self._reading.append(place)
        return PlacedBody(self, place)

    def encoded(self, body: object) -> object:
        """Encode a message, which is placed unless it is very short: the hook for JSON."""
        if not isinstance(body, Body):
            raise NotImplementedError
        if len(body) < _SHORTEST and len(body) == body.size:
            return base64.b64encode(bytes(body)).decode()
        if isinstance(body, PlacedBody) and body.streams is self:
            place = body.place
        else:
            place = self._placed(bytes(body))
            if isinstance(body, PlacedBody):
                place = place._replace(size=body.place.size, sha256=body.place.sha256)
        return place[:3] if place.size is None else place

    def check(self, most: int) -> None:
        """Raise ReportFileError if a place is in no stream, or if all have over `most` bytes."""
        for number, places in self._claimed.items():
            if number >= len(self._all):
                raise _damaged(f"there is no stream {number}")
            self._all[number].extent = max(start + length for start, length in places)
        if sum(length for places in self._claimed.values() for _, length in places) > most:
            raise _damaged(f"its messages have over {most >> 20} MiB")
        if self._in_all > _READ_IN_ALL:
            raise _damaged(f"its exchanges have over {_READ_IN_ALL >> 20} MiB in all")

    def read(self, place: Place, length: int) -> bytes:
        """Return the first bytes of a message. Raises ReportFileError if they are not there."""
        stream, end = self._all[place.stream], place.start + length
        unpacked = self._unpacked.pop(place.stream, b"")
        if len(unpacked) < end:
            stream.flush()
            unpacked = _unpack(stream.packed, max(end, min(stream.extent, FULL)))
        self._unpacked[place.stream] = unpacked  # now it is the last to be forgotten
        while sum(map(len, self._unpacked.values())) > _KEPT_UNPACKED:
            del self._unpacked[next(iter(self._unpacked))]
        return unpacked[place.start : end]


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
    """Return the streams in which all messages of a report have places: its own, or new ones."""
    bodies: list[Body] = []

    def note(value: object) -> None:
        if not isinstance(value, Body):
            raise NotImplementedError
        bodies.append(value)

    msgspec.to_builtins(document, enc_hook=note)
    streams = next((body.streams for body in bodies if isinstance(body, PlacedBody)), Streams())
    for body in bodies:
        streams.encoded(body)
    return streams
