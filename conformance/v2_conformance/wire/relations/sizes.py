"""Samples of a model in other sizes: larger ones, and a batch of one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from v2_conformance.protocol.datatypes import DATATYPES, decode_bytes, encode_bytes
from v2_conformance.suite.models import ModelContract, Sample, TensorSpec
from v2_conformance.wire.relations.unfit import need

MOST_BYTES = 4 << 20
"""Of all values of their own that cases have for a model."""

_LARGE = 66 << 10
_MOST_FILLED = 2048  # elements
_MOST_ROWS = 16_896


def grown_samples(model: ModelContract, by: int) -> tuple[Sample, ...]:
    """Return the model's samples, grown in the first variable dimension of each input, which is the
    batch dimension if there is one. Raises UnfitError.
    """
    need(by > 0 and any(-1 in spec.dims for spec in model.inputs))
    return tuple(
        sample if -1 not in spec.dims else _of_shape(sample, spec, _grown(sample.shape, spec, by))
        for sample, spec in zip(model.samples[0], model.inputs, strict=True)
    )


def batch_of_one(model: ModelContract) -> tuple[Sample, ...]:
    """Return the only sample of a model with a variable first dimension as raw requests have it:
    that dimension may be the batch, which is one then. Raises UnfitError.
    """
    spec, sample = model.inputs[0], model.samples[0][0]
    need(len(model.inputs) == 1 and spec.dims[:1] == (-1,) and -1 not in spec.dims[1:])
    return (_of_shape(sample, spec, (1, *sample.shape[1:])),)


def large_samples(model: ModelContract) -> tuple[Sample, ...]:
    """Return the model's samples with so many rows that inputs and outputs are larger than most
    buffers. Raises UnfitError.
    """
    need(all(spec.dims[0] == -1 for spec in model.inputs if -1 in spec.dims))
    variable = [spec for spec in (*model.inputs, *model.outputs) if spec.dims[:1] == (-1,)]
    rows = [(DATATYPES[one.datatype].size or 4) * prod(map(abs, one.dims)) for one in variable]
    need(rows and min(rows))
    return grown_samples(model, min(_LARGE // min(rows), _MOST_ROWS))


def _grown(shape: Sequence[int], spec: TensorSpec, by: int) -> tuple[int, ...]:
    place = spec.dims.index(-1)
    return (*shape[:place], shape[place] + by, *shape[place + 1 :])


def in_rows(given: Sample, sample: Sample, spec: TensorSpec) -> Sample:
    """Return the elements of `given`, repeated or cut, in the shape of the model's sample, with as
    many rows as they need. Raises UnfitError.
    """
    count = prod(given.shape)
    shape = sample.shape
    if -1 in spec.dims:
        place = spec.dims.index(-1)
        row = prod(shape[:place]) * prod(shape[place + 1 :])
        need(row)
        shape = (*shape[:place], -(-count // row), *shape[place + 1 :])
    need(prod(shape) <= max(_MOST_FILLED, count) and (count or not prod(shape)))
    return _of_shape(given, spec, shape) if count else Sample(shape, b"")


def resized(sample: Sample, spec: TensorSpec, variable: int | None) -> Sample:
    """Return the sample with its variable dimensions of another size, its elements repeated."""
    if variable is None or -1 not in spec.dims:
        return sample
    return _of_shape(sample, spec, tuple(variable if dim == -1 else dim for dim in spec.dims))


def _of_shape(sample: Sample, spec: TensorSpec, shape: tuple[int, ...]) -> Sample:
    """Return the elements of the sample, repeated, in another shape."""
    count = prod(shape)
    size = DATATYPES[spec.datatype].size
    need(count * (size or 1) <= MOST_BYTES)
    if size is None:
        elements = decode_bytes(sample.blob)
        need(elements)
        return Sample(shape, encode_bytes([elements[i % len(elements)] for i in range(count)]))
    need(sample.blob)
    return Sample(shape, (sample.blob * (count * size // len(sample.blob) + 1))[: count * size])
