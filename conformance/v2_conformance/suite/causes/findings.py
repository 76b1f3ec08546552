"""Mistakes in responses: one type for each finding, with its numbers and words.

Those in an output are in `output_findings`.
"""

from __future__ import annotations

from typing import Literal

from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.causes.base import CauseBase, counted, listed

WRONG_ERROR_STATUS = "wrong_error_status"

# Status codes and error bodies


class WrongStatus(CauseBase, frozen=True):
    """A response with another status than `expected` ("200", "4xx")."""

    says = "expected status {expected}, got {got}: {body:body}"
    stable = ("got",)
    expected: str
    got: int
    body: str

    @property
    def finding_kind(self) -> str:
        """Tell an error of another status than an error should have from a refused request."""
        other_error = self.expected != "200" and self.got >= 400
        return WRONG_ERROR_STATUS if other_error else self.kind


class AcceptedInvalidRequest(CauseBase, frozen=True):
    """A request that must be rejected got a status below 400."""

    says = (
        "expected an error status, but the server accepted the request with {status}: {body:body}"
    )
    stable = ("status",)
    misleads = True
    status: int
    body: str


class AnsweredExactly(CauseBase, frozen=True):
    """A request that must be rejected got the exact answer to what one reading of it declares."""

    says = (
        "expected an error status, but the server accepted the request with {status}; the answer "
        "is exact, so nothing was made up, and the rejection is a SHOULD"
    )
    stable = ("status",)
    status: int

    @property
    def lenient(self) -> bool:
        return True


class InvalidErrorBody(CauseBase, frozen=True):
    """A rejection whose body is not {"error": string}: `problem` says what it is instead."""

    says = (
        'the error body is not {{"error": string}}: {problem} (rejected with status {status}): '
        "{body:body}"
    )
    stable = ("status",)
    status: int
    problem: str
    body: str


# Content codings


class UndeclaredCoding(CauseBase, frozen=True):
    """The body seems to be in a content coding that no Content-Encoding names."""

    says = "the body looks like {coding}, but no Content-Encoding names it"
    stable = ("coding",)
    coding: str


class UnrequestedCoding(CauseBase, frozen=True):
    """The response is in codings that the request does not allow."""

    stable = ("got",)
    got: tuple[str, ...]
    allowed: tuple[str, ...]

    def words(self) -> str:
        allowed = f"allows {' or '.join(self.allowed)}" if self.allowed else "allows no coding"
        return f"Content-Encoding is {', '.join(self.got)!a}, but the request {allowed}"


class BrokenCoding(CauseBase, frozen=True):
    """The body is not in the content coding that Content-Encoding names."""

    says = "Content-Encoding is {coding}, but the body is not: {problem}"
    stable = ("coding",)
    coding: str
    problem: str


class NotEncoded(CauseBase, frozen=True):
    """The response came without a content coding, which is allowed, but shows nothing."""

    says = "the response is not encoded, which is allowed, so it shows nothing about codings"


# The response's header length and JSON


class RepeatedHeaderLength(CauseBase, frozen=True):
    """The response has different header lengths."""

    values: tuple[str, ...]

    def words(self) -> str:
        return f"expected one {HEADER_LENGTH}, got {len(self.values)}: {listed(self.values)}"


class InvalidHeaderLength(CauseBase, frozen=True):
    """The response's header length is not one plain decimal number."""

    says = "expected {HEADER_LENGTH} to be a decimal number, got '{value}'"
    value: str


class HeaderLengthPastBody(CauseBase, frozen=True):
    """The response's header length is larger than its whole body."""

    says = (
        "expected {HEADER_LENGTH} to be at most {body}, the length of the body, got {header_length}"
    )
    header_length: int
    body: int


class HeaderLengthMissing(CauseBase, frozen=True):
    """The response carries blobs, or must show a header length, and has none."""

    says = "the response has no {HEADER_LENGTH} header"


class HeaderLengthUnexpected(CauseBase, frozen=True):
    """The response has a header length, but no blob follows."""

    says = "expected no {HEADER_LENGTH}, because no blob follows the JSON, got '{value}'"
    value: str


class BodyNotJson(CauseBase, frozen=True):
    """Without a header length the whole body must be JSON, and is not."""

    says = "the body ({body:byte}) is not JSON, as it must be without {HEADER_LENGTH}: {problem}"
    body: int
    problem: str


class BodyNotUtf8(CauseBase, frozen=True):
    """Without a header length the whole body must be JSON, and only its encoding is not."""

    says = "the body ({body:byte}) would be JSON, but is not UTF-8 at byte {at}"
    body: int
    at: int


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
            f"expected exactly one JSON object in the first {counted(self.header_length, 'byte')}, "
            f"which {HEADER_LENGTH} counts: {self.problem}{hint}"
        )


class SchemaViolation(CauseBase, frozen=True):
    """The JSON breaks a schema of the protocol at `path`."""

    says = "the JSON violates the {schema} schema at {path}: {problem}"
    stable = ("schema", "path")
    schema: str
    path: str
    problem: str


class RepeatedMember(CauseBase, frozen=True):
    """An object of the response's JSON has a member more than once."""

    says = "an object in the response's JSON has the member '{member}' more than once"
    member: str


class LeftoverBytes(CauseBase, frozen=True, omit_defaults=True):
    """Bytes of the body belong to nothing: it is longer than JSON and declared sizes together.

    `newline` says that the only one is 0x0A, and where: after the JSON or at the end of the body.
    """

    json: int
    blobs: int
    body: int
    newline: Literal["behind_json", "at_end"] | None = None

    @property
    def shows(self) -> str | None:
        return "P5" if self.newline == "behind_json" else None

    def words(self) -> str:
        declared = self.json + self.blobs
        if self.newline is not None:
            counted_not = f"{HEADER_LENGTH} does not count it, so every blob is shifted"
            where = f"after the JSON: {counted_not}"
            if self.newline == "at_end":
                where = "at the end of the body"
            return (
                f"a newline (0x0a) {where}; expected {declared} bytes (JSON {self.json} + blobs "
                f"{self.blobs}), got {self.body}"
            )
        return (
            f"{counted(self.body - declared, 'byte')} left over: expected {declared} bytes "
            f"(JSON {self.json} + blobs {self.blobs}), got {self.body}"
        )


# What a case asks for by name


class WrongContentType(CauseBase, frozen=True):
    """The response has another Content-Type, or none."""

    says = "expected Content-Type {expected}, got {got:quoted}"
    expected: str
    got: str | None


class WrongId(CauseBase, frozen=True):
    """The response does not have the request's id; `expected` and `got` as Python literals, None
    for no id."""

    expected: str
    got: str

    def words(self) -> str:
        wanted, got = ("no id" if one == "None" else one for one in (self.expected, self.got))
        return f"expected {'' if wanted == 'no id' else 'the id '}{wanted}, got {got}"


class WrongModelName(CauseBase, frozen=True):
    """The response's `model_name` is not the model's, or, with `got` None, is not there."""

    says = "expected the model_name '{expected}', got {got:quoted}"
    expected: str
    got: str | None


class MetadataNotJson(CauseBase, frozen=True):
    """The server metadata is not JSON."""

    says = "the server metadata is not JSON: {problem}"
    problem: str


class ExtensionNotListed(CauseBase, frozen=True):
    """The server metadata does not list the extension."""

    says = "expected '{EXTENSION}' in `extensions`, got {extensions:list}"
    extensions: tuple[str, ...]
