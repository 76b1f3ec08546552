"""Values for a model's inputs: the sets that cases/relations.yaml names, and other sizes."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from math import prod

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import DATATYPES, decode_bytes, from_json
from v2_conformance.suite.models import ModelContract, Sample, TensorSpec
from v2_conformance.suite.relations import ValueSet, value_sets
from v2_conformance.suite.values.patterns import value_pattern
from v2_conformance.suite.values.samples import repeated

_MOST_BYTES = 4 << 20  # of one set
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
    """Return the elements of the sample, repeated, in another shape."""
    count = prod(shape)
    need(count * _size(spec) <= _MOST_BYTES)
    return Sample(shape, repeated(sample.blob, spec.datatype, count))
