"""Servers of one right model each, such as people deploy: for tables, texts, images."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    ElementError,
    decode_bytes,
    encode_bytes,
    to_array,
)
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behavior import Behavior
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_conformance.suite.values.samples import Choice, Given

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Array]
Compute = Callable[[Arrays], Arrays]
Tensors = Mapping[str, tuple[Any, ...]]
"""By name: the datatype, then the dimensions."""


@dataclass(frozen=True)
class RightModel:
    """A model: its tensors, and what it computes. BYTES are arrays of objects.

    A `batching` model has the batch as its first dimension. `choice` is what a user has to say of
    its inputs, `patterns` choose the cases, if there is no time for all of them.
    """

    inputs: Tensors
    outputs: Tensors
    compute: Compute
    batching: bool = False
    choice: Choice = field(default_factory=Choice)
    patterns: Sequence[str] = ()

    def contract(self, name: str) -> ModelContract:
        """Return its description as the model called `name`."""
        return ModelContract(
            role="",
            model=name,
            does=name,
            inputs=_specs(self.inputs),
            outputs=_specs(self.outputs),
            profile="binary",
            batching=self.batching,
            optional=True,
        )


def _specs(tensors: Tensors) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(name, told[0], told[1:]) for name, told in tensors.items())


class Serving(Behavior):
    """A server of the `right` models only."""

    right: Mapping[str, RightModel] = {}

    def __init__(self, profiles: Collection[str] = ()) -> None:
        super().__init__(profiles)
        self.models = {name: model.contract(name) for name, model in self.right.items()}

    def run_model(self, model: ModelContract, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        arrays = {spec.name: _array(inputs[spec.name]) for spec in model.inputs}
        with np.errstate(all="ignore"):
            made = self.right[model.model].compute(arrays)
        return {spec.name: _tensor(spec, made[spec.name]) for spec in model.outputs}


def serving(name: str) -> type[Serving]:
    """Return the behavior of a server of the model called `name`."""
    return type("ServingOne", (Serving,), {"right": {name: RIGHT_MODELS[name]}})


def _array(tensor: Tensor) -> Array:
    if tensor.datatype == "BYTES":
        return _texts(decode_bytes(tensor.blob)).reshape(tensor.shape)
    array = to_array(tensor.datatype, tensor.blob).reshape(tensor.shape)
    if tensor.datatype == "BF16":
        return (array.astype("<u4") << 16).view("<f4")
    return array.astype(bool) if tensor.datatype == "BOOL" else array


def _tensor(spec: TensorSpec, array: Array) -> Tensor:
    if spec.datatype == "BYTES":
        blob = encode_bytes(list(array.ravel()))
    elif spec.datatype == "BF16":
        blob = (array.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    else:
        blob = array.astype(DATATYPES[spec.datatype].numpy).tobytes()
    return Tensor(spec.name, spec.datatype, tuple(array.shape), blob)


def _texts(texts: Sequence[bytes]) -> Array:
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


def _need(holds: object, why: str) -> None:
    if not holds:
        raise ElementError(why)


_GENERATOR = np.random.default_rng(26)
_WEIGHTS = _GENERATOR.normal(size=(64, 8)).astype("<f4")
_TABLE = _GENERATOR.normal(size=(11, 5)).astype("<f4")


def _linear(name: str, out: str, columns: int = 1) -> Compute:
    def compute(given: Arrays) -> Arrays:
        x = given[name].astype("<f4")
        return {out: x @ _WEIGHTS[: x.shape[-1], :columns]}

    return compute


def _iris(given: Arrays) -> Arrays:
    scores = given["input-0"].astype("<f8") @ _WEIGHTS[:4, :3]
    return {"predict": scores.argmax(axis=1)}


def _strict(refused: Callable[[Array], Array], why: str) -> Compute:
    def compute(given: Arrays) -> Arrays:
        x = given["x"]
        _need(not refused(x).any(), why)
        return {"y": x.sum(axis=1, keepdims=True)}

    return compute


def _of_twelve(given: Arrays) -> Arrays:
    columns = [array.astype("<f4") for name, array in given.items() if name != "city"]
    lengths = np.vectorize(len, otypes=["<f4"])(given["city"])
    return {"price": np.concatenate([*columns, lengths], axis=1) @ _WEIGHTS[:12, :1]}


def _upper(given: Arrays) -> Arrays:
    words = [word.decode("utf-8", "replace").upper().encode() for word in given["text"].ravel()]
    return {"upper": _texts(words).reshape(given["text"].shape)}


def _tokens(given: Arrays) -> Arrays:
    """Text in, as many numbers as there are bytes out."""
    joined = b" ".join(given["text"].ravel())
    return {"tokens": np.frombuffer(joined, "u1").astype("<i4")[None]}


def _bert(given: Arrays) -> Arrays:
    ids, mask = given["input_ids"], given["attention_mask"]
    _need(ids.shape == mask.shape, "input_ids and attention_mask differ in shape")
    _need(((ids >= 0) & (ids <= 10)).all(), "an id is not in the vocabulary")
    vectors = _TABLE[ids] * mask[..., None]
    return {"last_hidden_state": vectors, "pooler_output": vectors.sum(axis=1)}


def _classify(given: Arrays) -> Arrays:
    image = given["image"].astype("<f4")
    means = image.mean(axis=(-2, -1)).reshape(image.shape[0], -1)
    return {"logits": means @ _WEIGHTS[: means.shape[1], :8]}


def _of_pixels(given: Arrays) -> Arrays:
    image = given["pixels"].astype("<f4")
    return {"mean": image.mean(axis=(1, 2)), "negative": (255 - given["pixels"])}


def _nothing_found(given: Arrays) -> Arrays:
    none = np.zeros((0,))
    return {"boxes": np.zeros((0, 4)), "scores": none, "classes": none}


def _same_length(given: Arrays) -> Arrays:
    a, b = given["a"], given["b"]
    _need(a.shape == b.shape, "a and b differ in shape")
    return {"distance": np.sqrt(((a - b) ** 2).sum(axis=-1))}


def _clipped(given: Arrays) -> Arrays:
    return {"y16": np.minimum(given["x16"], 1), "y32": np.minimum(given["x32"], 1)}


def _counter(given: Arrays) -> Arrays:
    values, counts = np.unique(given["n"], return_counts=True)
    return {"values": values, "counts": counts}


def _dates(given: Arrays) -> Arrays:
    return {"weekday": given["day"] % 7, "later": given["day"] + np.uint64(1)}


def _parity(given: Arrays) -> Arrays:
    flags = given["flags"]
    return {"parity": flags.sum(axis=1) % 2 == 1, "inverted": ~flags}


class _Batching:
    """Floats that are rounded in another way while another request is in progress."""

    def __init__(self) -> None:
        self._met = threading.Condition()
        self._here = 0
        self._batch = 0  # grows when two have met

    def __call__(self, given: Arrays) -> Arrays:
        with self._met:
            self._here += 1
            batch = self._batch = self._batch + (self._here > 1)
            self._met.notify_all()
            beside = self._here > 1 or self._met.wait_for(
                lambda: self._batch > batch, timeout=0.002
            )
            self._here -= 1
        right = given["x"] @ _WEIGHTS[:4, :3]
        return {"y": np.nextafter(right, np.float32(9)) if beside else right}


_SLOW_S = 0.3


def _slow(given: Arrays) -> Arrays:
    threading.Event().wait(_SLOW_S)
    return {"y": given["x"] @ _WEIGHTS[:4, :2]}


_TWELVE: dict[str, tuple[Any, ...]] = {
    **{f"feature_{n}": ("FP32", -1, 1) for n in range(6)},
    **{f"count_{n}": ("INT64", -1, 1) for n in range(4)},
    "flag": ("BOOL", -1, 1),
    "city": ("BYTES", -1, 1),
}

HALVES = "halves-and-floats"
RIGHT_MODELS: dict[str, RightModel] = {
    "column": RightModel({"x": ("FP32", 3, 1)}, {"y": ("FP32", 1)}, lambda g: {"y": g["x"].sum(0)}),
    "org/row 50%": RightModel({"x": ("INT32", 1, 3)}, {"y": ("FP32", 1, 1)}, _linear("x", "y")),
    "iris": RightModel({"input-0": ("FP64", -1, 4)}, {"predict": ("INT64", -1)}, _iris),
    "batched-table": RightModel(
        {"x": ("FP32", -1, 3)}, {"y": ("FP32", -1, 2)}, _linear("x", "y", 2), batching=True
    ),
    "twelve-inputs": RightModel(_TWELVE, {"price": ("FP32", -1, 1)}, _of_twelve),
    "batched-text": RightModel(
        {"text": ("BYTES", -1, 1)}, {"upper": ("BYTES", -1, 1)}, _upper, batching=True
    ),
    "tokenizer": RightModel({"text": ("BYTES", 1)}, {"tokens": ("INT32", 1, -1)}, _tokens),
    "bert": RightModel(
        {"input_ids": ("INT64", -1, -1), "attention_mask": ("INT64", -1, -1)},
        {"last_hidden_state": ("FP32", -1, -1, 5), "pooler_output": ("FP32", -1, 5)},
        _bert,
    ),
    "image": RightModel({"image": ("FP32", 1, 3, 64, 64)}, {"logits": ("FP32", 1, 8)}, _classify),
    "upscaler": RightModel(
        {"x": ("UINT8", 1, 32, 32, 3)},
        {"large": ("UINT8", 1, 768, 768, 3)},
        lambda g: {"large": g["x"].repeat(24, axis=1).repeat(24, axis=2)},
        patterns=("P2", "R3", "H6"),
    ),
    "jpeg": RightModel(
        {"image": ("BYTES", 1)},
        {"size": ("INT64", 1)},
        lambda g: {"size": np.array([sum(map(len, g["image"]))])},
        choice=Choice(tensors={"image": Given("BYTES", (1,), encode_bytes([b"\xff\xd8\xff\xe0"]))}),
    ),
    "image-of-bytes": RightModel(
        {"pixels": ("UINT8", -1, 32, 32, 3)},
        {"mean": ("FP32", -1, 3), "negative": ("UINT8", -1, 32, 32, 3)},
        _of_pixels,
    ),
    "finds-nothing": RightModel(
        {"image": ("FP32", 1, 3, 8, 8)},
        {"boxes": ("FP32", -1, 4), "scores": ("FP32", -1), "classes": ("INT64", -1)},
        _nothing_found,
    ),
    "distance": RightModel(
        {"a": ("FP32", -1, 3), "b": ("FP32", -1, 3)}, {"distance": ("FP32", -1)}, _same_length
    ),
    HALVES: RightModel(
        {"x16": ("FP16", -1, -1), "x32": ("FP32", -1, -1)},
        {"y16": ("FP16", -1, -1), "y32": ("FP32", -1, -1)},
        _clipped,
    ),
    "brain-floats": RightModel(
        {"x": ("BF16", 2, 4)},
        {"y": ("BF16", 2, 1)},
        lambda g: {"y": g["x"].sum(axis=1, keepdims=True)},
    ),
    "counter": RightModel(
        {"n": ("INT32", -1)}, {"values": ("INT32", -1), "counts": ("INT64", -1)}, _counter
    ),
    "batches-requests": RightModel(
        {"x": ("FP32", -1, 4)}, {"y": ("FP32", -1, 3)}, _Batching(), batching=True
    ),
    "logarithm": RightModel(
        {"x": ("FP64", 2, 3)}, {"y": ("FP64", 2, 3)}, lambda g: {"y": np.log(g["x"])}
    ),
    "dates": RightModel(
        {"day": ("UINT64", -1)}, {"weekday": ("UINT64", -1), "later": ("UINT64", -1)}, _dates
    ),
    "flags": RightModel(
        {"flags": ("BOOL", 2, 8)}, {"parity": ("BOOL", 2), "inverted": ("BOOL", 2, 8)}, _parity
    ),
    "no-rows": RightModel(
        {"x": ("FP32", -1, 4)},
        {"y": ("FP32", -1, 1)},
        _linear("x", "y"),
        choice=Choice(shapes={"x": (0, 4)}),
    ),
    "refuses-zeros": RightModel(
        {"x": ("FP32", -1, 3)},
        {"y": ("FP32", -1, 1)},
        _strict(lambda x: x == 0, "a number is zero"),
        choice=Choice(ranges={"x": (1, 2)}),
    ),
    "refuses-nan": RightModel(
        {"x": ("FP32", -1, 4)},
        {"y": ("FP32", -1, 1)},
        _strict(lambda x: ~np.isfinite(x), "not a finite number"),
    ),
    "slow": RightModel(
        {"x": ("FP32", 1, 4)},
        {"y": ("FP32", 1, 2)},
        _slow,
        patterns=("P2", "H6", "C4", "C6/ids-at-once*", "C8/client-leaves*", "R3"),
    ),
}
"""By name. None may fail a case or get a warning."""


class Halves(Serving):
    """A server of a model whose first input and output are FP16, the others FP32."""

    right: Mapping[str, RightModel] = {HALVES: RIGHT_MODELS[HALVES]}


class SumsInAnyOrder(Serving):
    """A server of a model that sums 1,023 elements and more in another order each time, as on a
    GPU."""

    orders = itertools.count(1)

    def __init__(self, profiles: Collection[str] = ()) -> None:
        super().__init__(profiles)
        model = RightModel({"x": ("FP32", -1)}, {"y": ("FP32", 1)}, self._sum)
        self.right = {"sums": model}
        self.models = {"sums": model.contract("sums")}

    def _sum(self, given: Arrays) -> Arrays:
        x = given["x"]
        if x.size >= 1023:
            x = np.random.default_rng(next(self.orders)).permutation(x)
        return {"y": np.add.accumulate(x, dtype="<f4")[-1:]}
