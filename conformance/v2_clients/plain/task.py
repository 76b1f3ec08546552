"""The task of a client: what its caller asks for, as schemas/client-task.schema.json says."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from v2_conformance.protocol.datatypes import DATATYPES, Shape, decode_bytes

Array = np.ndarray[Any, Any]


class ClientError(Exception):
    """Error that the client's caller gets in place of tensors; `status` is that of the response."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class CallerInput:
    """An input as the caller holds it: `array` lies in memory as the caller's happens to lie.

    BYTES are an array of Python's bytes. BF16, which numpy lacks, are bit patterns in uint16, or
    float32 that the client has to round.
    """

    name: str
    datatype: str
    shape: Shape
    array: Array
    binary: bool
    parameters: Mapping[str, object]


@dataclass(frozen=True)
class CallerOutput:
    """An output that the caller names; `binary` is None if the caller does not say."""

    name: str
    binary: bool | None
    parameters: Mapping[str, object]


@dataclass(frozen=True)
class Call:
    """One inference that the caller asks for.

    `headers` is the caller's own dictionary, which is not the client's to change.
    `binary_data_output` is None, and `outputs` too, if the caller does not say.
    """

    model: str
    version: str | None
    id: str | None
    parameters: Mapping[str, object]
    headers: dict[str, str]
    request_compression: str | None
    response_compression: str | None
    binary_data_output: bool | None
    inputs: tuple[CallerInput, ...]
    outputs: tuple[CallerOutput, ...] | None


def calls(task: Mapping[str, Any]) -> list[Call]:
    """The calls of a task, in order. A caller with equal headers passes the same dictionary."""
    dictionaries: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    results = []
    for request in task["requests"]:
        given = dict(request["headers"])
        headers = dictionaries.setdefault(tuple(sorted(given.items())), given)
        inputs, outputs = tuple(map(_input, request["inputs"])), request["outputs"]
        outputs = None if outputs is None else tuple(map(_output, outputs))
        results.append(
            Call(**{**request, "headers": headers, "inputs": inputs, "outputs": outputs})
        )
    return results


def _output(entry: Mapping[str, Any]) -> CallerOutput:
    form = entry.get("form")
    binary = None if form is None else form == "binary"
    return CallerOutput(entry["name"], binary, entry.get("parameters") or {})


def _input(entry: Mapping[str, Any]) -> CallerInput:
    shape = tuple(entry["shape"])
    datatype: str = entry["datatype"]
    data = base64.b64decode(entry["data"], validate=True)
    array = _array(datatype, data, entry.get("from")).reshape(shape)
    layout = entry.get("layout") or "row-major"
    if layout == "column-major":
        array = np.asfortranarray(array)
    elif layout == "big-endian":
        array = array.astype(array.dtype.newbyteorder(">"))
    binary = entry["form"] == "binary"
    return CallerInput(entry["name"], datatype, shape, array, binary, entry.get("parameters") or {})


def _array(datatype: str, data: bytes, of: str | None) -> Array:
    if datatype == "BYTES":
        elements = decode_bytes(data)
        array = np.empty(len(elements), dtype=object)
        array[:] = elements
        return array
    if of is not None:
        return np.frombuffer(data, np.dtype(of).newbyteorder("<"))
    return np.frombuffer(data, DATATYPES[datatype].numpy)
