"""Models of the reference server that compute something, like those of any other server.

They are in no role of the contract: whoever tests with them knows what the model contract says of
other models only. `v2-conformance run URL --model NAME` is for such models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    ElementError,
    Shape,
    decode_bytes,
    element_count,
    encode_bytes,
)
from v2_conformance.protocol.message import Tensor
from v2_conformance.suite.models import ModelContract, TensorSpec

_Array = np.ndarray[Any, Any]
_Compute = Callable[..., Sequence[_Array]]


def _matrix_product(left: _Array, right: _Array, bias: _Array) -> Sequence[_Array]:
    """Two matrices' product plus the bias in each row; its rows' sums; which are positive."""
    with np.errstate(all="ignore"):
        product = (left @ right + bias.astype("<f4")).astype("<f4")
        sums = product.sum(axis=1).astype("<f4")
    return product, sums, sums > 0


def _reverser(texts: _Array, numbers: _Array) -> Sequence[_Array]:
    if texts.shape != numbers.shape:
        raise ElementError("INPUT0 and INPUT1 must have the same shape")
    lengths = np.array([len(text) for text in texts], "<i4")
    return np.array([_reversed(text) for text in texts], object), lengths + numbers


def _reversed(text: bytes) -> bytes:
    try:
        return text.decode()[::-1].encode()
    except UnicodeDecodeError:
        return text


def _widener(narrow: _Array) -> Sequence[_Array]:
    wide = narrow.astype("<f4")
    with np.errstate(all="ignore"):
        return wide, wide * wide, wide > 0.5


def _tensors(kind: str, *tensors: tuple[str, Shape]) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(f"{kind}{i}", *tensor) for i, tensor in enumerate(tensors))


def _model(
    name: str, inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...]
) -> ModelContract:
    return ModelContract("", name, name, inputs, outputs, "binary", batching=False, optional=True)


_COMPUTE: dict[str, _Compute] = {
    "matrix_product": _matrix_product,
    "reverser": _reverser,
    "widener": _widener,
}
_MODELS = (
    _model(
        "matrix_product",
        _tensors("INPUT", ("FP32", (-1, 4)), ("FP32", (4, 2)), ("INT64", (2,))),
        _tensors("OUTPUT", ("FP32", (-1, 2)), ("FP32", (-1,)), ("BOOL", (-1,))),
    ),
    _model(
        "reverser",
        _tensors("INPUT", ("BYTES", (-1,)), ("INT32", (-1,))),
        _tensors("OUTPUT", ("BYTES", (-1,)), ("INT32", (-1,))),
    ),
    _model(
        "widener",
        _tensors("INPUT", ("FP16", (-1,))),
        _tensors("OUTPUT", ("FP32", (-1,)), ("FP32", (-1,)), ("BOOL", (-1,))),
    ),
)
ORDINARY_MODELS: dict[str, ModelContract] = {model.model: model for model in _MODELS}
"""By name."""


def compute(model: ModelContract, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The outputs of one of these models by name. Raises ElementError for a wrong shape."""
    outputs = _COMPUTE[model.does](*(_array(inputs[spec.name]) for spec in model.inputs))
    return {
        spec.name: Tensor(spec.name, spec.datatype, array.shape, _blob(spec.datatype, array))
        for spec, array in zip(model.outputs, outputs, strict=True)
    }


def _array(tensor: Tensor) -> _Array:
    if tensor.datatype == "BYTES":
        return np.array(decode_bytes(tensor.blob, element_count(tensor.shape)), object)
    dtype = DATATYPES[tensor.datatype].numpy
    return np.frombuffer(tensor.blob, dtype).reshape(tensor.shape)


def _blob(datatype: str, array: _Array) -> bytes:
    return encode_bytes(array.tolist()) if datatype == "BYTES" else array.tobytes()
