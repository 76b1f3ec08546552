"""Inputs for every model of the contract, of values that a conversion would change."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from v2_conformance.suite.models import ModelContract, TensorSpec, contract

Array = npt.NDArray[np.generic]

# As bits, so that numbers for which there is no literal are among them: NaNs with a payload, the
# least positive numbers, and integers that no float and no smaller integer can hold.
_BITS: dict[str, Array] = {
    "BOOL": np.array([1, 0, 1], np.uint8).view(np.bool_),
    "UINT8": np.array([255, 0, 128], np.uint8),
    "UINT16": np.array([0xFFFF, 0, 0x8001], np.uint16),
    "UINT32": np.array([0xFFFFFFFF, 0, 0x80000001], np.uint32),
    "UINT64": np.array([0xFFFFFFFFFFFFFFFF, 0, 0x8000000000000001], np.uint64),
    "INT8": np.array([-128, 127, -1], np.int8),
    "INT16": np.array([-0x8000, 0x7FFF, -1], np.int16),
    "INT32": np.array([-0x80000000, 0x7FFFFFFF, -1], np.int32),
    "INT64": np.array([-(1 << 63), (1 << 63) - 1, 1 << 53 | 1], np.int64),
    "FP16": np.array([0x7E01, 0x0001, 0x8000], np.uint16).view(np.float16),
    "FP32": np.array([0x7FC00001, 0x00000001, 0x80000000], np.uint32).view(np.float32),
    "FP64": np.array([0x7FF8000000000001, 1, 1 << 63], np.uint64).view(np.float64),
    "BYTES": np.array(["", "a\0b", "größer"], np.object_),
}


def inputs(model: ModelContract, size: int) -> dict[str, Array]:
    """An array for each input of a model; every variable dimension has this `size`."""
    if model.does == "first_three":
        # It computes, and what becomes of a NaN is not in the contract.
        (tensor,) = model.inputs
        return {tensor.name: np.arange(1, size + 1).astype(_BITS[tensor.datatype].dtype)}
    return {tensor.name: _values(tensor, size) for tensor in model.inputs}


def _values(tensor: TensorSpec, size: int) -> Array:
    shape = tuple(size if dim < 0 else dim for dim in tensor.dims)
    return np.resize(_BITS[tensor.datatype], shape)


def same(got: Array, expected: Array) -> bool:
    """Whether two arrays have the same type, shape and bits, or the same strings."""
    if got.shape != expected.shape:
        return False
    if expected.dtype == np.object_:
        return bool(got.tolist() == expected.tolist())
    return got.dtype == expected.dtype and got.tobytes() == expected.tobytes()


def outputs(model: ModelContract, given: dict[str, Array]) -> dict[str, Array]:
    """What the model must return, by the contract."""
    if model.does == "first_three":
        three = given["INPUT0"].reshape(-1)[:3].reshape(3, 1)
        return {"OUTPUT0": three, "OUTPUT1": np.negative(three)}
    pairs = zip(model.inputs, model.outputs, strict=True)
    return {result.name: given[source.name] for source, result in pairs}


MODELS = [model for model in contract().values() if "BF16" not in model.datatypes]
"""Every model but that of BF16, a datatype which numpy does not have."""

RUNS = [
    pytest.param(model, size, id=f"{model.model}-{size}")
    for model in MODELS
    for size in (0, 1, 3, 5)
    if model.does == "identity" or size >= 3
]
"""Each of them with sizes for its variable dimensions, all that it can take."""
