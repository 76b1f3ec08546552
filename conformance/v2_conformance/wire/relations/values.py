"""Values for a model's inputs: the sets that cases/relations.yaml names, and other sizes."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from math import prod
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import (
    DATATYPES,
    ElementError,
    decode_bytes,
    from_json,
    to_json,
)
from v2_conformance.suite.models import ModelContract, Sample, TensorSpec
from v2_conformance.suite.relations import ValueSet, value_sets
from v2_conformance.suite.values.patterns import value_pattern
from v2_conformance.suite.values.samples import repeated

_MOST_BYTES, _MOST_ELEMENTS = 4 << 20, 1 << 20  # of one set; JSON is long and slow
_MOST_ROWS = 16_896


class UnfitError(Exception):
    """The case cannot be sent to the model."""


def need(holds: object) -> None:
    """Raise UnfitError unless this holds."""
    if not holds:
        raise UnfitError


def special_sets(model: ModelContract, free: Collection[str]) -> tuple[tuple[Sample, ...], ...]:
    """Return the sets of values that cases have for a model, besides its sample.

    Only inputs that are `free` get other values than their sample: the user specified the others.
    """
    sets: dict[tuple[Sample, ...], None] = {}
    for one in value_sets().values():
        with contextlib.suppress(UnfitError, CaseFileError):
            values = values_of(one, model)
            pairs = zip(model.inputs, model.samples[0], values, strict=True)
            changed = {spec.name for spec, old, new in pairs if old != new}
            if changed and changed <= set(free):
                sets[values] = None
    return tuple(sets)


def values_of(given: ValueSet, model: ModelContract) -> tuple[Sample, ...]:
    """Return a set as values of the model's inputs. Raises UnfitError and CaseFileError."""
    if not given.datatypes:
        return _of_rows(model, _rows(given, model))
    fitting = (p for p, spec in enumerate(model.inputs) if spec.datatype in given.datatypes)
    place = next(fitting, -1)
    need(place >= 0)
    spec, sample = model.inputs[place], model.samples[0][place]
    blob = _blob(given, spec.datatype)
    count = len(decode_bytes(blob)) if spec.datatype == "BYTES" else len(blob) // _size(spec)
    if -1 not in spec.dims:
        need(count)
        own, values = _of_shape(Sample((), blob), spec, sample.shape), list(model.samples[0])
    else:  # with as many rows as they need
        row = prod(sample.shape) // max(1, sample.shape[spec.dims.index(-1)])
        need(row)
        rows = -(-count // row)
        values = list(_of_rows(model, rows))
        own = _of_shape(Sample((), blob), spec, _with_rows(sample.shape, spec, rows))
    values[place] = own
    return tuple(values)


def _blob(given: ValueSet, datatype: str) -> bytes:
    if isinstance(given.values, dict):
        return bytes.fromhex(given.values["hex"])
    if isinstance(given.values, str):
        return value_pattern(given.values, datatype, given.elements)
    return from_json(datatype, (len(given.values),), list(given.values))


def _size(spec: TensorSpec) -> int:
    return DATATYPES[spec.datatype].size or 1


def _rows(given: ValueSet, model: ModelContract) -> int:
    """Return how large the variable dimensions have to be. Raises UnfitError."""
    sizes = {
        size
        for spec, sample in zip(model.inputs, model.samples[0], strict=True)
        for dim, size in zip(spec.dims, sample.shape, strict=True)
        if dim == -1
    }
    need(len(sizes) == 1)
    (size,) = sizes
    if given.rows is not None:
        return given.rows
    if given.more_rows:
        return size + given.more_rows
    variable = [spec for spec in (*model.inputs, *model.outputs) if spec.dims.count(-1) == 1]
    need(variable and all(spec.dims.count(-1) <= 1 for spec in model.inputs))
    row = min((DATATYPES[one.datatype].size or 4) * prod(map(abs, one.dims)) for one in variable)
    need(row)
    return min(given.bytes // row, _MOST_ROWS)


def _of_rows(model: ModelContract, rows: int) -> tuple[Sample, ...]:
    """Return the model's sample with `rows` in the first variable dimension of each input."""
    return tuple(
        _of_shape(sample, spec, _with_rows(sample.shape, spec, rows)) if -1 in spec.dims else sample
        for spec, sample in zip(model.inputs, model.samples[0], strict=True)
    )


def _with_rows(shape: Sequence[int], spec: TensorSpec, rows: int) -> tuple[int, ...]:
    place = spec.dims.index(-1)
    return (*shape[:place], rows, *shape[place + 1 :])


def _of_shape(sample: Sample, spec: TensorSpec, shape: tuple[int, ...]) -> Sample:
    count = prod(shape)
    need(count <= _MOST_ELEMENTS and count * _size(spec) <= _MOST_BYTES)
    return Sample(shape, repeated(sample, spec.datatype, count))


_FACT = re.compile(r"\$\(([a-z]+)\.([a-z0-9_]+)\)")
_FEW = 64  # elements of data that a case spells in another way

_Fact = Callable[[TensorSpec, Sample], Any]


def _shape(change: Callable[[int], Any]) -> _Fact:
    """Return a fact: the shape with its first dimension changed."""
    return lambda spec, one: [change(one.shape[0]), *one.shape[1:]]


def _written(write: Callable[[Any], str]) -> _Fact:
    """Return a fact: the JSON of the data, with its first element written in another way."""
    return _texts(lambda texts: [write(json.loads(texts[0])), *texts[1:]])


def _texts(change: Callable[[list[str]], list[str]]) -> _Fact:
    """Return a fact: the JSON of the data, with the texts of its elements changed."""
    return lambda spec, one: f"[{','.join(change([*map(json.dumps, _data(spec, one))]))}]"


def _data(spec: TensorSpec, one: Sample) -> list[Any]:
    need(0 < prod(one.shape) <= _FEW)
    data: list[Any] = to_json(spec.datatype, (prod(one.shape),), one.blob)
    return data


def _deeper(spec: TensorSpec, one: Sample) -> Any:
    """All elements in one row, as of a matrix; if that is the shape, of a matrix in an array."""
    row = [_data(spec, one)]
    return [row] if one.shape == (1, len(row[0])) else row


def _in_halves(spec: TensorSpec, one: Sample) -> str:
    data = _data(spec, one)
    return f'{json.dumps(data[:1])},"data":{json.dumps(data[1:])}'


def _bounds(spec: TensorSpec) -> tuple[int, int]:
    """Return the least and the largest integer of the datatype."""
    bits = 8 * (DATATYPES[spec.datatype].size or 0)
    if spec.datatype.startswith("U"):
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _wrapped(bits: int, spec: TensorSpec, one: Sample) -> list[int]:
    """The shape with a first dimension with which the size wraps around to the true one."""
    size = (DATATYPES[spec.datatype].size or 0) * prod(one.shape[1:])
    need(size and (1 << bits) % size == 0)
    return [one.shape[0] + (1 << bits) // size, *one.shape[1:]]


_FACTS: Mapping[str, _Fact] = {
    "zero": lambda spec, one: 0,
    "count": lambda spec, one: prod(one.shape),
    "count_less": lambda spec, one: prod(one.shape) - 1,
    "count_more": lambda spec, one: prod(one.shape) + 1,
    "size": lambda spec, one: len(one.blob),
    "size_text": lambda spec, one: str(len(one.blob)),
    "size_fraction": lambda spec, one: len(one.blob) + 0.5,
    # A raw body has any number of these bytes.
    "row": lambda spec, one: prod(map(abs, spec.dims)) * (DATATYPES[spec.datatype].size or 1),
    "shape": lambda spec, one: list(one.shape),
    "shape_text": lambda spec, one: str(prod(one.shape)),
    "shape_digits": _shape(str),
    "shape_fraction": _shape(lambda n: n + 0.5),
    "shape_negative": _shape(lambda n: -n),
    "shape_minus_one": _shape(lambda n: -1),
    "shape_more": _shape(lambda n: n + 1),
    "shape_wraps_32": partial(_wrapped, 32),
    "shape_wraps_64": partial(_wrapped, 64),
    "shape_less": _shape(lambda n: n - 1),
    "shape_zero": _shape(lambda n: 0),
    "shape_plus_32_bits": _shape(lambda n: n + (1 << 32)),
    "shape_plus_64_bits": _shape(lambda n: n + (1 << 64)),
    "shape_null_behind": lambda spec, one: [*one.shape, None],
    "shape_one_behind": lambda spec, one: [*one.shape, 2],
    "shape_two_negative": lambda spec, one: [-one.shape[0], -one.shape[1], *one.shape[2:]],
    "lower": lambda spec, one: spec.datatype.lower(),
    "keys": lambda spec, one: {str(n): item for n, item in enumerate(_data(spec, one))},
    "hexadecimal": _written(hex),
    "leading_zero": _written(lambda n: f"0{n}"),
    "plus": _written(lambda n: f"+{n}"),
    "comment": _written(lambda n: f"{json.dumps(n)}/* 7, */"),
    "trailing_comma": _texts(lambda texts: [*texts[:-1], ""]),
    "leading_comma": _texts(lambda texts: ["", *texts[1:]]),
    "two_commas": _texts(lambda texts: [*texts[:-2], "", texts[-1]]),
    "above": lambda spec, one: _bounds(spec)[1] + 1,
    "below": lambda spec, one: _bounds(spec)[0] - 1,
    "deeper": _deeper,
    "in_part": lambda spec, one: [*_data(spec, one)[:-1], _data(spec, one)[-1:]],
    "in_halves": _in_halves,
    "blob_and_two_empty": lambda spec, one: (one.blob + bytes(8)).hex(),
    "element_text": lambda spec, one: str(_data(spec, one)[0]),
    "element_as_number": lambda spec, one: int(_data(spec, one)[0]),
    "data_in_quotes": lambda spec, one: (b'["%b"]' % b'","'.join(decode_bytes(one.blob))).hex(),
}

_INTS = ("UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64")
_KINDS: Mapping[str, Sequence[str]] = {
    "numbers": (*_INTS, "FP32", "FP64"),
    "ints": _INTS,
    "halves": ("FP16",),
    "singles": ("FP32",),
    "doubles": ("FP64",),
    "floats": ("FP32", "FP64"),
    "bools": ("BOOL",),
    "texts": ("BYTES",),
}


@cache
def _place(model: ModelContract, name: str) -> int:
    """Return the place of the input that an entry calls `name`. Raises UnfitError."""
    places = range(len(model.inputs))
    if name in _KINDS:
        fitting = [place for place in places if model.inputs[place].datatype in _KINDS[name]]
    else:
        fitting = [*{"first": places[:1], "second": places[1:2], "last": places[-1:]}[name]]
    need(fitting)
    return fitting[0]


def filled(given: Any, model: ModelContract, values: Sequence[Sample]) -> Any:
    """Return a part of an entry with what it says about the `values` of a model. Raises UnfitError
    if they have no such thing."""
    if isinstance(given, dict):
        places = {str(filled(key, model, values)): item for key, item in given.items()}
        need(len(places) == len(given))  # two of its inputs are the same one
        return {key: filled(item, model, values) for key, item in places.items()}
    if isinstance(given, list):
        return [filled(item, model, values) for item in given]
    if not isinstance(given, str) or "$(" not in given:
        return given
    whole = _FACT.fullmatch(given)
    if whole:
        return _fact(whole, model, values)
    return _FACT.sub(lambda match: str(_fact(match, model, values)), given)


def _fact(match: re.Match[str], model: ModelContract, values: Sequence[Sample]) -> Any:
    place = _place(model, match[1])
    if match[2] in ("at", "several", "behind"):
        need(match[2] != "several" or prod(values[place].shape) > 1)
        return place + (match[2] == "behind")
    try:
        return _FACTS[match[2]](model.inputs[place], values[place])
    except (ElementError, IndexError, TypeError, ValueError) as error:
        raise UnfitError from error
