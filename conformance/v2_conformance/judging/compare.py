"""Two tensors, bit for bit; where they differ, words that name element, byte and both values."""

from __future__ import annotations

from typing import Any

import numpy as np

from v2_conformance.judging.response import Difference, Finding, ReadOutput
from v2_conformance.protocol.datatypes import (
    DATATYPES,
    Buffer,
    ElementError,
    decode_bytes,
    element_count,
    to_values,
)
from v2_conformance.protocol.message import Tensor

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
        found = _difference(label, wanted, came, at)
        words = _describe(found, element_count(wanted.shape))
        raise Finding(f"{words}; {differ} elements differ", found)


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


def _difference(label: str, wanted: Tensor, came: ReadOutput, at: int) -> Difference:
    size = DATATYPES[wanted.datatype].size or 1
    element = at // size
    low, high = element * size, element * size + size
    want, have = bytes(wanted.blob[low:high]), bytes(came.tensor.blob[low:high])
    values = [repr(to_values(wanted.datatype, item)[0]) for item in (want, have)]
    place = _in_body(came, at)
    return Difference(
        label, wanted.datatype, element, at, place, want.hex(), have.hex(), values[0], values[1]
    )


def _in_body(came: ReadOutput, at: int) -> int | None:
    return came.start + at if came.form == "binary" else None


def _describe(found: Difference, elements: int) -> str:
    place = f"element {found.element} of {elements}"
    if found.body_offset is not None:
        place += f" (byte {found.offset} of its blob, byte {found.body_offset} of the body)"
    return (
        f"{found.output} {found.datatype}: {place} is {found.got} ({found.got_value}), wanted "
        f"{found.wanted} ({found.wanted_value}), bytes in wire order"
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
            words = (
                f"{label} BYTES: element {index} of {len(want)}{place} has {len(b)} bytes, wanted "
                f"{len(a)}; from its byte {at}: {_hex(b, at)}, wanted {_hex(a, at)}"
            )
            first = first_difference(blob, came.tensor.blob) or 0
            found = Difference(
                label, "BYTES", index, first, _in_body(came, first),
                a[at:][:_SHOWN].hex(), b[at:][:_SHOWN].hex(), _value(a), _value(b),
            )  # fmt: skip
            raise Finding(words, found)
        offset += 4 + len(b)
    raise Finding(f"{label} BYTES: {len(have)} elements came, wanted {len(want)}")


def _value(data: bytes) -> str:
    """A BYTES element as people write it: its length, and its start as a bytes literal."""
    shown = repr(data[:_SHOWN]) + ("…" if len(data) > _SHOWN else "")
    return f"{len(data)} bytes, {shown}"


def _hex(data: bytes, at: Any) -> str:
    shown = data[at : at + _SHOWN].hex() or "(nothing)"
    return shown + ("…" if len(data) > at + _SHOWN else "")
