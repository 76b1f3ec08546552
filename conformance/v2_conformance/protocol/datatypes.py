"""The V2 datatypes, and a tensor's elements as little-endian bytes and as JSON.

A tensor's value is held in one form everywhere in the suite: its *blob*, the exact bytes that the
binary extension puts on the wire (row-major, little-endian, no padding; BYTES elements each after
a 4-byte length). JSON is converted to and from that form, so that every comparison is bit for bit.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it takes long to import, and many commands need no elements
    import numpy as np

Buffer = bytes | bytearray | memoryview
Shape = tuple[int, ...]

_PREFIX = struct.Struct("<I")
# What JSON has for the elements of each kind of datatype.
_TYPES: dict[str, frozenset[type]] = {
    "bool": frozenset({bool}),
    "int": frozenset({int, float}),
    "float": frozenset({int, float}),
    "bytes": frozenset({str}),
}
_EXACT_FLOAT_INTEGER = 2**53
_BEYOND_DOUBLE = 2**1024 - 2**970  # the first integer that has no double


class ElementError(ValueError):
    """Bytes or JSON that are not a tensor of the given datatype and shape."""


@dataclass(frozen=True)
class Datatype:
    """One V2 datatype. `size` is bytes per element, None for BYTES; `numpy` a little-endian dtype.

    BF16 has no numpy type: its elements are held as uint16 bit patterns.
    """

    name: str
    size: int | None
    numpy: str | None
    kind: str  # "bool", "int", "float" or "bytes"


DATATYPES: dict[str, Datatype] = {
    d.name: d
    for d in (
        Datatype("BOOL", 1, "|u1", "bool"),
        Datatype("UINT8", 1, "|u1", "int"),
        Datatype("UINT16", 2, "<u2", "int"),
        Datatype("UINT32", 4, "<u4", "int"),
        Datatype("UINT64", 8, "<u8", "int"),
        Datatype("INT8", 1, "|i1", "int"),
        Datatype("INT16", 2, "<i2", "int"),
        Datatype("INT32", 4, "<i4", "int"),
        Datatype("INT64", 8, "<i8", "int"),
        Datatype("FP16", 2, "<f2", "float"),
        Datatype("BF16", 2, "<u2", "float"),
        Datatype("FP32", 4, "<f4", "float"),
        Datatype("FP64", 8, "<f8", "float"),
        Datatype("BYTES", None, None, "bytes"),
    )
}
FLOATS = frozenset(d.name for d in DATATYPES.values() if d.kind == "float")
HALVES = frozenset(name for name in FLOATS if DATATYPES[name].size == 2)


def datatype_of(dtype: np.dtype[Any]) -> str | None:
    """The datatype whose elements a numpy array of this type has, None if there is none."""
    if dtype.kind == "b":
        return "BOOL"
    native = dtype.newbyteorder("<")
    fits = (d.name for d in DATATYPES.values() if d.kind in ("int", "float") and d.name != "BF16")
    import numpy as np

    return next((name for name in fits if np.dtype(DATATYPES[name].numpy) == native), None)


def element_count(shape: Iterable[int]) -> int:
    """The number of elements of `shape`; 1 for the scalar shape []. Never overflows."""
    return prod(shape)


def encode_bytes(elements: Sequence[bytes]) -> bytes:
    """BYTES elements as one blob: each after its length as a little-endian uint32 (B1)."""
    pieces = [b""] * (2 * len(elements))
    pieces[::2] = map(_Kept(_PREFIX.pack).__getitem__, map(len, elements))
    pieces[1::2] = elements
    return b"".join(pieces)


def decode_bytes(blob: Buffer, count: int | None = None) -> list[bytes]:
    """The elements of a BYTES blob.

    Raises ElementError if a length points past the end, bytes are left over, or there are not
    `count` elements (if given); the message has the element's index and byte offset.
    """
    data = bytes(blob)
    # No Python runs for an element: long tensors have millions.
    read = BytesIO(data).read
    prefixes = iter(partial(read, _PREFIX.size), b"")
    try:
        # A prefix that was cut off is an error.
        lengths = _Kept(lambda prefix: _PREFIX.unpack(prefix)[0])
        elements = list(map(read, map(lengths.__getitem__, prefixes)))
    except struct.error:
        raise _first_cut(data) from None
    if elements:
        last = len(elements[-1])
        if _PREFIX.unpack_from(data, len(data) - last - _PREFIX.size)[0] != last:
            raise _first_cut(data)  # a read gives fewer bytes only at the end
    if count is not None and len(elements) != count:
        raise ElementError(f"expected {_number(count)} BYTES elements, got {len(elements)}")
    return elements


class _Kept(dict[Any, Any]):
    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def __missing__(self, key: Any) -> Any:
        self[key] = made = self._make(key)
        return made


def _first_cut(data: bytes) -> ElementError:
    index, offset, length = _cut(data)
    if length is None:
        return ElementError(
            f"element {index} at byte {offset}: expected a length of 4 bytes, got "
            f"{len(data) - offset}"
        )
    return ElementError(
        f"element {index} at byte {offset}: expected {length} bytes (0x{length:08x}), as its "
        f"length says, got {len(data) - offset - _PREFIX.size}"
    )


def _cut(data: bytes) -> tuple[int, int, int | None]:
    """Return the first element that is not whole: its index, its offset, and its length if that is
    whole. A blob without any has an index after its last element."""
    index, offset, end = 0, 0, len(data)
    while end - offset >= _PREFIX.size:
        length = _PREFIX.unpack_from(data, offset)[0]
        if offset + _PREFIX.size + length > end:
            return index, offset, length
        offset += _PREFIX.size + length
        index += 1
    return index, offset, None


def broken_prefix(data: bytes) -> bytes | None:
    """Return the bytes of the first length in a BYTES blob that points past its end, if any."""
    _, offset, length = _cut(data)
    return None if length is None else data[offset : offset + _PREFIX.size]


def blob_size(datatype: str, shape: Iterable[int]) -> int | None:
    """shape × element size in bytes, None for BYTES, whose size its values decide."""
    size = DATATYPES[datatype].size
    return None if size is None else size * element_count(shape)


def to_array(datatype: str, blob: Buffer) -> np.ndarray[Any, Any]:
    """A fixed-size blob as a 1-D array that shares its memory (BF16 as uint16 bit patterns)."""
    import numpy as np

    dtype = DATATYPES[datatype].numpy
    if dtype is None:
        raise ElementError("a BYTES tensor has no fixed-size array form")
    size = DATATYPES[datatype].size or 1
    if len(blob) % size:
        raise ElementError(
            f"element {len(blob) // size} at byte {len(blob) // size * size}: expected {size} "
            f"bytes of {datatype}, got {len(blob) % size}"
        )
    return np.frombuffer(blob, dtype=dtype)


def from_values(datatype: str, values: Sequence[Any]) -> bytes:
    """Python values (bool, int, float, bytes) as a blob; floats are rounded to nearest even."""
    import numpy as np

    kind = DATATYPES[datatype].kind
    if kind == "bytes":
        return encode_bytes(values)
    if kind == "int":
        return _from_integers(datatype, values)
    if kind == "bool":
        return bytes(1 if value else 0 for value in values)
    if datatype == "BF16":
        return _bf16_bits(np.asarray(values, dtype="<f8")).tobytes()
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values, dtype="<f8").astype(DATATYPES[datatype].numpy).tobytes()


def to_values(datatype: str, blob: Buffer) -> list[Any]:
    """A blob as Python values: bool, int, float or bytes. Raises ElementError."""
    spec = DATATYPES[datatype]
    if spec.kind == "bytes":
        return decode_bytes(blob)
    array = to_array(datatype, blob)
    if spec.kind == "bool":
        array = array.astype("?")
    if datatype == "BF16":
        array = (array.astype("<u4") << 16).view("<f4")
    values: list[Any] = array.tolist()
    return values


def shown_value(value: object) -> str:
    """Return a value for people: true, false and null as in JSON, others as Python shows them."""
    return json.dumps(value) if value is None or isinstance(value, bool) else repr(value)


def to_json(datatype: str, shape: Sequence[int], blob: Buffer, *, nested: bool = False) -> Any:
    """A tensor as the V2 JSON `data` array, flat (row-major) or nested by `shape`.

    Raises ElementError for what JSON cannot express: non-finite floats, BYTES that are not UTF-8.
    """
    values = to_values(datatype, blob)
    kind = DATATYPES[datatype].kind
    if kind == "float" and not all(map(isfinite, values)):
        index = next(i for i, value in enumerate(values) if not isfinite(value))
        raise ElementError(f"element {index} is {values[index]}, which has no JSON form")
    if kind == "bytes":
        values = _texts(values)
    return _nest(values, tuple(shape)) if nested else values


def from_json(datatype: str, shape: Sequence[int], data: object) -> bytes:
    """The blob that a JSON `data` array stands for, flat or nested by `shape`.

    Raises ElementError, with the element's index, if a value is not of the datatype or is out of
    its range, and if the number of elements is not the shape's.
    """
    values, types = _flatten(data, tuple(shape))
    kind = DATATYPES[datatype].kind
    wanted = _TYPES[kind]
    if not types <= wanted:
        index = next(i for i, value in enumerate(values) if type(value) not in wanted)
        raise ElementError(f"element {index} is {_shown(values[index])}; expected {datatype}")
    if kind == "bytes":
        return encode_bytes(_encoded(values))
    if kind == "int":
        if float in types:
            values = [_whole(i, value) for i, value in enumerate(values)]
        return _from_integers(datatype, values)
    try:
        blob = from_values(datatype, values)
    except OverflowError as error:
        index = next(i for i, value in enumerate(values) if abs(value) >= _BEYOND_DOUBLE)
        raise _out_of_range(datatype, index, values[index]) from error
    if kind == "float":
        rounded = to_values(datatype, blob)
        if not all(map(isfinite, rounded)):
            index = next(i for i, value in enumerate(rounded) if not isfinite(value))
            raise _out_of_range(datatype, index, values[index])
    return blob


def leaves(data: object) -> Iterator[object]:
    """Yield the elements of an array of any depth, in order."""
    left = [data]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left += reversed(item)
        else:
            yield item


def check_blob(datatype: str, shape: Sequence[int], blob: Buffer) -> None:
    """Raise ElementError unless `blob` is exactly a tensor of `datatype` and `shape`."""
    size = blob_size(datatype, shape)
    if size is None:
        decode_bytes(blob, element_count(shape))
    elif len(blob) != size:
        raise ElementError(
            f"expected {_number(size)} bytes for {datatype} {_shape(shape)} "
            f"({_number(element_count(shape))} x {DATATYPES[datatype].size}), got {len(blob)}"
        )


def _from_integers(datatype: str, values: Sequence[int]) -> bytes:
    import numpy as np

    dtype = np.dtype(DATATYPES[datatype].numpy)
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    try:
        numbers = np.fromiter(values, "<i8", len(values))
    except OverflowError:  # beyond INT64, which only UINT64 may have
        numbers = np.array(values, dtype=object)
    if values and not (low <= int(numbers.min()) and int(numbers.max()) <= high):
        index = next(i for i, value in enumerate(values) if not low <= value <= high)
        raise ElementError(
            f"element {index} is {_shown(values[index])}, out of the range of {datatype} "
            f"({low} to {high})"
        )
    return numbers.astype(dtype).tobytes()


def _whole(index: int, value: float) -> int:
    # JSON has one kind of number: 3.0 is an integer, while it is exact as a double.
    if isinstance(value, int):
        return value
    if value.is_integer() and abs(value) <= _EXACT_FLOAT_INTEGER:
        return int(value)
    raise ElementError(f"element {index} is {shown_value(value)}; expected an integer")


def _bf16_bits(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        single = values.astype("<f4")
    bits = single.view("<u4").astype("<u8")
    # Rounded twice, a value just above the middle would end below it: the first rounding goes
    # toward zero and leaves a mark in the last bit that something was cut off.
    bits -= np.abs(single) > np.abs(values)
    bits |= single != values
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    nan = (bits >> 16) | 0x40  # rounding must not turn a NaN into an infinity
    return np.where(np.isnan(values), nan, rounded).astype("<u2")


def _nest(values: list[Any], shape: Shape) -> Any:
    if not shape:
        return values[0]
    for axis in range(len(shape) - 1, 0, -1):
        size = shape[axis]
        rows = element_count(shape[:axis])
        values = [values[row * size : (row + 1) * size] for row in range(rows)]
    return values


def _flatten(data: object, shape: Shape) -> tuple[list[Any], set[type]]:
    if not isinstance(data, list):
        if shape == ():
            return [data], {type(data)}
        raise ElementError(f"`data`: expected an array, got {_shown(data)}")
    count = element_count(shape)
    flat: list[Any] = data
    types: set[type] = set(map(type, flat))
    if list in types:
        for level, size in enumerate(shape):
            if level == 0:
                if len(flat) != size:
                    raise ElementError(f"`data`: expected {_number(size)} rows, got {len(flat)}")
                continue
            rows = flat
            flat = []
            for row in rows:
                if not isinstance(row, list) or len(row) != size:
                    raise ElementError(f"`data`: expected arrays nested as {_shape(shape)}")
                flat.extend(row)
        types = set(map(type, flat))
    if len(flat) != count:
        raise ElementError(f"`data`: expected {_number(count)} elements, got {len(flat)}")
    return flat, types


def _texts(elements: Sequence[bytes]) -> list[str]:
    try:
        return list(map(bytes.decode, elements))
    except UnicodeDecodeError as error:
        raise ElementError(
            f"element {elements.index(error.object)} is not UTF-8 at its byte {error.start}: it "
            "has no JSON form"
        ) from error


def _encoded(texts: Sequence[str]) -> list[bytes]:
    try:
        return list(map(str.encode, texts))
    except UnicodeEncodeError as error:
        index = texts.index(error.object)
        raise ElementError(f"element {index} is a string with an unpaired surrogate") from error


def _out_of_range(datatype: str, index: int, value: object) -> ElementError:
    return ElementError(f"element {index} is {_shown(value)}, out of the range of {datatype}")


def _number(value: int) -> str:
    return str(value) if value < 10**40 else "more than 10^40"


def _shape(shape: Sequence[int]) -> str:
    shown = ", ".join(map(_number, shape[:16]))
    return f"[{shown}, …]" if len(shape) > 16 else f"[{shown}]"


def _shown(value: object, limit: int = 40) -> str:
    if isinstance(value, list | dict):
        return "an array" if isinstance(value, list) else "an object"
    text = ascii(value) if isinstance(value, str) else shown_value(value)
    return text if len(text) <= limit else text[:limit] + "…"
