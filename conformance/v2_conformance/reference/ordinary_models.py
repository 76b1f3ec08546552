"""Models of the reference server that compute something, like those of any other server.

They are in no role of the contract: whoever tests with them knows what the model contract says of
other models only. `v2-conformance run URL --model NAME` is for such models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from v2_conformance.protocol.datatypes import (
    ElementError,
    decode_bytes,
    element_count,
    encode_bytes,
)
from v2_conformance.protocol.message import Tensor
from v2_conformance.suite.models import ModelContract, TensorSpec

Outputs = dict[str, Tensor]


def _contract(
    name: str, inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...]
) -> ModelContract:
    return ModelContract(
        role="",
        model=name,
        does=name,
        inputs=inputs,
        outputs=outputs,
        profile="binary",
        batching=False,
        optional=True,
    )


def _matrix_product(inputs: Mapping[str, Tensor]) -> Outputs:
    """OUTPUT0 = INPUT0 x INPUT1, of FP32, plus INPUT2 in each row; OUTPUT1 has the sums of its
    rows, OUTPUT2 which of those are positive."""
    left, right, bias = (inputs[name] for name in ("INPUT0", "INPUT1", "INPUT2"))
    if left.shape[1:] != (4,) or right.shape != (4, 2) or bias.shape != (2,):
        raise ElementError("INPUT0 must be [n,4], INPUT1 [4,2] and INPUT2 [2]")
    a = np.frombuffer(left.blob, "<f4").reshape(left.shape)
    b = np.frombuffer(right.blob, "<f4").reshape(right.shape)
    with np.errstate(all="ignore"):
        product = (a @ b + np.frombuffer(bias.blob, "<i8").astype("<f4")).astype("<f4")
        sums = product.sum(axis=1).astype("<f4")
    rows = (len(product),)
    return {
        "OUTPUT0": Tensor("OUTPUT0", "FP32", product.shape, product.tobytes()),
        "OUTPUT1": Tensor("OUTPUT1", "FP32", rows, sums.tobytes()),
        "OUTPUT2": Tensor("OUTPUT2", "BOOL", rows, (sums > 0).astype("u1").tobytes()),
    }


def _reverser(inputs: Mapping[str, Tensor]) -> Outputs:
    """OUTPUT0 has the elements of INPUT0 with their characters reversed, OUTPUT1 their lengths, to
    each of which the number in its place in INPUT1 is added."""
    tensor, numbers = inputs["INPUT0"], inputs["INPUT1"]
    if tensor.shape != numbers.shape:
        raise ElementError("INPUT0 and INPUT1 must have the same shape")
    elements = decode_bytes(tensor.blob, element_count(tensor.shape))
    lengths = np.array([len(element) for element in elements], "<i4")
    sums = (lengths + np.frombuffer(numbers.blob, "<i4")).tobytes()
    return {
        "OUTPUT0": Tensor("OUTPUT0", "BYTES", tensor.shape, encode_bytes(_reversed(elements))),
        "OUTPUT1": Tensor("OUTPUT1", "INT32", tensor.shape, sums),
    }


def _reversed(elements: list[bytes]) -> list[bytes]:
    """Each text reversed; bytes that are no text stay as they are."""
    found = []
    for element in elements:
        try:
            found.append(element.decode()[::-1].encode())
        except UnicodeDecodeError:
            found.append(element)
    return found


def _widener(inputs: Mapping[str, Tensor]) -> Outputs:
    """OUTPUT0 is INPUT0, of FP16, as FP32, OUTPUT1 its square, OUTPUT2 which are over a half."""
    tensor = inputs["INPUT0"]
    wide = np.frombuffer(tensor.blob, "<f2").astype("<f4")
    with np.errstate(all="ignore"):
        squares = (wide * wide).astype("<f4")
    over = (wide > 0.5).astype("u1")
    return {
        "OUTPUT0": Tensor("OUTPUT0", "FP32", tensor.shape, wide.tobytes()),
        "OUTPUT1": Tensor("OUTPUT1", "FP32", tensor.shape, squares.tobytes()),
        "OUTPUT2": Tensor("OUTPUT2", "BOOL", tensor.shape, over.tobytes()),
    }


def _spec(name: str, datatype: str, *dims: int) -> TensorSpec:
    return TensorSpec(name, datatype, dims)


ORDINARY_MODELS: dict[str, ModelContract] = {
    model.model: model
    for model in (
        _contract(
            "matrix_product",
            (
                _spec("INPUT0", "FP32", -1, 4),
                _spec("INPUT1", "FP32", 4, 2),
                _spec("INPUT2", "INT64", 2),
            ),
            (
                _spec("OUTPUT0", "FP32", -1, 2),
                _spec("OUTPUT1", "FP32", -1),
                _spec("OUTPUT2", "BOOL", -1),
            ),
        ),
        _contract(
            "reverser",
            (_spec("INPUT0", "BYTES", -1), _spec("INPUT1", "INT32", -1)),
            (_spec("OUTPUT0", "BYTES", -1), _spec("OUTPUT1", "INT32", -1)),
        ),
        _contract(
            "widener",
            (_spec("INPUT0", "FP16", -1),),
            (
                _spec("OUTPUT0", "FP32", -1),
                _spec("OUTPUT1", "FP32", -1),
                _spec("OUTPUT2", "BOOL", -1),
            ),
        ),
    )
}
"""By name."""

_COMPUTE: dict[str, Callable[[Mapping[str, Tensor]], Outputs]] = {
    "matrix_product": _matrix_product,
    "reverser": _reverser,
    "widener": _widener,
}


def compute(model: ModelContract, inputs: Mapping[str, Tensor]) -> Outputs:
    """The outputs of one of these models by name. Raises ElementError for a wrong shape."""
    return _COMPUTE[model.model](inputs)
