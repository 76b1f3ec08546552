"""What an entry for any model can say about the values that it sends: `$(first.count_more)`.

An input has a name by its place (`first`, `second`, `last`), or it is the first of a datatype
(`ints`, `texts`). An entry is not sent to a model that lacks such an input, or whose values have no
such thing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from typing import Any

from v2_conformance.protocol.datatypes import DATATYPES, ElementError, decode_bytes, to_json
from v2_conformance.suite.models import ModelContract, Sample, TensorSpec
from v2_conformance.wire.relations.values import UnfitError, need

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


def _in_halves(spec: TensorSpec, one: Sample) -> str:
    data = _data(spec, one)
    return f'{json.dumps(data[:1])},"data":{json.dumps(data[1:])}'


def _bytes_in_quotes(spec: TensorSpec, one: Sample) -> str:
    return (b'["' + b'","'.join(decode_bytes(one.blob)) + b'"]').hex()


def _bounds(spec: TensorSpec) -> tuple[int, int]:
    """Return the least and the largest integer of the datatype."""
    bits = 8 * (DATATYPES[spec.datatype].size or 0)
    if spec.datatype.startswith("U"):
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _wrapped(bits: int) -> _Fact:
    """Return a fact: a first dimension with which the size wraps around to the true one."""

    def shape(spec: TensorSpec, one: Sample) -> list[int]:
        size = (DATATYPES[spec.datatype].size or 0) * prod(one.shape[1:])
        need(size and (1 << bits) % size == 0)
        return [one.shape[0] + (1 << bits) // size, *one.shape[1:]]

    return shape


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
    "shape_wraps_32": _wrapped(32),
    "shape_wraps_64": _wrapped(64),
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
    "deeper": lambda spec, one: [_data(spec, one)],
    "in_part": lambda spec, one: [*_data(spec, one)[:-1], _data(spec, one)[-1:]],
    "in_halves": _in_halves,
    "blob_and_two_empty": lambda spec, one: (one.blob + bytes(8)).hex(),
    "element_text": lambda spec, one: str(_data(spec, one)[0]),
    "element_as_number": lambda spec, one: int(_data(spec, one)[0]),
    "data_in_quotes": _bytes_in_quotes,
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
