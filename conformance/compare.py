"""Two tensors, bit for bit; where they differ, words that name element, byte and both values."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.datatypes import (
    DATATYPES,
    Buffer,
    ElementError,
    decode_bytes,
    element_count,
    to_values,
)
from conformance.message import Tensor
from conformance.reading import Finding, ReadOutput

_BLOCK = 1 << 20
_SHOWN = 16


def compare(wanted: Tensor, came: ReadOutput, *, truth: bool = False) -> None:
    """Finding unless `came` is `wanted`. With `truth`, BOOL elements count as zero or not (D7)."""
    label = ascii(wanted.name)[1:-1]
    tensor = came.tensor
    if tensor.datatype != wanted.datatype:
        raise Finding(f"{label}: datatype {tensor.datatype} came, wanted {wanted.datatype}")
    if tensor.shape != wanted.shape:
        raise Finding(f"{label}: shape {list(tensor.shape)} came, wanted {list(wanted.shape)}")
    if wanted.datatype == "BYTES":
        _compare_elements(label, wanted.blob, came)
        return
    left, right = wanted.blob, tensor.blob
    if truth:
        left, right = _truth(left), _truth(right)
    at = first_difference(left, right)
    if at is not None:
        differ = _count(left, right, DATATYPES[wanted.datatype].size or 1)
        raise Finding(f"{_describe(label, wanted, came, at)}; {differ} elements differ")


def first_difference(left: Buffer, right: Buffer) -> int | None:
    """The offset of the first differing byte, None where equal; works in blocks, without copies."""
    shorter = min(len(left), len(right))
    a, b = np.frombuffer(left, "u1"), np.frombuffer(right, "u1")
    for start in range(0, shorter, _BLOCK):
        stop = min(start + _BLOCK, shorter)
        differs = a[start:stop] != b[start:stop]
        if differs.any():
            return start + int(differs.argmax())
    return None if len(left) == len(right) else shorter


def _truth(blob: Buffer) -> bytes:
    truth: bytes = (np.frombuffer(blob, "u1") != 0).astype("u1").tobytes()
    return truth


def _describe(label: str, wanted: Tensor, came: ReadOutput, at: int) -> str:
    size = DATATYPES[wanted.datatype].size or 1
    element = at // size
    low, high = element * size, element * size + size
    want, have = bytes(wanted.blob[low:high]), bytes(came.tensor.blob[low:high])
    values = tuple(to_values(wanted.datatype, item)[0] for item in (have, want))
    place = f"element {element} of {element_count(wanted.shape)}"
    if came.form == "binary":
        place += f" (byte {at} of its blob, byte {came.start + at} of the body)"
    return (
        f"{label} {wanted.datatype}: {place} is {have.hex()} ({values[0]!r}), wanted {want.hex()} "
        f"({values[1]!r}), bytes in wire order"
    )


def _count(left: Buffer, right: Buffer, size: int) -> int:
    a, b = np.frombuffer(left, f"V{size}"), np.frombuffer(right, f"V{size}")
    return int((a != b).sum())


def _compare_elements(label: str, blob: Buffer, came: ReadOutput) -> None:
    if first_difference(blob, came.tensor.blob) is None:
        return
    try:
        have = decode_bytes(came.tensor.blob)
    except ElementError as error:
        raise Finding(f"{label} BYTES: {error}") from error
    want = decode_bytes(blob)
    offset = 0
    for index, (a, b) in enumerate(zip(want, have, strict=False)):
        if a != b:
            at = first_difference(a, b)
            place = (
                f" (from byte {came.start + offset} of the body)" if came.form == "binary" else ""
            )
            raise Finding(
                f"{label} BYTES: element {index} of {len(want)}{place} has {len(b)} bytes, wanted "
                f"{len(a)}; from its byte {at}: {_hex(b, at)}, wanted {_hex(a, at)}"
            )
        offset += 4 + len(b)
    raise Finding(f"{label} BYTES: {len(have)} elements came, wanted {len(want)}")


def _hex(data: bytes, at: Any) -> str:
    shown = data[at : at + _SHOWN].hex() or "(nothing)"
    return shown + ("…" if len(data) > at + _SHOWN else "")
