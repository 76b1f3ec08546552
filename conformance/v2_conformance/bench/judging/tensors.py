"""The tensors of a client's request, as a strict server reads them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from v2_conformance.bench.requests import ClientRequest
from v2_conformance.judging.messages.response import validate
from v2_conformance.judging.messages.response_json import parse_response_json
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import DATATYPES, ElementError, check_blob, from_json
from v2_conformance.protocol.message import MessageError, RepeatedMemberError, Tensor
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.causes.cause_base import printable
from v2_conformance.suite.causes.findings import (
    BodyNotJson,
    BrokenCoding,
    HeaderLengthNotJson,
    HeaderLengthPastBody,
    InvalidHeaderLength,
    LeftoverBytes,
    RepeatedHeaderLength,
    RepeatedMember,
)
from v2_conformance.suite.causes.output_findings import BlobPastBody, InvalidTensor, NoDataNoSize

MOST_SHOWN = 20
"""So many names or values a finding shows."""

BINARY_DATA_SIZE = "binary_data_size"
"""The parameter with the size of an input's blob in bytes."""

_MOST_DIMENSIONS = 256


def read_strictly(request: ClientRequest) -> list[Tensor]:
    """The tensors of a request, as a strict server reads it. Raises Finding."""
    body = decoded_body(request)
    end = strict_end(request, body)
    document = strict_json(body[:end], request.header_length)
    validate("request", document)
    tensors, at = [], end
    for entry in document["inputs"]:
        tensor, at = tensor_of(entry, body, at)
        tensors.append(tensor)
    if at < len(body):
        raise Finding(LeftoverBytes(end, at - end, len(body)))
    return tensors


def decoded_body(request: ClientRequest) -> bytes:
    """The body without its content coding. Raises Finding for one that cannot be undone."""
    decoded = request.decoded
    if decoded is None:
        named = printable(", ".join(request.codings), 60)
        raise Finding(BrokenCoding(named, "it cannot be decoded"))
    return decoded


def strict_end(request: ClientRequest, body: bytes) -> int:
    """Where the JSON ends, by the header length alone. Raises Finding."""
    values = request.values(HEADER_LENGTH.lower())
    if not values:
        return len(body)
    if len(set(values)) > 1:
        raise Finding(RepeatedHeaderLength(tuple(printable(v, 60) for v in values[:MOST_SHOWN])))
    length = request.header_length
    if length is None:
        raise Finding(InvalidHeaderLength(printable(values[0], 60)))
    if length > len(body):
        raise Finding(HeaderLengthPastBody(length, len(body)))
    return length


def strict_json(data: bytes, header_length: int | None) -> dict[str, Any]:
    """The one JSON object that `data` is. Raises Finding."""
    try:
        return parse_response_json(data)
    except RepeatedMemberError as error:
        raise Finding(RepeatedMember(printable(error.member, 60))) from error
    except MessageError as error:
        problem = printable(str(error))
        if header_length is None:
            raise Finding(BodyNotJson(len(data), problem)) from error
        raise Finding(HeaderLengthNotJson(header_length, problem, None)) from error


def tensor_of(entry: Mapping[str, Any], body: bytes, at: int) -> tuple[Tensor, int]:
    """An input's value, and where its blob ends. Raises Finding."""
    name, datatype, shape = str(entry["name"]), str(entry["datatype"]), tuple(entry["shape"])
    label, size = printable(name, 60), size_of(entry)
    if len(shape) > _MOST_DIMENSIONS or datatype not in DATATYPES:
        raise Finding(InvalidTensor(label, printable(datatype, 20), "", "no tensor of V2"))
    try:
        if size is None:
            if "data" not in entry:
                raise Finding(NoDataNoSize(label))
            return Tensor(name, datatype, shape, from_json(datatype, shape, entry["data"])), at
        if at + size > len(body):
            raise Finding(BlobPastBody(label, size, at, len(body)))
        blob = body[at : at + size]
        check_blob(datatype, shape, blob)
    except ElementError as error:
        problem = printable(str(error))
        raise Finding(InvalidTensor(label, datatype, str(list(shape))[:60], problem)) from error
    return Tensor(name, datatype, shape, blob), at + size


def size_of(entry: Mapping[str, Any]) -> int | None:
    """The binary_data_size of an input, None if it has none that is a number."""
    value = parameters_of(entry).get(BINARY_DATA_SIZE)
    return value if type(value) is int and value >= 0 else None


def parameters_of(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The `parameters` of a part of the JSON, none if that is no object."""
    found = entry.get("parameters")
    return found if isinstance(found, dict) else {}
