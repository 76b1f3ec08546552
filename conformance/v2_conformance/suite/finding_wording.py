"""What a response breaks, in words: part of `wording`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from v2_conformance.protocol.names import EXTENSION, HEADER_LENGTH
from v2_conformance.suite import findings as found
from v2_conformance.suite import transport_findings
from v2_conformance.suite.findings import FirstDifference
from v2_conformance.suite.http_versions import error_name
from v2_conformance.suite.phrases import body_words, counted, listed


def _header_length_not_json(cause: found.HeaderLengthNotJson) -> str:
    end = cause.object_end
    hint = "" if end is None else f" (an object ends after {counted(end, 'byte')})"
    return (
        f"{HEADER_LENGTH} says that the JSON is the first {counted(cause.header_length, 'byte')}, "
        f"but they are not exactly one JSON object: {cause.problem}{hint}"
    )


def _wrong_value(cause: found.WrongValue) -> str:
    first = cause.difference
    place = f"element {first.element} of {cause.elements}"
    if first.body_offset is not None:
        place += f" (byte {first.offset} of its blob, byte {first.body_offset} of the body)"
    return (
        f"{first.output} {first.datatype}: {place}: expected {first.expected} "
        f"({first.expected_value}), got {first.got} ({first.got_value}), bytes in wire order; "
        f"{_differ(cause.differing)}"
    )


def _differ(number: int) -> str:
    return "1 element differs" if number == 1 else f"{number} elements differ"


def _wrong_bytes_element(cause: found.WrongBytesElement) -> str:
    first: FirstDifference = cause.difference
    place = f" (from byte {cause.start} of the body)" if cause.start is not None else ""
    return (
        f"{first.output} BYTES: element {first.element} of {cause.elements}{place}: expected "
        f"{counted(cause.expected_length, 'byte')}, got {cause.got_length}; from its byte "
        f"{cause.at}: expected {cause.expected}, got {cause.got}"
    )


def _unrequested_coding(cause: found.UnrequestedCoding) -> str:
    allowed = f"allows {' or '.join(cause.allowed)}" if cause.allowed else "asked for no coding"
    return f"Content-Encoding is {', '.join(cause.got)!a}, but the request {allowed}"


FINDING_WORDS: Mapping[type, Callable[[Any], str]] = {
    found.WrongStatus: lambda c: f"expected status {c.expected}, got {c.got}: {body_words(c.body)}",
    found.AcceptedInvalidRequest: lambda c: (
        f"expected an error status, but the server accepted the request with {c.status}: "
        f"{body_words(c.body)}"
    ),
    found.InvalidErrorBody: lambda c: (
        f'rejected with status {c.status}, but the body is not {{"error": string}}: {c.problem}: '
        f"{body_words(c.body)}"
    ),
    transport_findings.LengthRequired: lambda c: (
        "answered with 411: a server may ask for a Content-Length, and the case sends its body in "
        f"chunks: {body_words(c.body)}"
    ),
    transport_findings.ChunksToOldClient: lambda c: (
        "the response is in chunks, but a client of HTTP/1.0 cannot read them"
    ),
    transport_findings.VariationDeclined: lambda c: (
        f"answered with {c.status}: a server may refuse a request in the variation {c.variation}: "
        f"{body_words(c.body)}"
    ),
    transport_findings.BodyNotTaken: lambda c: (
        f"the server closed the connection after {c.sent} of the request's {c.size} bytes, as it "
        "may: a server may limit the size of bodies" + (f" ({c.detail})" if c.detail else "")
    ),
    transport_findings.BodyTooLarge: lambda c: (
        f"answered with 413: a server may limit the size of bodies, and the case sends {c.size} "
        f"bytes, more than {c.limit}: {body_words(c.body)}"
    ),
    transport_findings.ConnectionRefused: lambda c: f"no connection: {c.detail}",
    transport_findings.TimedOut: lambda c: (
        f"{c.detail} ({c.seconds:.1f} s, {counted(c.received, 'byte')} received)"
    ),
    transport_findings.ConnectionClosed: lambda c: (
        f"the connection ended without a complete response after "
        f"{counted(c.received, 'byte')} ({c.detail})"
    ),
    transport_findings.StreamReset: lambda c: (
        f"the server reset the stream with {error_name(c.code)}, without a complete response, "
        f"after {counted(c.received, 'byte')}"
    ),
    transport_findings.GoneAway: lambda c: (
        f"the server ended the connection with GOAWAY, {error_name(c.code)}, without a complete "
        f"response, after {counted(c.received, 'byte')}"
    ),
    transport_findings.NotHttp: lambda c: f"the response is not HTTP: {c.detail}",
    transport_findings.ResponseTooLarge: lambda c: f"the response is too large: {c.detail}",
    transport_findings.ContentLengthTooLong: lambda c: (
        f"the message is complete after {counted(c.body, 'byte')} of body, but Content-Length "
        f"promises {c.content_length}"
    ),
    transport_findings.BytesAfterResponse: lambda c: (
        f"{counted(c.count, 'byte')} followed the end of the response"
    ),
    transport_findings.NoContentLength: lambda c: (
        f"no Content-Length: the response is delimited by {c.framing}"
    ),
    found.UndeclaredCoding: lambda c: (
        f"the body seems to be in {c.coding}, but no Content-Encoding says so"
    ),
    found.UnrequestedCoding: _unrequested_coding,
    found.BrokenCoding: lambda c: (
        f"Content-Encoding is {c.coding}, but the body is not: {c.problem}"
    ),
    found.NotEncoded: lambda c: (
        "a server need not encode a response, and this one came without a coding"
    ),
    found.RepeatedHeaderLength: lambda c: (
        f"the message has {HEADER_LENGTH} {len(c.values)} times: {listed(c.values)}"
    ),
    found.InvalidHeaderLength: lambda c: f"{HEADER_LENGTH} is '{c.value}', not a decimal number",
    found.HeaderLengthPastBody: lambda c: (
        f"{HEADER_LENGTH} is {c.header_length}, but the whole body has {counted(c.body, 'byte')}: "
        "the JSON cannot be longer than the body"
    ),
    found.HeaderLengthMissing: lambda c: f"the response has no {HEADER_LENGTH} header",
    found.HeaderLengthUnexpected: lambda c: (
        f"{HEADER_LENGTH} is '{c.value}', but no blob follows the JSON"
    ),
    found.BodyNotJson: lambda c: (
        f"without {HEADER_LENGTH} the whole body ({counted(c.body, 'byte')}) must be JSON, but it "
        f"is not: {c.problem}"
    ),
    found.HeaderLengthNotJson: _header_length_not_json,
    found.SchemaViolation: lambda c: (
        f"the JSON breaks the {c.schema} schema at {c.path}: {c.problem}"
    ),
    found.RepeatedMember: lambda c: (
        f"an object of the response's JSON has the member '{c.member}' more than once"
    ),
    found.LeftoverBytes: lambda c: (
        f"{counted(c.body - c.json - c.blobs, 'byte')} left over: JSON {c.json} + sizes {c.blobs} "
        f"= {c.json + c.blobs}, but the body has {c.body}"
    ),
    found.TooManyDimensions: lambda c: f"{c.output} has a shape of {c.dimensions} dimensions",
    found.DataAndSize: lambda c: f"{c.output} has both `data` and `binary_data_size`",
    found.NoDataNoSize: lambda c: f"{c.output} has neither `data` nor `binary_data_size`",
    found.BlobPastBody: lambda c: (
        f"{c.output} declares {counted(c.size, 'byte')} from byte {c.start}, but the body ends "
        f"after {counted(c.body, 'byte')}"
    ),
    found.InvalidTensor: lambda c: f"{c.output} {c.datatype} {c.shape}: {c.problem}",
    found.MissingOutput: lambda c: f"expected {c.output}, got {listed(c.got)}",
    found.UnrequestedOutputs: lambda c: (
        f"the response has outputs that were not requested: {listed(c.outputs)}"
    ),
    found.WrongForm: lambda c: f"{c.output}: expected {c.expected} form, got {c.got} form",
    found.MixedForms: lambda c: (
        "expected all outputs in the same form, since they were requested alike, got "
        f"{listed(c.binary)} in binary form and {listed(c.json)} in json form"
    ),
    found.WrongDatatype: lambda c: f"{c.output}: expected datatype {c.expected}, got {c.got}",
    found.WrongShape: lambda c: f"{c.output}: expected shape {list(c.expected)}, got {list(c.got)}",
    found.WrongElementCount: lambda c: (
        f"{c.output} BYTES: expected {counted(c.expected, 'element')}, got {c.got}"
    ),
    found.WrongValue: _wrong_value,
    found.WrongBytesElement: _wrong_bytes_element,
    found.WrongContentType: lambda c: (
        f"expected Content-Type {c.expected}, got {'none' if c.got is None else repr(c.got)}"
    ),
    found.WrongId: lambda c: f"expected the id {c.expected}, got {c.got}",
    found.WrongModelName: lambda c: (
        f"expected the model_name '{c.expected}', got {'none' if c.got is None else repr(c.got)}"
    ),
    found.MetadataNotJson: lambda c: f"the server metadata is not JSON: {c.problem}",
    found.ExtensionNotListed: lambda c: (
        f"expected '{EXTENSION}' in `extensions`, got {listed(c.extensions)}"
    ),
}
