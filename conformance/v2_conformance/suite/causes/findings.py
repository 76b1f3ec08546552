"""What a response can break: one type for each finding, with its numbers and words.

What is wrong with an output is in `output_findings`.
"""

from __future__ import annotations

from v2_conformance.protocol.names import EXTENSION, HEADER_LENGTH
from v2_conformance.suite.causes.cause_base import CauseBase, body_words, counted, listed

# Status codes and error bodies


class WrongStatus(CauseBase, frozen=True):
    """A response with another status than `expected` ("200", "4xx")."""

    stable = ("got",)
    expected: str
    got: int
    body: str

    def words(self) -> str:
        return f"expected status {self.expected}, got {self.got}: {body_words(self.body)}"


class AcceptedInvalidRequest(CauseBase, frozen=True):
    """A request that must be rejected got a status below 400."""

    stable = ("status",)
    status: int
    body: str

    def words(self) -> str:
        return (
            f"expected an error status, but the server accepted the request with {self.status}: "
            f"{body_words(self.body)}"
        )


class InvalidErrorBody(CauseBase, frozen=True):
    """A rejection whose body is not {"error": string}: `problem` says what it is instead."""

    stable = ("status",)
    status: int
    problem: str
    body: str

    def words(self) -> str:
        return (
            f'rejected with status {self.status}, but the body is not {{"error": string}}: '
            f"{self.problem}: {body_words(self.body)}"
        )


# Content codings


class UndeclaredCoding(CauseBase, frozen=True):
    """The body seems to be in a content coding that no Content-Encoding names."""

    stable = ("coding",)
    coding: str

    def words(self) -> str:
        return f"the body seems to be in {self.coding}, but no Content-Encoding says so"


class UnrequestedCoding(CauseBase, frozen=True):
    """The response is in codings that the request does not allow."""

    stable = ("got",)
    got: tuple[str, ...]
    allowed: tuple[str, ...]

    def words(self) -> str:
        allowed = f"allows {' or '.join(self.allowed)}" if self.allowed else "asked for no coding"
        return f"Content-Encoding is {', '.join(self.got)!a}, but the request {allowed}"


class BrokenCoding(CauseBase, frozen=True):
    """The body is not in the content coding that Content-Encoding names."""

    stable = ("coding",)
    coding: str
    problem: str

    def words(self) -> str:
        return f"Content-Encoding is {self.coding}, but the body is not: {self.problem}"


class NotEncoded(CauseBase, frozen=True):
    """The response came without a content coding, which is allowed, but shows nothing."""

    def words(self) -> str:
        return "a server need not encode a response, and this one came without a coding"


# The response's header length and JSON


class RepeatedHeaderLength(CauseBase, frozen=True):
    """The response has different header lengths."""

    values: tuple[str, ...]

    def words(self) -> str:
        return f"the message has {HEADER_LENGTH} {len(self.values)} times: {listed(self.values)}"


class InvalidHeaderLength(CauseBase, frozen=True):
    """The response's header length is not one plain decimal number."""

    value: str

    def words(self) -> str:
        return f"{HEADER_LENGTH} is '{self.value}', not a decimal number"


class HeaderLengthPastBody(CauseBase, frozen=True):
    """The response's header length is larger than its whole body."""

    header_length: int
    body: int

    def words(self) -> str:
        return (
            f"{HEADER_LENGTH} is {self.header_length}, but the whole body has "
            f"{counted(self.body, 'byte')}: the JSON cannot be longer than the body"
        )


class HeaderLengthMissing(CauseBase, frozen=True):
    """The response carries blobs, or must show a header length, and has none."""

    def words(self) -> str:
        return f"the response has no {HEADER_LENGTH} header"


class HeaderLengthUnexpected(CauseBase, frozen=True):
    """The response has a header length, but no blob follows."""

    value: str

    def words(self) -> str:
        return f"{HEADER_LENGTH} is '{self.value}', but no blob follows the JSON"


class BodyNotJson(CauseBase, frozen=True):
    """Without a header length the whole body must be JSON, and is not."""

    body: int
    problem: str

    def words(self) -> str:
        return (
            f"without {HEADER_LENGTH} the whole body ({counted(self.body, 'byte')}) must be JSON, "
            f"but it is not: {self.problem}"
        )


class HeaderLengthNotJson(CauseBase, frozen=True):
    """The first `header_length` bytes are not exactly one JSON object.

    `object_end` is where an object at the start of the body ends, None if there is none.
    """

    header_length: int
    problem: str
    object_end: int | None

    def words(self) -> str:
        end = self.object_end
        hint = "" if end is None else f" (an object ends after {counted(end, 'byte')})"
        return (
            f"{HEADER_LENGTH} says that the JSON is the first "
            f"{counted(self.header_length, 'byte')}, but they are not exactly one JSON object: "
            f"{self.problem}{hint}"
        )


class SchemaViolation(CauseBase, frozen=True):
    """The JSON breaks a schema of the protocol at `path`."""

    stable = ("schema", "path")
    schema: str
    path: str
    problem: str

    def words(self) -> str:
        return f"the JSON breaks the {self.schema} schema at {self.path}: {self.problem}"


class RepeatedMember(CauseBase, frozen=True):
    """An object of the response's JSON has a member more than once."""

    member: str

    def words(self) -> str:
        return f"an object of the response's JSON has the member '{self.member}' more than once"


class LeftoverBytes(CauseBase, frozen=True):
    """Bytes of the body belong to nothing: it is longer than JSON and declared sizes together."""

    json: int
    blobs: int
    body: int

    def words(self) -> str:
        return (
            f"{counted(self.body - self.json - self.blobs, 'byte')} left over: JSON {self.json} + "
            f"sizes {self.blobs} = {self.json + self.blobs}, but the body has {self.body}"
        )


# What a case asks for by name


class WrongContentType(CauseBase, frozen=True):
    """The response has another Content-Type, or none."""

    expected: str
    got: str | None

    def words(self) -> str:
        return (
            f"expected Content-Type {self.expected}, got "
            f"{'none' if self.got is None else repr(self.got)}"
        )


class WrongId(CauseBase, frozen=True):
    """The response does not have the request's id; `expected` and `got` as Python literals."""

    expected: str
    got: str

    def words(self) -> str:
        return f"expected the id {self.expected}, got {self.got}"


class WrongModelName(CauseBase, frozen=True):
    """The response's `model_name` is not the model's, or, with `got` None, is not there."""

    expected: str
    got: str | None

    def words(self) -> str:
        return (
            f"expected the model_name '{self.expected}', got "
            f"{'none' if self.got is None else repr(self.got)}"
        )


class MetadataNotJson(CauseBase, frozen=True):
    """The server metadata is not JSON."""

    problem: str

    def words(self) -> str:
        return f"the server metadata is not JSON: {self.problem}"


class ExtensionNotListed(CauseBase, frozen=True):
    """The server metadata does not list the extension."""

    extensions: tuple[str, ...]

    def words(self) -> str:
        return f"expected '{EXTENSION}' in `extensions`, got {listed(self.extensions)}"
