"""The tensors of a client's request, as a strict server reads them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from v2_clients.bench.requests import ClientRequest, size_of
from v2_conformance.judging.checks import check_data_or_size
from v2_conformance.judging.messages.response import (
    MAX_DIMENSIONS,
    json_end,
    read_header_length,
    read_tensor,
    true_length,
    validate,
)
from v2_conformance.judging.messages.response_json import parse_noting
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.protocol.message import MessageError, Tensor
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import printable

MOST_SHOWN = 20
"""The number of names or values that a finding shows."""


def read_strictly(request: ClientRequest) -> list[Tensor]:
    """Return the tensors of a request, as a strict server reads it. Raises Finding."""
    body = decoded_body(request)
    end = strict_end(request, body)
    document = strict_json(body[:end], request.header_length)
    validate("request", document)
    tensors, at = [], end
    for entry in document["inputs"]:
        tensor, at = tensor_of(entry, body, at)
        tensors.append(tensor)
    if at < len(body):
        raise Finding(kinds.LeftoverBytes(end, at - end, len(body)))
    return tensors


def decoded_body(request: ClientRequest) -> bytes:
    """Return the body without its content coding. Raises Finding if it cannot be decoded."""
    decoded = request.decoded
    if decoded is None:
        named = printable(", ".join(request.codings), 60)
        raise Finding(kinds.BrokenCoding(named, "it cannot be decoded"))
    return decoded


def strict_end(request: ClientRequest, body: bytes) -> int:
    """Return where the JSON ends, by the header length alone. Raises Finding."""
    return json_end(read_header_length(request), body)


def check_utf_8(request: ClientRequest) -> None:
    """Raise Finding if the JSON of a request is not UTF-8."""
    written = decoded_body(request)[: request.json_end]
    try:
        written.decode()
    except UnicodeDecodeError:
        strict_json(written, request.header_length)  # raises


def strict_json(data: bytes, header_length: int | None) -> dict[str, Any]:
    """Return the one JSON object that `data` is. Raises Finding."""
    try:
        document, repeated = parse_noting(data)
    except MessageError as error:
        problem = printable(str(error))
        if header_length is None:
            raise Finding(kinds.BodyNotJson(len(data), problem)) from error
        object_end = true_length(data[:-1])  # only if more follows it
        raise Finding(kinds.HeaderLengthNotJson(header_length, problem, object_end)) from error
    if repeated is not None:
        raise Finding(kinds.RepeatedMember(printable(repeated, 60)))
    return document


def tensor_of(entry: Mapping[str, Any], body: bytes, at: int) -> tuple[Tensor, int]:
    """Return an input's value, and where its blob ends. Raises Finding.

    Of an input with data and a size, the blob has to be right. If it is not, that it says both is
    what is wrong.
    """
    name, datatype, size = str(entry["name"]), str(entry["datatype"]), size_of(entry)
    label = printable(name, 60)
    shape = entry["shape"]
    sizes = isinstance(shape, list) and len(shape) <= MAX_DIMENSIONS and all(map(_is_size, shape))
    if not sizes or datatype not in DATATYPES:
        raise Finding(kinds.InvalidTensor(label, printable(datatype, 20), "", "no tensor of V2"))
    if size is None and "data" not in entry:
        raise Finding(kinds.NoDataNoSize(label))
    try:
        tensor = read_tensor({**entry, "name": name, "datatype": datatype}, size, body, at)
    except Finding:
        check_data_or_size([entry])
        raise
    return tensor, at + (size or 0)


def _is_size(value: object) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


def narrow(datatype: str, singles: bytes) -> bytes | None:
    """Return FP32 elements in one of HALVES; None unless each has that value, NaNs included."""
    bits = np.frombuffer(singles, "<u4")
    with np.errstate(all="ignore"):
        if datatype == "BF16":
            halves = (bits >> 16).astype("<u2")
            again = halves.astype("<u4") << 16
        else:
            halves = bits.view("<f4").astype("<f2")
            again = halves.astype("<f4").view("<u4")
    return halves.tobytes() if np.array_equal(again, bits) else None
