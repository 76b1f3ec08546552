"""Judges a response whose tensor was compared with the sent one while it arrived.

Pure: it reads the kept beginning of the response, and the result of the comparison.
"""

from __future__ import annotations

from typing import Any

from v2_conformance.judging.messages.response import (
    MAX_DIMENSIONS,
    read_document,
    read_header_length,
    read_message,
    true_length,
)
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import (
    ElementError,
    check_size,
    element_count,
    shown_value,
    to_values,
)
from v2_conformance.protocol.message import parameters_of
from v2_conformance.protocol.names import BINARY_DATA_SIZE
from v2_conformance.suite.causes.base import FirstDifference, excerpt, printable
from v2_conformance.suite.causes.findings import (
    HeaderLengthMissing,
    HeaderLengthNotJson,
    HeaderLengthPastBody,
    LeftoverBytes,
    WrongStatus,
)
from v2_conformance.suite.causes.output_findings import (
    BlobPastBody,
    InvalidTensor,
    MissingOutput,
    TooManyDimensions,
    WrongDatatype,
    WrongForm,
    WrongShape,
    WrongValue,
)
from v2_conformance.suite.values.offset_pattern import pattern_bytes
from v2_conformance.wire.streamed import StreamDifference, Streamed, StreamedTensor
from v2_conformance.wire.transcript import Response

_SHOWN = 20


def check_streamed(expected: StreamedTensor, response: Response, found: Streamed) -> None:
    """Raise Finding unless the response has the `expected` tensor, bit for bit.

    `response` has the beginning of the body.
    """
    if response.status != 200:
        raise Finding(WrongStatus("200", response.status, excerpt(response.body)))
    label = printable(expected.name)
    length = read_header_length(response)
    if length is None:
        raise _without_length(label, response, found)
    if length > found.body:
        raise Finding(HeaderLengthPastBody(length, found.body))
    if length > len(response.body):
        problem = "it is longer than the JSON of one output can be"
        raise Finding(HeaderLengthNotJson(length, problem, true_length(response.body)))
    document, _, end = read_document(response)
    entry = _entry(expected, document)
    declared = parameters_of(entry).get(BINARY_DATA_SIZE)
    if declared is None:
        raise Finding(WrongForm(label, "binary", "json"))
    size = int(declared)
    if len(entry["shape"]) > MAX_DIMENSIONS:
        raise Finding(TooManyDimensions(label, len(entry["shape"])))
    shape = tuple(int(dimension) for dimension in entry["shape"])
    if end + size > found.body:
        raise Finding(BlobPastBody(label, size, end, found.body))
    if entry["datatype"] != expected.datatype:
        raise Finding(WrongDatatype(label, expected.datatype, printable(entry["datatype"])))
    if shape != expected.shape:
        raise Finding(WrongShape(label, expected.shape, shape))
    try:
        check_size(expected.datatype, shape, size)
    except ElementError as error:
        words = printable(str(error))
        raise Finding(InvalidTensor(label, expected.datatype, str(list(shape)), words)) from error
    if end + size < found.body:
        raise Finding(LeftoverBytes(end, found.body - end, found.body))
    if found.difference is not None:
        differing = found.difference.differing
        count = element_count(expected.shape)
        raise Finding(WrongValue(_difference(expected, found.difference, end), count, differing))


def _entry(expected: StreamedTensor, document: dict[str, Any]) -> dict[str, Any]:
    entries: list[dict[str, Any]] = document["outputs"]
    for entry in entries:
        if entry["name"] == expected.name:
            return entry
    names = [printable(entry["name"], 60) for entry in entries[:_SHOWN]]
    raise Finding(MissingOutput(printable(expected.name), tuple(names)))


def _without_length(label: str, response: Response, found: Streamed) -> Finding:
    """Return what is wrong with a response that does not say how long its JSON is."""
    if found.body == len(response.body):
        read_message(response)
    elif true_length(response.body) is not None:
        return Finding(HeaderLengthMissing())
    return Finding(WrongForm(label, "binary", "json"))


def _difference(expected: StreamedTensor, found: StreamDifference, end: int) -> FirstDifference:
    element = found.offset // expected.element
    low, high = element * expected.element, (element + 1) * expected.element
    want = pattern_bytes(low, high)
    got = bytes.fromhex(found.got)[low - found.start : high - found.start]
    return FirstDifference(
        output=printable(expected.name),
        datatype=expected.datatype,
        element=element,
        offset=found.offset,
        body_offset=end + found.offset,
        expected=want.hex(),
        got=got.hex(),
        expected_value=shown_value(to_values(expected.datatype, want)[0]),
        got_value=shown_value(to_values(expected.datatype, got)[0]),
    )
