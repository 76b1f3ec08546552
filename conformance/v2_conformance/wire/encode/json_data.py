"""A tensor's `data` in JSON: its values, and the text that they become.

Hundreds of cases send the same few short tensors, and the long ones repeat after some elements. So
short data is cached, and repeating data is made once and joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from v2_conformance.protocol.datatypes import DATATYPES, Buffer, ElementError, Shape, to_json
from v2_conformance.protocol.message import dump_json

_SHORT = 4096
"""Bytes of the blobs whose data is kept, and beyond which it is looked at whether they repeat."""
_BEGINNING = 64  # bytes by which a blob is seen to begin again


@dataclass(frozen=True, eq=False)
class JsonData:
    """Data that is `once`, repeated `times`, and then `rest`; `text` is its compact JSON, in
    pieces.

    Nested data is there once, and has no rest.
    """

    once: Any
    text: Sequence[bytes]
    times: int = 1
    rest: Sequence[Any] = ()

    @property
    def values(self) -> Any:
        """The values, as `to_json` makes them. They are not to be changed."""
        if self.times == 1:
            return self.once
        values = self.once * self.times
        values += self.rest
        return values


def json_data(
    datatype: str, shape: Shape, blob: Buffer, *, nested: bool, shared: bool = False
) -> JsonData:
    """Return the data of a tensor, nested by `shape` if requested.

    It is cached if it is short or, among the last few, `shared`. Raises ElementError for what JSON
    cannot express.
    """
    shape = shape if nested else ()  # so that tensors of other shapes share it
    if len(blob) <= _SHORT:
        return _kept(datatype, shape, bytes(blob), nested=nested)
    return (_kept_long if shared else _made)(datatype, shape, bytes(blob), nested=nested)


def _made(datatype: str, shape: Shape, blob: bytes, *, nested: bool) -> JsonData:
    if not nested and len(blob) > _SHORT:
        repeated = _repeated(datatype, blob)
        if repeated is not None:
            return repeated
    values = to_json(datatype, shape, blob, nested=nested)
    return JsonData(values, (_written(datatype, values),))


_kept = lru_cache(maxsize=256)(_made)
_kept_long = lru_cache(maxsize=4)(_made)


def _repeated(datatype: str, blob: bytes) -> JsonData | None:
    """Return the flat data of a blob that repeats from its start, None if it does not
    or is broken.
    """
    size = blob.find(blob[:_BEGINNING], 1)
    if size < 0 or size % (DATATYPES[datatype].size or 1) or not blob.startswith(blob[size:]):
        return None
    whole = len(blob) // size
    if whole == 1:
        return None
    try:
        once, rest = (to_json(datatype, (), b) for b in (blob[:size], blob[whole * size :]))
    except ElementError:
        return None  # an element may have such bytes within, and an error needs its true index
    texts = [b"," + _written(datatype, once)[1:-1]] * whole
    texts += [b"," + _written(datatype, rest)[1:-1]] if rest else []
    return JsonData(once, (b"[", texts[0][1:], *texts[1:], b"]"), whole, rest)


def _written(datatype: str, values: Any) -> bytes:
    """Return the values as `dump_json` writes them, only faster; no two JSON libraries agree on
    floats.
    """
    if DATATYPES[datatype].kind == "float":
        return dump_json(values)
    return msgspec.json.encode(values)
