"""What several faults need: guesses at where JSON ends, and elements to tamper with."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from v2_conformance.protocol.datatypes import DATATYPES, Buffer, decode_bytes, encode_bytes
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import PROFILES, Behaviour
from v2_conformance.reference.exchange import Rejected, Request, Response
from v2_conformance.suite.models import ModelContract

Bits = np.ndarray[Any, Any]

_WHITE = b" \t\r\n"


class MortalModels(Behaviour):
    """A model on which a request raises `fatal` never answers well again."""

    fatal: type[Exception]

    def __init__(self, profiles: Collection[str] = PROFILES) -> None:
        super().__init__(profiles)
        self.dead: set[str] = set()

    def infer(self, model: ModelContract, request: Request) -> Response:
        if model.model in self.dead:
            raise Rejected(f"{model.model} has no live process", 503)
        try:
            return super().infer(model, request)
        except self.fatal:
            self.dead.add(model.model)
            raise


def object_end(body: Buffer) -> int | None:
    """Where the JSON object at the start of `body` ends, found by parsing; None without one."""
    text = str(body, "latin-1")  # one character a byte, whatever follows the JSON
    start = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except ValueError:
        return None


def is_white(data: Buffer) -> bool:
    """Whether there is only JSON white space in `data`."""
    return not bytes(data).strip(_WHITE)


def raw_headers(request: Request) -> list[tuple[str, str]]:
    """Header names in their own case, and values with the white space around them."""
    lines = request.head.decode("latin-1").replace("\r\n", "\n").split("\n")[1:]
    pairs = [line.partition(":") for line in lines if line]
    return [(name, value) for name, _, value in pairs]


def fill(blob: Buffer, size: int) -> bytes:
    """`blob` with zeros behind it, or cut, so that it has `size` bytes."""
    return bytes(blob[:size]).ljust(size, b"\0")


def swap_bytes(datatype: str, blob: Buffer) -> bytes:
    """The elements of a fixed-size blob with their bytes reversed; BYTES as they are."""
    size = DATATYPES[datatype].size
    if size is None:
        return bytes(blob)
    swapped: Bits = np.frombuffer(blob, f"<u{size}").byteswap()
    return swapped.tobytes()


def on_bits(datatype: str, blob: Buffer, change: Callable[[Bits], Bits]) -> bytes:
    """A fixed-size blob after `change` of its elements, given as unsigned integers."""
    bits = np.frombuffer(blob, f"<u{DATATYPES[datatype].size}")
    return change(bits).astype(bits.dtype).tobytes()


def on_elements(blob: Buffer, change: Callable[[bytes], bytes]) -> bytes:
    """A BYTES blob after `change` of each element."""
    return encode_bytes([change(element) for element in decode_bytes(blob)])


def split_elements(tensor: Tensor) -> list[bytes]:
    """The elements of any tensor, each as its bytes (those of BYTES without the prefix)."""
    size = DATATYPES[tensor.datatype].size
    blob = bytes(tensor.blob)
    if size is None:
        return decode_bytes(blob)
    return [blob[start : start + size] for start in range(0, len(blob), size)]


def with_elements(tensor: Tensor, elements: list[bytes]) -> Tensor:
    """The tensor with other elements (see split_elements)."""
    fixed = DATATYPES[tensor.datatype].size is not None
    return replace(tensor, blob=b"".join(elements) if fixed else encode_bytes(elements))


def reordered(tensor: Tensor, order: Bits) -> Tensor:
    """The tensor whose element i is the given tensor's element order[i]."""
    elements = split_elements(tensor)
    return with_elements(tensor, [elements[i] for i in order.tolist()])


def column_major(tensor: Tensor, *, back: bool = False) -> Tensor:
    """A row-major tensor's elements in column-major order; with `back` the other way."""
    if len(tensor.shape) < 2 or 0 in tensor.shape:
        return tensor
    order = np.arange(math.prod(tensor.shape)).reshape(tensor.shape).ravel(order="F")
    return reordered(tensor, np.argsort(order) if back else order)


def reversed_order(tensor: Tensor) -> Tensor:
    """The tensor with its elements last first."""
    return with_elements(tensor, split_elements(tensor)[::-1])
