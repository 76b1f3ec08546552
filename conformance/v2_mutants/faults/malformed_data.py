"""Faults of JSON data that does not fit its shape or datatype (J1, J2, J10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from v2_conformance.protocol.datatypes import DATATYPES, Buffer, element_count
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.request_reader import JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared import Inputs
from v2_mutants.registry import Right, What, fault

_FP32_MAX = float(np.finfo("<f4").max)


def _reads_data(repair: Callable[[RequestInput, int], Any]) -> What[Buffer]:
    """A server that reads `repair(input, element count)` instead of the input's `data`."""
    return lambda right, entry: right(
        replace(entry, data=repair(entry, element_count(entry.shape)))
    )


def _flat(data: object, kind: type = int) -> list[Any] | None:
    """`data` if it is a flat array of values of one type that is not empty, else None."""
    fits = isinstance(data, list) and data and all(type(item) is kind for item in data)
    return data if isinstance(data, list) and fits else None


def _rows(data: object) -> list[list[Any]] | None:
    """`data` if it is an array of arrays of numbers, else None."""
    if not isinstance(data, list) or not data:
        return None
    flat = all(isinstance(row, list) and not any(isinstance(x, list) for x in row) for row in data)
    return data if flat else None


def _joined(data: Any) -> list[Any]:
    return [x for item in data for x in (_joined(item) if isinstance(item, list) else [item])]


# --- J1: the number of elements


def _cut(entry: RequestInput, count: int) -> Any:
    flat = _flat(entry.data)
    return entry.data if flat is None else flat[: max(count, 1)]


def _zeros_for_none(entry: RequestInput, count: int) -> Any:
    return [0] * count if entry.data == [] else entry.data


def _broadcast(entry: RequestInput, count: int) -> Any:
    flat = _flat(entry.data)
    return flat * count if flat and len(flat) == 1 else entry.data


def _empty_strings(entry: RequestInput, count: int) -> Any:
    flat = _flat(entry.data, str)
    return [*flat, *[""] * (count - len(flat))] if flat else entry.data


def _cut_strings(entry: RequestInput, count: int) -> Any:
    flat = _flat(entry.data, str)
    return flat[:count] if flat else entry.data


for _name, _text, _repair in (
    ("extra-elements-are-dropped", "Too many elements of JSON `data` are dropped.", _cut),
    ("empty-data-is-zeros", "An empty JSON `data` array stands for zeros.", _zeros_for_none),
    ("one-element-fills-the-shape", "A single JSON element fills the whole shape.", _broadcast),
    ("missing-strings-are-empty", "Strings missing from JSON `data` are empty.", _empty_strings),
    ("extra-strings-are-dropped", "Too many strings of JSON `data` are dropped.", _cut_strings),
):  # fmt: skip
    fault(_name, "J1", Behavior.json_blob)(_text, _reads_data(_repair))


def _unchecked_input(index: int) -> What[Inputs]:
    """A server that cuts the JSON data of the input at `index` to its shape."""

    def what(right: Right[Inputs], model: ModelContract, document: JsonObject) -> Inputs:
        entries = right()
        if len(entries) > index and isinstance((data := entries[index].data), list):
            count = element_count(entries[index].shape)
            entries[index] = replace(entries[index], data=data[:count])
        return entries

    return what


fault("second-data-unchecked", "J1", Behavior.request_inputs)(
    "Too many JSON elements of the second input are dropped.", _unchecked_input(1)
)


# --- J1: nesting


def _fills_rows(entry: RequestInput, count: int) -> Any:
    rows = _rows(entry.data)
    if rows is None or len(entry.shape) != 2 or any(len(row) != entry.shape[1] for row in rows):
        return entry.data
    return (_joined(rows) + [0] * count)[:count] if len(rows) < entry.shape[0] else entry.data


def _fills_short_rows(entry: RequestInput, count: int) -> Any:
    rows = _rows(entry.data)
    if rows is None or len(rows) != entry.shape[0] or len(_joined(rows)) >= count:
        return entry.data
    return [(row + [0] * entry.shape[1])[: entry.shape[1]] for row in rows]


def _cuts_long_rows(entry: RequestInput, count: int) -> Any:
    rows = _rows(entry.data)
    if rows is None or len(rows) != entry.shape[0] or len(_joined(rows)) <= count:
        return entry.data
    return [row[: entry.shape[1]] for row in rows]


def _flattens(applies: Callable[[Any], bool]) -> Callable[[RequestInput, int], Any]:
    def repair(entry: RequestInput, count: int) -> Any:
        data = entry.data
        return _joined(data) if isinstance(data, list) and applies(data) else data

    return repair


def _ragged(data: list[Any]) -> bool:
    rows = _rows(data)
    return rows is not None and len({len(row) for row in rows}) > 1


def _even(data: list[Any]) -> bool:
    rows = _rows(data)
    return rows is not None and len({len(row) for row in rows}) == 1


def _deep(data: list[Any]) -> bool:
    return all(isinstance(row, list) for row in data) and _rows(data) is None


def _mixed(data: list[Any]) -> bool:
    return len({isinstance(item, list) for item in data}) == 2


for _name, _text, _nesting in (
    ("missing-rows-are-zeros", "Rows missing from nested JSON data are zeros.", _fills_rows),
    ("short-rows-are-filled", "Short rows of nested JSON data get zeros.", _fills_short_rows),
    ("long-rows-are-cut", "Long rows of nested JSON data are cut.", _cuts_long_rows),
    ("ragged-rows-flattened", "Rows of unequal length are flattened.", _flattens(_ragged)),
    ("rows-reshaped", "Nested JSON data of another shape is reshaped.", _flattens(_even)),
    ("deep-data-flattened", "JSON data with too many levels is flattened.", _flattens(_deep)),
    ("mixed-data-flattened", "Numbers beside arrays in data are flattened.", _flattens(_mixed)),
):  # fmt: skip
    fault(_name, "J1", Behavior.json_blob)(_text, _reads_data(_nesting))


# --- J1: data that is not an array

_Made = Callable[[Any, int], Any]
_NO_ARRAYS: tuple[tuple[str, str, type, _Made], ...] = (
    ("null", "null stands for zeros", type(None), lambda data, count: [0] * count),
    ("true", "true stands for ones", bool, lambda data, count: [1] * count),
    ("number", "a number fills the shape", int,
     lambda data, count: [data] * count if count > 1 else data),
    ("fraction", "a fraction fills the shape", float, lambda data, count: [int(data)] * count),
    ("string", "a string is an array of its bytes", str, lambda data, count: list(data.encode())),
    ("object", "an object is an array of its values", dict, lambda data, c: list(data.values())),
)  # fmt: skip


def _made_of(kind: type, make: _Made) -> Callable[[RequestInput, int], Any]:
    def repair(entry: RequestInput, count: int) -> Any:
        is_kind = type(entry.data) is kind and entry.shape != ()
        return make(entry.data, count) if is_kind else entry.data

    return repair


def _wraps_one(datatype: str, *, split: bool) -> Callable[[RequestInput, int], Any]:
    def repair(entry: RequestInput, count: int) -> Any:
        concerned = entry.spec.datatype == datatype and type(entry.data) in (str, int)
        if not concerned or (count > 1) != split:
            return entry.data
        return [*str(entry.data)] if split else [entry.data]

    return repair


for _name, _text, _kind, _make in _NO_ARRAYS:
    fault(f"data-{_name}-accepted", "J1", Behavior.json_blob)(
        f"As JSON `data`, {_text}.", _reads_data(_made_of(_kind, _make))
    )

for _name, _text, _datatype, _split in (
    ("text-is-its-letters", "A string is the array of its characters.", "BYTES", True),
    ("text-is-the-element", "A string is the only element.", "BYTES", False),
    ("number-is-the-element", "A number is the only element.", "INT32", False),
):
    fault(_name, "J1", Behavior.json_blob)(
        f"As JSON `data`: {_text}", _reads_data(_wraps_one(_datatype, split=_split))
    )


# --- J1: the range


def _wraps(datatype: str, above: bool) -> Callable[[RequestInput, int], Any]:
    bits = 8 * (DATATYPES[datatype].size or 1)
    low = 0 if datatype.startswith("U") else -(1 << (bits - 1))
    high = low + (1 << bits) - 1

    def wrapped(item: Any) -> Any:
        outside = type(item) is int and (item > high if above else item < low)
        return (item - low) % (1 << bits) + low if outside else item

    def repair(entry: RequestInput, count: int) -> Any:
        vector = isinstance(entry.data, list) and len(entry.shape) == 1
        concerned = entry.spec.datatype == datatype and vector
        return list(map(wrapped, entry.data)) if concerned else entry.data  # type: ignore[call-overload]

    return repair


for _datatype in (name for name, spec in DATATYPES.items() if spec.kind == "int"):
    for _side, _above in (("above", True), ("below", False)):
        fault(f"{_datatype.lower()}-wraps-from-{_side}", "J1", Behavior.json_blob)(
            f"A JSON integer {_side} the range of {_datatype} wraps around.",
            _reads_data(_wraps(_datatype, _above)),
        )


def _clamped(entry: RequestInput, count: int) -> Any:
    if entry.spec.datatype != "FP32" or not isinstance(entry.data, list):
        return entry.data
    return [min(item, _FP32_MAX) if type(item) is float else item for item in entry.data]


fault("fp32-clamped", "J1", Behavior.json_blob)(
    "A JSON number too large for FP32 becomes the largest one.", _reads_data(_clamped)
)

# --- J2: elements of another JSON type


def _element(
    datatypes: tuple[str, ...], applies: Callable[[Any], bool], value: Any
) -> What[Buffer]:
    """A server that reads `value` for the elements of these datatypes to which `applies` does."""

    def repair(entry: RequestInput, count: int) -> Any:
        if entry.spec.datatype not in datatypes or not isinstance(entry.data, list):
            return entry.data
        return [value if applies(item) else item for item in entry.data]

    return _reads_data(repair)


_INT, _FLOAT, _BOOL, _BYTES = ("INT32",), ("FP32",), ("BOOL",), ("BYTES",)


def _is_digits(item: object) -> bool:
    return isinstance(item, str) and item.isdecimal()


def _is_decimal(item: object) -> bool:
    return isinstance(item, str) and item[:1].isdigit() and "." in item


def _is_null(item: object) -> bool:
    return item is None


def _is(kind: type, wanted: object) -> Callable[[Any], bool]:
    return lambda item: type(item) is kind and item == wanted


for _name, _text, _datatypes, _applies, _value in (
    ("digits-are-zero", "Digits in a string are read as 0.", _INT, _is_digits, 0),
    ("decimal-text-is-cut", "A decimal number in a string is cut off.", _FLOAT, _is_decimal, 1.0),
    ("minus-of-a-decimal-text-is-lost", "A minus before a decimal number in a string is ignored.",
     ("FP64",), _is(str, "-0.1"), 0.1),
    ("true-is-minus-one", "As an integer, true is -1.", _INT, _is(bool, True), -1),
    ("true-is-minus-one-float", "As a float, true is -1.", _FLOAT, _is(bool, True), -1.0),
    ("one-is-not-true", "For BOOL, 1 is read as false.", _BOOL, _is(int, 1), False),
    ("zero-is-true", "For BOOL, 0 is read as true.", _BOOL, _is(int, 0), True),
    ("number-is-so-many-nuls", "For BYTES, the number 12 is read as twelve NUL bytes.", _BYTES,
     _is(int, 12), "\0" * 12),
    ("object-is-zero", "As an integer, an object is 0.", _INT, _is(dict, {}), 0),
    ("object-is-its-text", "As BYTES, an object is its text.", _BYTES, _is(dict, {"x": 1}), "x"),
    ("null-is-zero", "As an integer, null is 0.", _INT, _is_null, 0),
    ("null-is-zero-float", "As a float, null is 0.", _FLOAT, _is_null, 0.0),
    ("null-is-false", "For BOOL, null is false.", _BOOL, _is_null, False),
    ("null-is-a-word", "For BYTES, null is the word null.", _BYTES, _is_null, "null"),
):  # fmt: skip
    fault(_name, "J2", Behavior.json_blob)(_text, _element(_datatypes, _applies, _value))


def _texts_read(read: Callable[[int, str], object]) -> What[Buffer]:
    """A server that reads each text at an index of data for integers as `read` does."""

    def what(right: Right[Buffer], entry: RequestInput) -> Buffer:
        data = entry.data
        if DATATYPES[entry.spec.datatype].kind != "int" or not isinstance(data, list):
            return right()
        results = [read(i, item) if isinstance(item, str) else item for i, item in enumerate(data)]
        return right(replace(entry, data=results))

    return what


for _name, _text, _read in (
    ("later-digits-are-zero", "Digits in a string behind the first element are read as 0.",
     lambda index, text: 0 if index and text.isdigit() else text),
    ("minus-in-a-text-ignored", "A minus before digits in a string is ignored.",
     lambda index, text: int(text[1:]) if text[:1] == "-" and text[1:].isdigit() else text),
):  # fmt: skip
    fault(_name, "J2", Behavior.json_blob)(_text, _texts_read(_read))


# --- J10: elements that a server may coerce

fault("fraction-is-zero", "J10", Behavior.json_blob)(
    "As an integer, a fraction is 0.",
    _element(_INT, lambda item: isinstance(item, float) and not item.is_integer(), 0),
)
