"""A tensor that is too long to keep: made while it is sent, compared while it comes back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.suite.causes.base import Count
from v2_conformance.suite.values.offset_pattern import (
    BLOCK,
    pattern_block,
    pattern_blocks,
    pattern_bytes,
)

if TYPE_CHECKING:
    import numpy as np

_BEFORE = 16
_SHOWN = 64
_WORD = 8
Hex = Annotated[str, Meta(pattern="^([0-9a-f]{2})*$")]


@dataclass(frozen=True)
class StreamedTensor:
    """A tensor whose bytes are those of the offset pattern (`suite.values.offset_pattern`).

    `name` is that of the output in which it must come back; `element` is bytes per element.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    element: int
    size: int

    def blocks(self) -> Iterator[memoryview]:
        """Yield its bytes, in pieces."""
        return pattern_blocks(self.size)


class StreamDifference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a tensor that came back first differs from the one that was sent, and how often."""

    offset: Annotated[Count, Meta(description="The first byte of the tensor that differs.")]
    start: Annotated[Count, Meta(description="The byte of the tensor at which `got` begins.")]
    got: Annotated[Hex, Meta(description="What came from there on, as far as it is kept.")]
    differing: Annotated[Count, Meta(description="Elements that differ.")]


class Streamed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The record of an exchange whose tensor was streamed, beside the beginnings of its messages.

    The request is followed by `size` bytes of the offset pattern. Of the response's body what is
    after the JSON was compared with them.
    """

    size: Annotated[Count, Meta(description="Bytes of tensor that follow the recorded request.")]
    sha256: Annotated[str, Meta(description="Digest of those of them that were sent, in hex.")]
    came: Annotated[Count, Meta(description="Bytes of the response, of which the first are kept.")]
    body: Annotated[Count, Meta(description="Bytes of its body, without framing.")]
    tensor: Annotated[Count, Meta(description="Bytes of its body behind the JSON.")] = 0
    difference: Annotated[
        StreamDifference | None,
        Meta(description="Null if these are the bytes that were to be sent, as far as they came."),
    ] = None
    excess: Annotated[Count, Meta(description="Bytes that came behind the response.")] = 0


class Comparison:
    """Compares bytes that come in pieces with the offset pattern, element by element.

    What comes after `size` bytes is counted and not compared.
    """

    def __init__(self, size: int, element: int) -> None:
        self.taken = 0
        self._size = size
        self._element = element
        self._at = 0  # bytes compared so far
        self._rest = b""  # bytes of an incomplete element
        self._number = -1
        self._block = memoryview(b"")
        self._offset: int | None = None
        self._start = 0
        self._got = bytearray()
        self._differing = 0

    def take(self, data: Buffer) -> None:
        """Take the next bytes."""
        self.taken += len(data)
        left = self._size - self._at - len(self._rest)
        if left <= 0:
            return
        data = memoryview(data)[:left]
        joined = memoryview(self._rest + bytes(data)) if self._rest else data
        whole = len(joined) - len(joined) % self._element
        self._rest = bytes(joined[whole:])
        self._compare(joined[:whole])

    def difference(self) -> StreamDifference | None:
        """Return how everything received differs, None if it does not. Nothing may
        come afterwards.
        """
        if self._rest:
            self._element = 1
            rest, self._rest = self._rest, b""
            before = self._differing
            self._compare(memoryview(rest))
            self._differing = min(self._differing, before + 1)  # they are one element
        if self._offset is None:
            return None
        return StreamDifference(self._offset, self._start, self._got.hex(), self._differing)

    def _compare(self, data: memoryview) -> None:
        import numpy as np

        while data:
            number, at = divmod(self._at, BLOCK)
            if number != self._number:
                self._number, self._block = number, pattern_block(number)
            count = min(len(data), BLOCK - at)
            want = np.frombuffer(self._block[at : at + count], f"<u{self._element}")
            have = np.frombuffer(data[:count], f"<u{self._element}")
            if self._offset is not None and len(self._got) < _SHOWN:
                self._got += data[: min(count, _SHOWN - len(self._got))]
            differing = int(np.count_nonzero(want != have))
            if differing:
                self._differing += differing
                self._note(want, have, data[:count])
            self._at += count
            data = data[count:]

    def _note(
        self, want: np.ndarray[Any, Any], have: np.ndarray[Any, Any], data: memoryview
    ) -> None:
        if self._offset is not None:
            return
        first = int((want.view("u1") != have.view("u1")).argmax())
        self._offset = self._at + first
        self._start = max(0, self._offset // _WORD * _WORD - _BEFORE)
        same = pattern_bytes(self._start, self._offset)
        self._got = bytearray(same + bytes(data[first : first + _SHOWN - len(same)]))
