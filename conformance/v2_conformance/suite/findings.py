"""What a response can break: one type for each finding, with its numbers.

Text in a finding that came from a server is printable ASCII of bounded length: `printable` and
`excerpt` make it so where the finding is made.
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0)]

_CAMEL = re.compile(r"(?<!^)(?=[A-Z])")
_LONGEST = 1000


def _kind(name: str) -> str:
    return _CAMEL.sub("_", name).lower()


def printable(text: object, limit: int = _LONGEST) -> str:
    """Text of a server as printable ASCII of at most `limit` characters, then "…"."""
    plain = ascii(text)[1:-1].replace("\\'", "'") if isinstance(text, str) else ascii(text)
    return plain if len(plain) <= limit else plain[:limit] + "…"


def excerpt(body: bytes | bytearray | memoryview, limit: int = 200) -> str:
    """The start of a body as one line of printable ASCII; "" for an empty one."""
    text = ascii(bytes(body[:limit]).decode("latin-1"))
    return text[1:-1].replace("\\'", "'") + ("…" if len(body) > limit else "")


class FirstDifference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first element in which an output differs from what was expected.

    `element` counts from 0 in row-major order. `offset` is that of the first differing byte in the
    output's blob, `body_offset` in the response's body; None for an output that came as JSON, whose
    value has no byte there. `expected` and `got` are the element's bytes in wire order, as hex: all
    of a number's, of a BYTES element at most 16 from its first differing byte on. The values are
    those of the whole element as people write them, printable ASCII of bounded length.
    """

    output: str
    datatype: str
    element: Count
    offset: Count
    body_offset: Count | None
    expected: str
    got: str
    expected_value: str
    got_value: str


class CauseBase(
    msgspec.Struct, frozen=True, tag_field="kind", tag=_kind, forbid_unknown_fields=True
):
    """What all causes share: `kind` names the type in report.json."""

    @property
    def kind(self) -> str:
        """The name of this type of cause in report.json and in expectation files."""
        return str(self.__struct_config__.tag)


# Status codes and error bodies


class WrongStatus(CauseBase, frozen=True):
    """A response with another status than `expected` ("200", "4xx")."""

    expected: str
    got: int
    body: str


class AcceptedInvalidRequest(CauseBase, frozen=True):
    """A request that must be rejected got a status below 400."""

    status: int
    body: str


class InvalidErrorBody(CauseBase, frozen=True):
    """A rejection whose body is not {"error": string}: `problem` says what it is instead."""

    status: int
    problem: str
    body: str


# Content codings


class UndeclaredCoding(CauseBase, frozen=True):
    """The body seems to be in a content coding that no Content-Encoding names."""

    coding: str


class UnrequestedCoding(CauseBase, frozen=True):
    """The response is in codings that the request does not allow."""

    got: tuple[str, ...]
    allowed: tuple[str, ...]


class BrokenCoding(CauseBase, frozen=True):
    """The body is not in the content coding that Content-Encoding names."""

    coding: str
    problem: str


class NotEncoded(CauseBase, frozen=True):
    """The response came without a content coding, which is allowed, but shows nothing."""


# The response's header length and JSON


class RepeatedHeaderLength(CauseBase, frozen=True):
    """The response has different header lengths."""

    values: tuple[str, ...]


class InvalidHeaderLength(CauseBase, frozen=True):
    """The response's header length is not one plain decimal number."""

    value: str


class HeaderLengthPastBody(CauseBase, frozen=True):
    """The response's header length is larger than its whole body."""

    header_length: int
    body: int


class HeaderLengthMissing(CauseBase, frozen=True):
    """The response carries blobs, or must show a header length, and has none."""


class HeaderLengthUnexpected(CauseBase, frozen=True):
    """The response has a header length, but no blob follows."""

    value: str


class BodyNotJson(CauseBase, frozen=True):
    """Without a header length the whole body must be JSON, and is not."""

    body: int
    problem: str


class HeaderLengthNotJson(CauseBase, frozen=True):
    """The first `header_length` bytes are not exactly one JSON object.

    `object_end` is where an object at the start of the body ends, None if there is none.
    """

    header_length: int
    problem: str
    object_end: int | None


class SchemaViolation(CauseBase, frozen=True):
    """The JSON breaks a schema of the protocol at `path`."""

    schema: str
    path: str
    problem: str


class RepeatedMember(CauseBase, frozen=True):
    """An object of the response's JSON has a member more than once."""

    member: str


class LeftoverBytes(CauseBase, frozen=True):
    """Bytes of the body belong to nothing: it is longer than JSON and declared sizes together."""

    json: int
    blobs: int
    body: int


# Outputs


class TooManyDimensions(CauseBase, frozen=True):
    """An output's shape has absurdly many dimensions."""

    output: str
    dimensions: int


class DataAndSize(CauseBase, frozen=True):
    """An output has both `data` and `binary_data_size`."""

    output: str


class NoDataNoSize(CauseBase, frozen=True):
    """An output has neither `data` nor `binary_data_size`."""

    output: str


class BlobPastBody(CauseBase, frozen=True):
    """An output's declared size goes past the end of the body."""

    output: str
    size: int
    start: int
    body: int


class InvalidTensor(CauseBase, frozen=True):
    """An output's bytes or JSON are not a tensor of its datatype and shape."""

    output: str
    datatype: str
    shape: str
    problem: str


class MissingOutput(CauseBase, frozen=True):
    """An expected output is not in the response."""

    output: str
    got: tuple[str, ...]


class UnrequestedOutputs(CauseBase, frozen=True):
    """The response has outputs that the request does not ask for."""

    outputs: tuple[str, ...]


class WrongForm(CauseBase, frozen=True):
    """An output came in the other form: binary or json."""

    output: str
    expected: str
    got: str


class MixedForms(CauseBase, frozen=True):
    """Outputs that were requested alike came in different forms: `binary` and `json` name them."""

    binary: tuple[str, ...]
    json: tuple[str, ...]


class WrongDatatype(CauseBase, frozen=True):
    """An output has another datatype."""

    output: str
    expected: str
    got: str


class WrongShape(CauseBase, frozen=True):
    """An output has another shape."""

    output: str
    expected: tuple[int, ...]
    got: tuple[int, ...]


class WrongElementCount(CauseBase, frozen=True):
    """A BYTES output has another number of elements."""

    output: str
    expected: int
    got: int


class WrongValue(CauseBase, frozen=True):
    """Elements of a fixed-size datatype differ: `differing` of `elements`."""

    difference: FirstDifference
    elements: int
    differing: int


class WrongBytesElement(CauseBase, frozen=True):
    """A BYTES element differs from its byte `at` on.

    `start` is where the element begins in the response's body, None for an output in JSON form.
    Lengths are in bytes. `expected` and `got` are hex of at most 16 bytes, cut off with "…".
    """

    difference: FirstDifference
    elements: int
    start: int | None
    at: int
    expected_length: int
    got_length: int
    expected: str
    got: str


# What a case asks for by name


class WrongContentType(CauseBase, frozen=True):
    """The response has another Content-Type, or none."""

    expected: str
    got: str | None


class WrongId(CauseBase, frozen=True):
    """The response does not have the request's id; `expected` and `got` as Python literals."""

    expected: str
    got: str


class WrongModelName(CauseBase, frozen=True):
    """The response's `model_name` is not the model's, or, with `got` None, is not there."""

    expected: str
    got: str | None


class MetadataNotJson(CauseBase, frozen=True):
    """The server metadata is not JSON."""

    problem: str


class ExtensionNotListed(CauseBase, frozen=True):
    """The server metadata does not list the extension."""

    extensions: tuple[str, ...]
