"""Reads a response, keeping only its beginning: its tensor is compared while it comes."""

from __future__ import annotations

import hashlib

import h11
from msgspec.structs import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.wire.http1.response import ResponseReader
from v2_conformance.wire.messages import one_number
from v2_conformance.wire.streamed import Comparison, Streamed, StreamedTensor
from v2_conformance.wire.transcript import Ending, Limits, Response

MOST_JSON = 1 << 20
"""The JSON of one output needs no more bytes; after a longer one, no tensor is looked for."""
_KEPT = 16 * 1024
_FRAMING = 9  # bytes that a byte of the JSON may take if it comes in chunks of one
_SLACK = 1 << 20


class StreamedReader(ResponseReader):
    """Like ResponseReader, but `raw` is only the beginning of what came: it has the head, the JSON
    and the first bytes of the tensor."""

    reads_plain = False

    def __init__(self, limits: Limits, tensor: StreamedTensor) -> None:
        super().__init__(limits)
        self._limit = tensor.size + _SLACK
        self._comparison = Comparison(tensor.size, tensor.element)
        self._keep: int | None = None  # of `raw`, once the head is there
        self._json: int | None = None
        self._came = 0
        self._body = 0

    @property
    def cost(self) -> int:
        """Just what is kept: a tensor of 2 GiB may well come in half a million chunks."""
        return len(self.raw)

    def feed(self, data: bytes) -> None:
        """See ResponseReader."""
        self._came += len(data)
        super().feed(data)
        if self._keep is not None and len(self.raw) > self._keep:
            del self.raw[self._keep :]

    def streamed(self, size: int, sha256: str) -> Streamed:
        """Return the streamed facts; `size` and `sha256` describe the request."""
        return Streamed(
            size=size,
            sha256=sha256,
            came=self._came,
            body=self._body,
            tensor=self._comparison.taken,
            difference=self._comparison.difference(),
            excess=self._messages[-1].excess if self._messages else 0,
        )

    def _take(self, event: h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]) -> bool:
        if isinstance(event, h11.Data):
            return self._take_body(event.data)
        goes_on = super()._take(event)
        if isinstance(event, h11.Response):
            self._json = json_length(event.status_code, _fields(event))
            self._keep = self._messages[-1].start + _KEPT + _FRAMING * (self._json or 0)
        return goes_on

    def _take_body(self, data: Buffer) -> bool:
        at, self._body = self._body, self._body + len(data)
        if self._body > self._limit + (self._json or 0):
            self.error = f"the response is longer than {self._limit} bytes"
            self.error_ending = Ending.TOO_LARGE
            return False
        if self._json is not None and self._body > self._json:
            self._comparison.take(memoryview(data)[max(0, self._json - at) :])
        return True


def nothing_streamed(tensor: StreamedTensor) -> Streamed:
    """Return the facts of an exchange with a tensor of which nothing was sent."""
    return Streamed(tensor.size, hashlib.sha256().hexdigest(), 0, 0)


def json_length(status: int, fields: tuple[tuple[str, str], ...]) -> int | None:
    """Return where the tensor begins in the body of a response, None if it has none."""
    length = one_number(value for name, value in fields if name == HEADER_LENGTH.lower())
    if status != 200 or length is None:
        return None
    return length if length <= MOST_JSON else None


def beginning_of(received: Buffer, streamed: Streamed, ending: Ending) -> Response | None:
    """Return the response whose first bytes were kept, with that part of its body; None without a
    head.
    """
    reader = ResponseReader(Limits())
    reader.feed(bytes(received))
    if not reader.in_body:
        return None
    whole = ending is Ending.COMPLETE
    return replace(reader.response(), whole=whole, excess=streamed.excess)


def _fields(event: h11.Response) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers)
