"""Blobs of tensors: how large they should be, and ways to damage them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    Buffer,
    blob_size,
    decode_bytes,
    encode_bytes,
)
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import BINARY_DATA_SIZE
from v2_conformance.reference.http_messages import Request
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestInput

# What the longer ones of the decisions result in.
Inputs = list[RequestInput]
Tensors = dict[str, Tensor]
Blob = tuple[Buffer, int]
"""An input's elements, and the offset at which the next input's blob starts."""

Bits = np.ndarray[Any, Any]

# A fault that makes up data never makes up more than this, whatever a request declares.
MAX_MADE_UP = 2**24


def size_by_shape(entry: RequestInput) -> int | None:
    """Shape × element size of an input in bytes, None for BYTES."""
    return blob_size(entry.spec.datatype, entry.shape)


def is_bytes(entry: RequestInput) -> bool:
    """Return True if the input's datatype is BYTES."""
    return entry.spec.datatype == "BYTES"


def resize(blob: Buffer, size: int) -> bytes:
    """`blob` cut or padded with zeros to `size` bytes, with at most MAX_MADE_UP zeros."""
    return bytes(blob[:size]).ljust(min(size, len(blob) + MAX_MADE_UP), b"\0")


def resize_to_shape(entry: RequestInput, blob: Buffer) -> Buffer:
    """An input's blob cut or padded with zeros to shape × element size; BYTES as they are."""
    size = size_by_shape(entry)
    return blob if size is None else resize(blob, size)


def input_parameters(document: JsonObject) -> list[JsonObject]:
    """The parameters of the request's inputs, if they are objects."""
    inputs = document.get("inputs")
    items = [item for item in inputs if isinstance(item, dict)] if isinstance(inputs, list) else []
    results = [item.get("parameters") for item in items]
    return [parameters for parameters in results if isinstance(parameters, dict)]


def has_blobs(request: Request) -> bool:
    """Return True if an input of the request declares a size."""
    text = bytes(request.body).decode("latin-1")  # one character a byte, whatever follows the JSON
    try:
        document, _ = json.JSONDecoder(strict=False).raw_decode(
            text, len(text) - len(text.lstrip())
        )
    except (ValueError, RecursionError):
        return BINARY_DATA_SIZE in text
    inputs = document.get("inputs") if isinstance(document, dict) else None
    entries = (
        [item for item in inputs if isinstance(item, dict)] if isinstance(inputs, list) else []
    )
    parameters = [entry.get("parameters") for entry in entries]
    return any(isinstance(item, dict) and BINARY_DATA_SIZE in item for item in parameters)


def all_in_json(inference: InferenceRequest) -> InferenceRequest:
    """The request, with all of its outputs in JSON."""
    outputs = tuple(replace(output, binary=False) for output in inference.outputs)
    return replace(inference, outputs=outputs)


def all_zeros(inference: InferenceRequest) -> InferenceRequest:
    """The request with zeros as the elements of every input of a fixed-size datatype."""
    zeros = {
        name: msgspec.structs.replace(tensor, blob=bytes(len(tensor.blob)))
        for name, tensor in inference.inputs.items()
        if DATATYPES[tensor.datatype].size
    }
    return replace(inference, inputs=inference.inputs | zeros)


def swap_bytes(datatype: str, blob: Buffer) -> bytes:
    """A blob with the bytes of each element reversed; BYTES as they are."""
    size = DATATYPES[datatype].size
    if size is None:
        return bytes(blob)
    swapped: Bits = np.frombuffer(blob, f"<u{size}").byteswap()
    return swapped.tobytes()


def change_bits(datatype: str, blob: Buffer, change: Callable[[Bits], Bits]) -> bytes:
    """A fixed-size blob after `change` of its elements, given as unsigned integers."""
    bits = np.frombuffer(blob, f"<u{DATATYPES[datatype].size}")
    return change(bits).astype(bits.dtype).tobytes()


def through_fp32(blob: Buffer) -> bytes:
    """Return FP64 elements rounded to the precision of FP32."""
    with np.errstate(all="ignore"):
        return bytes(np.frombuffer(blob, "<f8").astype("<f4").astype("<f8").tobytes())


def change_elements(blob: Buffer, change: Callable[[bytes], bytes]) -> bytes:
    """A BYTES blob after `change` of each element."""
    return encode_bytes([change(element) for element in decode_bytes(blob)])


def column_major(tensor: Tensor, *, back: bool = False) -> Tensor:
    """A row-major tensor's elements in column-major order; with `back`, the other way around."""
    if len(tensor.shape) < 2 or 0 in tensor.shape:
        return tensor
    order = np.arange(math.prod(tensor.shape)).reshape(tensor.shape).ravel(order="F")
    elements = _elements(tensor)
    return _with_elements(
        tensor, [elements[i] for i in (np.argsort(order) if back else order).tolist()]
    )


def reversed_order(tensor: Tensor) -> Tensor:
    """The tensor with its elements in reverse order."""
    return _with_elements(tensor, _elements(tensor)[::-1])


def _elements(tensor: Tensor) -> list[bytes]:
    """The elements of any tensor, each as its bytes (BYTES without the prefix)."""
    size = DATATYPES[tensor.datatype].size
    blob = bytes(tensor.blob)
    if size is None:
        return decode_bytes(blob)
    return [blob[start : start + size] for start in range(0, len(blob), size)]


def _with_elements(tensor: Tensor, elements: list[bytes]) -> Tensor:
    """The tensor with other elements (see _elements)."""
    fixed = DATATYPES[tensor.datatype].size is not None
    return msgspec.structs.replace(
        tensor, blob=b"".join(elements) if fixed else encode_bytes(elements)
    )
