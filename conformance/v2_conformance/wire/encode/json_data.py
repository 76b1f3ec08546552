"""A tensor's `data` in JSON: its values, and the text that they become.

Hundreds of cases send the same few short tensors, and those about an arbitrary model its long
sample. So short data is cached, and the last few samples.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from v2_conformance.protocol.datatypes import DATATYPES, Buffer, Shape, to_json
from v2_conformance.protocol.message import dump_json

_SHORT = 4096  # bytes of a blob


class JsonData(NamedTuple):
    """Data as values, which are not to be changed, and as compact JSON."""

    values: Any
    text: bytes


def json_data(
    datatype: str, shape: Shape, blob: Buffer, *, nested: bool, shared: bool = False
) -> JsonData:
    """Return the data of a tensor, nested by `shape` if requested. It is cached if it is short or
    `shared`. Raises ElementError for what JSON cannot express.
    """
    shape = shape if nested else ()  # so that tensors of other shapes share it
    if len(blob) <= _SHORT:
        return _short(datatype, shape, bytes(blob), nested=nested)
    return (_long if shared else _made)(datatype, shape, bytes(blob), nested=nested)


def _made(datatype: str, shape: Shape, blob: bytes, *, nested: bool) -> JsonData:
    values = to_json(datatype, shape, blob, nested=nested)
    # msgspec is faster, but no two JSON libraries agree on floats.
    write = dump_json if DATATYPES[datatype].kind == "float" else msgspec.json.encode
    return JsonData(values, write(values))


_short = lru_cache(maxsize=256)(_made)
_long = lru_cache(maxsize=4)(_made)
