"""Compares two tensors bit for bit and finds the first element in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np
from msgspec.structs import replace

from v2_conformance.judging.messages.response import ReadOutput
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import (
    DATATYPES,
    FLOATS,
    Buffer,
    ElementError,
    decode_bytes,
    element_count,
    from_values,
    leaves,
    shown_value,
    to_values,
)
from v2_conformance.protocol.message import Tensor
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import FirstDifference, printable
from v2_conformance.wire.encode.deployment import Tolerance

_SHOWN = 16
_BEYOND_DOUBLE = 2**1024

_MOST_TURNED = 1 << 20
_ROUNDINGS = (1e-6, 1e-5, 1e-4, 1e-3)


def compare_tensors(
    expected: Tensor, got: ReadOutput, *, compare: str = "bits", tolerance: Tolerance | None = None
) -> None:
    """Raise Finding unless `got` is `expected`, bit for bit.

    To `compare` "truth", BOOL elements count as zero or not zero (D7); "computed" values may have
    been rounded, and the finding says which tolerance would allow that. With a `tolerance`, floats
    may differ by it, and only elements that differ by more are compared bit for bit.
    """
    compare_types(expected, got)
    label, datatype = printable(expected.name), expected.datatype
    if datatype == "BYTES":
        _compare_elements(label, expected.blob, got)
        return
    left, right = expected.blob, got.tensor.blob
    if compare == "truth":
        left, right = _truth(left), _truth(right)
    if tolerance is not None and datatype in FLOATS:
        right = _tolerated(datatype, left, right, tolerance)
    at = first_differing_byte(left, right)
    if at is not None:
        size = DATATYPES[datatype].size or 1
        differing = int((np.frombuffer(left, f"V{size}") != np.frombuffer(right, f"V{size}")).sum())
        result = _difference(label, expected, got, at)
        columns = _in_columns(expected, got.tensor.blob)
        allowed = _ROUNDINGS if compare == "computed" and datatype in FLOATS else ()
        near = (r for r in allowed if _tolerated(datatype, left, right, Tolerance(r)) == left)
        count = element_count(expected.shape)
        raise Finding(kinds.WrongValue(result, count, differing, columns, next(near, None)))


def _in_columns(expected: Tensor, blob: Buffer) -> bool:
    """Return True if a blob has the elements of a tensor of several dimensions in column-major
    order, of which at least some differ from their neighbors."""
    size = DATATYPES[expected.datatype].size or 1
    if sum(n > 1 for n in expected.shape) < 2 or len(blob) > _MOST_TURNED:
        return False
    # Of any model, what is expected may be what is turned.
    for one, other in ((expected.blob, blob), (blob, expected.blob)):
        if np.frombuffer(one, f"V{size}").reshape(expected.shape).tobytes("F") == bytes(other):
            return True
    return False


def compare_types(expected: Tensor, got: ReadOutput) -> None:
    """Raise Finding unless `got` has the datatype and shape of `expected`."""
    label, tensor = printable(expected.name), got.tensor
    if tensor.datatype != expected.datatype:
        raise Finding(kinds.WrongDatatype(label, expected.datatype, printable(tensor.datatype)))
    if tensor.shape != expected.shape:
        raise Finding(kinds.WrongShape(label, expected.shape, tensor.shape))


def compare_readings(
    expected: Tensor,
    got: ReadOutput,
    readings: Sequence[Sequence[object]],
    *,
    tolerance: Tolerance | None = None,
) -> None:
    """Raise Finding unless `got` has the datatype and shape of `expected`, and the elements of one
    of the `readings`. None stands for any element. Not for BYTES.
    """
    compare_types(expected, got)
    wrong = None
    for reading in readings:
        try:
            read = replace(expected, blob=_read_as(reading, got.tensor))
            compare_tensors(read, got, tolerance=tolerance)
        except Finding as finding:
            wrong = finding
        else:
            return
    if wrong is not None:
        raise wrong


def _read_as(reading: Sequence[object], got: Tensor) -> bytes:
    elements = []
    for number, value in enumerate(reading):
        size = DATATYPES[got.datatype].size or 1
        any_bits = got.blob[number * size : (number + 1) * size]
        elements.append(any_bits if value is None else from_values(got.datatype, [value]))
    return b"".join(map(bytes, elements))


def values_shown(got: ReadOutput) -> str:
    """Return the first elements of a tensor of numbers or booleans, for people."""
    values = to_values(got.tensor.datatype, got.tensor.blob)
    return ", ".join(map(shown_value, values[:_SHOWN])) + (", …" if len(values) > _SHOWN else "")


def check_no_other_number(expected: Tensor, data: object) -> None:
    """Raise Finding if the JSON `data`, flat or nested, has a finite number in place of a
    non-finite element of the datatype. Anything else may stand there, and in place of what is no
    float, such as the other outputs of a model.
    """
    if expected.datatype not in FLOATS:
        return
    got = list(leaves(data))
    values = to_values(expected.datatype, expected.blob)
    if len(got) != len(values):
        return  # the comparison of shapes reports this
    size = DATATYPES[expected.datatype].size or 1
    wrong = [n for n, value in enumerate(values) if not isfinite(value) and _is_finite(got[n])]
    wrong = [n for n in wrong if isfinite(to_values(expected.datatype, _blob(expected, got[n]))[0])]
    if not wrong:
        return
    at = wrong[0] * size
    blob = bytes(expected.blob[:at]) + _blob(expected, got[wrong[0]])
    read = ReadOutput(replace(expected, blob=blob), "json", 0)
    difference = _difference(printable(expected.name), expected, read, at)
    raise Finding(kinds.WrongValue(difference, len(values), len(wrong)))


def _is_finite(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < _BEYOND_DOUBLE  # type: ignore[arg-type]


def _blob(expected: Tensor, value: object) -> bytes:
    with np.errstate(over="ignore"):
        return bytes(from_values(expected.datatype, [value]))


def first_differing_byte(left: Buffer, right: Buffer) -> int | None:
    """Return the offset of the first differing byte, None if they are equal."""
    shorter = min(len(left), len(right))
    differs = np.frombuffer(left, "u1")[:shorter] != np.frombuffer(right, "u1")[:shorter]
    if differs.any():
        return int(differs.argmax())
    return None if len(left) == len(right) else shorter


def _tolerated(datatype: str, left: Buffer, right: Buffer, tolerance: Tolerance) -> bytes:
    a, b = (np.array(to_values(datatype, blob), np.float64) for blob in (left, right))
    close = np.isclose(b, a, rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=True)
    size = DATATYPES[datatype].size or 1
    one, other = (np.frombuffer(blob, f"V{size}") for blob in (left, right))
    return np.where(close, one, other).tobytes()


def is_close_to_zeros(tensors: Sequence[Tensor], tolerance: Tolerance) -> bool:
    """Return True if zeros would pass for all of these tensors, although they have other values."""
    differs = False
    for tensor in tensors:
        if tensor.datatype not in FLOATS:
            continue
        values = np.array(to_values(tensor.datatype, tensor.blob), np.float64)
        others = values[np.isfinite(values) & (values != 0)]
        with np.errstate(over="ignore"):
            close = np.abs(others) <= tolerance.atol + tolerance.rtol * np.abs(others)
        if not close.all():
            return False
        differs = differs or bool(others.size)
    return differs


def _truth(blob: Buffer) -> bytes:
    truth: bytes = (np.frombuffer(blob, "u1") != 0).astype("u1").tobytes()
    return truth


def _difference(label: str, expected: Tensor, got: ReadOutput, at: int) -> FirstDifference:
    size = DATATYPES[expected.datatype].size or 1
    element = at // size
    low, high = element * size, element * size + size
    left, right = bytes(expected.blob[low:high]), bytes(got.tensor.blob[low:high])
    return FirstDifference(
        output=label,
        datatype=expected.datatype,
        element=element,
        offset=at,
        body_offset=_in_body(got, at),
        expected=left.hex(),
        got=right.hex(),
        expected_value=shown_value(to_values(expected.datatype, left)[0]),
        got_value=shown_value(to_values(expected.datatype, right)[0]),
    )


def _in_body(got: ReadOutput, at: int) -> int | None:
    return got.start + at if got.form == "binary" else None


def _compare_elements(label: str, blob: Buffer, got: ReadOutput) -> None:
    first = first_differing_byte(blob, got.tensor.blob)
    if first is None:
        return
    try:
        have = decode_bytes(got.tensor.blob)
    except ElementError as error:
        problem = printable(str(error))
        shape = str(list(got.tensor.shape))
        raise Finding(kinds.InvalidTensor(label, "BYTES", shape, problem)) from error
    want = decode_bytes(blob)
    start = 0
    for index, (left, right) in enumerate(zip(want, have, strict=False)):
        at = None if left == right else first_differing_byte(left, right)
        if at is not None:
            result = FirstDifference(
                output=label,
                datatype="BYTES",
                element=index,
                offset=first,
                body_offset=_in_body(got, first),
                expected=left[at:][:_SHOWN].hex(),
                got=right[at:][:_SHOWN].hex(),
                expected_value=_value(left),
                got_value=_value(right),
            )
            cause = kinds.WrongBytesElement(
                difference=result,
                elements=len(want),
                start=_in_body(got, start),
                at=at,
                expected_length=len(left),
                got_length=len(right),
                expected=_hex(left, at),
                got=_hex(right, at),
            )
            raise Finding(cause)
        start += 4 + len(right)
    raise Finding(kinds.WrongElementCount(label, len(want), len(have)))


def _value(data: bytes) -> str:
    shown = repr(data[:_SHOWN]) + ("…" if len(data) > _SHOWN else "")
    return f"{len(data)} bytes, {shown}"


def _hex(data: bytes, at: int) -> str:
    shown = data[at : at + _SHOWN].hex() or "(nothing)"
    return shown + ("…" if len(data) > at + _SHOWN else "")
