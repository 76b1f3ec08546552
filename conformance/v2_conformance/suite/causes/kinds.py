"""The kinds of cause that are about no other cause: a row for each, by family. See `CauseBase`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Literal

from v2_conformance.suite.causes.base import CauseBase, Count, FirstDifference, counted

# A table, so each row is laid out as one block.
# fmt: off

HttpRule = Literal[
    "chunk", "content_length", "content_length_not_allowed", "field_name", "field_value",
    "folded_line", "interim_response", "line_end", "repeated_field", "space_before_colon",
    "status_line", "transfer_coding",
]
"""A rule of RFC 9112 that a response can break."""
_BROKEN_RULES: Mapping[HttpRule, str] = {
    "chunk": "malformed chunk (RFC 9112, section 7.1)",
    "content_length": "Content-Length is not one decimal number",
    "content_length_not_allowed": "Content-Length in a message with a transfer coding or "
    "without a body, or a field in a trailer that frames the message",
    "field_name": "invalid character in the name of a header field",
    "field_value": "control character in the value of a header field",
    "folded_line": "a header field continues on the next line",
    "interim_response": "an interim response has a body, has fields that frame one, or was not "
    "allowed by the client",
    "line_end": "a line ends with LF instead of CRLF",
    "repeated_field": "a header field that may occur only once occurs twice",
    "space_before_colon": "white space between the name of a header field and its colon",
    "status_line": "malformed status line, expected HTTP/1.1 or HTTP/1.0, a space, a status "
    "from 100 to 599, a space and a reason, which may be empty",
    "transfer_coding": "Transfer-Encoding is not one that HTTP/1.1 allows here",
}
_BIT_FOR_BIT = {
    **dict.fromkeys(("INT8", "INT16", "INT32", "INT64"), "D1"),
    **dict.fromkeys(("UINT8", "UINT16", "UINT32", "UINT64"), "D2"),
    "FP32": "D3",
    "FP64": "D5",
    "BOOL": "D6",
    "FP16": "D8",
    "BF16": "D9",
}
"""The requirement about the bytes of each datatype."""
_SHOWN_BY_SIGNS = {"element_count": "O10", "prefixes": "B2", "blob_order": "O12"}

# Passes and readings: what the server did, if it may do several things


class Rejected(CauseBase, frozen=True):
    """rejected with status {status}"""
    status: int

class Accepted(CauseBase, frozen=True):
    """accepted"""

class AnsweredInJson(CauseBase, frozen=True):
    """answered in strict JSON"""

class AnsweredInForm(CauseBase, frozen=True):
    """the server answered in {forms:and} form"""
    forms: tuple[str, ...]

class AnsweredWith(CauseBase, frozen=True):
    """the server answered with {values}"""
    values: str  # the first ones of each output, as people write them

class GeneratedRequests(CauseBase, frozen=True):
    """{count} generated requests[ (seed {seed}, Hypothesis {hypothesis})]"""
    count: int  # those that were answered exactly: all that the server may not decline
    seed: int | None  # no longer set
    hypothesis: str | None

class NotEncoded(CauseBase, frozen=True):
    """the response is not encoded, which is allowed, so it shows nothing about codings"""

class NoErrorToJudge(CauseBase, frozen=True):
    """the server accepted the request with {status}, so there is no error to judge"""
    status: int

class AllKept(CauseBase, frozen=True):
    """held in {judged:the only exchange|all # exchanges}"""
    judged: Count

class NothingObserved(CauseBase, frozen=True):
    """nothing that was sent and answered shows whether this holds"""
    answers: Count

# What a server may decline, which shows nothing

class LengthRequired(CauseBase, frozen=True):
    """answered with 411, which is allowed: a server may require a Content-Length, and the case
    sends its body in chunks: {body:body}"""
    body: str

class ChunksToOldClient(CauseBase, frozen=True):
    """the response is chunked, but the request is HTTP/1.0, whose clients cannot read chunks"""

class VariationDeclined(CauseBase, frozen=True):
    """answered with {status}, which is allowed: a server may refuse the variation {variation}:
    {body:body}"""
    variation: str
    status: int
    body: str

class BodyTooLarge(CauseBase, frozen=True):
    """answered with {status}: a server may limit the size of bodies, and the case sends {size}
    bytes, more than {limit}: {body:body}"""
    size: int  # of a body in a content coding, the larger of the encoded and the decoded size
    limit: int
    body: str
    status: int = 413

# Why a case was not sent, or shows nothing, and what else the server did

class ChangedAnswer(CauseBase, frozen=True):
    """expected {expected} as before, got {got}"""
    stable = ("got",)
    expected: str
    got: str

class Hung(CauseBase, frozen=True):
    """no complete response in {seconds:.1f} s ({received:byte} received), although a known-good
    request after it was answered in {known_good_ms} ms: the server is up, but this request hung"""
    of_path = True
    seconds: float
    received: Count
    known_good_ms: Count

class TimedOutEarly(CauseBase, frozen=True):
    """no complete response in {seconds:.1f} s ({received:byte} received); the run waits no longer,
    because other requests of this kind got no answer"""
    of_path = True
    seconds: float
    received: Count

class OutOfTime(CauseBase, frozen=True):
    """not sent: the time limit of the run, {limit_s:g} s (--max-time), was reached"""
    unsent = True
    limit_s: float

class ExtensionLeftOut(CauseBase, frozen=True):
    """not sent: the server does not implement the extension"""
    unsent = True

class NoResponse(CauseBase, frozen=True):
    """no complete response: {ending} ({detail})"""
    of_path = True
    stable = ("ending",)
    ending: str  # a value of `wire.Ending`
    detail: str

class Unavailable(CauseBase, frozen=True):
    """answered with {status}: the server kept asking the suite to wait[ (Retry-After:
    {retry_after})] until the suite gave up: {body:body}"""
    status: int
    retry_after: str | None
    body: str

class WasDown(CauseBase, frozen=True):
    """answered in the end, but the server had been down: GET /v2/health/live got {liveness}"""
    liveness: str

class KilledBy(CauseBase, frozen=True):
    """not sent: after {case}, known-good requests to {role:or the server} failed, which this case
    needs (--restart-command restarts the server)"""
    unsent = True
    case: str
    role: str | None

class RoleAbsent(CauseBase, frozen=True):
    """no model for the role {role}: {reason}"""
    stable = ("role",)
    role: str
    reason: str

class AnswersDiffer(CauseBase, frozen=True, omit_defaults=True):
    """the model {role:model} gave different answers to the same request ({output})[{floats}; if
    only floats differ slightly, allow it with --rtol, or `atol` in a target file; if only this
    output differs, name the others in `outputs` of the model there]"""
    role: str
    output: str  # where, or what came instead of an answer
    floats: bool = True

class NothingToCompare(CauseBase, frozen=True):
    """well formed, but the model {role:model} gave a malformed answer to its plain request, so
    there are no values to compare with"""
    role: str

class RoundedBesideOthers(CauseBase, frozen=True):
    """floats of the model {role:model} differ in their last places when requests are sent at once,
    as in a batch, so it is not known if answers get mixed up: allow the difference with --rtol,
    such as --rtol 1e-5"""
    role: str

class ModelVersionUnknown(CauseBase, frozen=True):
    """the server does not list exactly one version of the model for {role}"""
    role: str

class ProfileNotClaimed(CauseBase, frozen=True):
    """the profile {profile} is not claimed"""
    profile: str

class DatatypesUnsupported(CauseBase, frozen=True):
    """the target declares {datatypes:commas} unsupported"""
    datatypes: tuple[str, ...]

class CodingsUnsupported(CauseBase, frozen=True):
    """the target declares {codings:commas} unsupported"""
    codings: tuple[str, ...]

class Flooded(CauseBase, frozen=True):
    """not sent: too many answers of the server are far longer than they can need"""
    unsent = True
    limit: int  # bytes more than they can need; one that was cut off counts as at least 8 MiB

class ReadsNoDeeper(CauseBase, frozen=True):
    """the suite does not read JSON this deep: {problem}"""
    problem: str

class NoKnownGoodAnswer(CauseBase, frozen=True):
    """not sent: {role} answered no known-good request: {detail}"""
    unsent = True
    role: str
    detail: str

class NoUsableModel(CauseBase, frozen=True):
    """the server has no model to which generated requests can be sent"""
    unsent = True

class InvalidCase(CauseBase, frozen=True):
    """{problem}"""
    unsent = True
    problem: str

class SuiteError(CauseBase, frozen=True):
    """error in the suite: {error} at {where}"""
    unsent = True
    error: str
    where: str

# No whole response, or one that is badly framed

class ConnectionRefused(CauseBase, frozen=True):
    """cannot connect: {detail}"""
    of_path = True
    detail: str

class TimedOut(CauseBase, frozen=True):
    """{detail} ({seconds:.1f} s, {received:byte} received)"""
    of_path = True
    seconds: float
    received: int
    detail: str

class ConnectionClosed(CauseBase, frozen=True):
    """incomplete response: the connection ended after {received:byte} ({detail})"""
    of_path = True
    received: int
    detail: str

class NotHttp(CauseBase, frozen=True):
    """the response is not HTTP: {detail}"""
    detail: str

class InvalidHttp(CauseBase, frozen=True):
    """the response violates HTTP/1.1: {broken}: {shown:body}"""
    stable = ("rule",)
    rule: HttpRule
    shown: str

    @property
    def broken(self) -> str:
        return _BROKEN_RULES[self.rule]

class ResponseTooLarge(CauseBase, frozen=True):
    """the response is too large: {detail}"""
    detail: str

class ContentLengthTooLong(CauseBase, frozen=True):
    """Content-Length is {content_length}, but the message is complete after {body:byte} of body"""
    body: int
    content_length: str

class BytesAfterResponse(CauseBase, frozen=True):
    """expected nothing after the end of the response, got {count:byte}"""
    count: int

class NoContentLength(CauseBase, frozen=True):
    """expected a Content-Length, got a response delimited by {framing}"""
    stable = ("framing",)
    framing: str

class StrayBytes(CauseBase, frozen=True):
    """expected nothing on the idle connection after the previous response, got {count:byte}"""
    count: Count

class UnannouncedClose(CauseBase, frozen=True):
    """expected Connection: close in the previous response, got none, although the server closed the
    connection within {after_ms} ms"""
    of_path = True
    after_ms: Count

class LeftOpen(CauseBase, frozen=True):
    """expected the connection to end with the answer, got one that stays open"""

class NotContinued(CauseBase, frozen=True):
    """expected 100 Continue or a final status, got nothing in {waited_ms} ms, so the client sent
    the body"""
    waited_ms: Count

# The status and the error

class WrongStatus(CauseBase, frozen=True):
    """expected status {expected}, got {got}: {body:body}"""
    stable = ("got",)
    expected: str  # "200" or "4xx"
    got: int
    body: str

class AcceptedInvalidRequest(CauseBase, frozen=True):
    """expected an error status, but the server accepted the request with {status}: {body:body}"""
    stable = ("status",)
    misleads = True
    status: int
    body: str

class AnsweredExactly(CauseBase, frozen=True):
    """expected an error status, but the server accepted the request with {status}; the values are
    right, so this is only a warning"""
    stable = ("status",)
    lenient = True
    status: int

class InvalidErrorBody(CauseBase, frozen=True):
    """the error body is not {{"error": string}}: {problem} (rejected with status {status}):
    {body:body}"""
    stable = ("status",)
    status: int
    problem: str
    body: str

# Content codings

class UndeclaredCoding(CauseBase, frozen=True):
    """the body looks like {coding}, but no Content-Encoding names it"""
    stable = ("coding",)
    coding: str

class UnrequestedCoding(CauseBase, frozen=True):
    """Content-Encoding is {got:quoted commas}, but the request allows {allowed:or no coding}"""
    stable = ("got",)
    got: tuple[str, ...]
    allowed: tuple[str, ...]

class BrokenCoding(CauseBase, frozen=True):
    """Content-Encoding is {coding}, but the body is not: {problem}"""
    stable = ("coding",)
    coding: str
    problem: str

# The header length and the JSON

class RepeatedHeaderLength(CauseBase, frozen=True):
    """expected one {HEADER_LENGTH}, got {values:size}: {values:list}"""
    values: tuple[str, ...]

class InvalidHeaderLength(CauseBase, frozen=True):
    """expected {HEADER_LENGTH} to be a decimal number, got '{value}'"""
    value: str

class HeaderLengthPastBody(CauseBase, frozen=True):
    """expected {HEADER_LENGTH} to be at most {body}, the length of the body, got {header_length}"""
    header_length: int
    body: int

class HeaderLengthMissing(CauseBase, frozen=True):
    """the response has no {HEADER_LENGTH} header"""

class HeaderLengthUnexpected(CauseBase, frozen=True):
    """expected no {HEADER_LENGTH}, because no blob follows the JSON, got '{value}'"""
    value: str

class BodyNotJson(CauseBase, frozen=True):
    """the body ({body:byte}) is not JSON, as it must be without {HEADER_LENGTH}: {problem}"""
    body: int
    problem: str

class BodyNotUtf8(CauseBase, frozen=True):
    """the body ({body:byte}) would be JSON, but is not UTF-8 at byte {at}"""
    body: int
    at: int

class HeaderLengthNotJson(CauseBase, frozen=True):
    """expected exactly one JSON object in the first {header_length:byte}, which {HEADER_LENGTH}
    counts: {problem}[ (an object ends after {object_end:byte})]"""
    header_length: int
    problem: str
    object_end: int | None

class SchemaViolation(CauseBase, frozen=True):
    """the JSON violates the {schema} schema at {path}: {problem}"""
    stable = ("schema", "path")
    schema: str
    path: str
    problem: str

class RepeatedMember(CauseBase, frozen=True):
    """an object in the response's JSON has the member '{member}' more than once"""
    member: str

class LeftoverBytes(CauseBase, frozen=True, omit_defaults=True):
    """{surplus} expected {declared} bytes (JSON {json} + blobs {blobs}), got {body}"""
    json: int
    blobs: int
    body: int
    newline: Literal["behind_json", "at_end"] | None = None  # where, if 0x0A is all that is left

    @property
    def declared(self) -> int:
        return self.json + self.blobs

    @property
    def surplus(self) -> str:
        if self.newline is None:
            return f"{counted(self.body - self.declared, 'byte')} left over:"
        if self.newline == "at_end":
            return "a newline (0x0a) at the end of the body;"
        not_counted = f"{self.HEADER_LENGTH} does not count it, so every blob is shifted"
        return f"a newline (0x0a) after the JSON: {not_counted};"

    @property
    def shows(self) -> str | None:
        return "P5" if self.newline == "behind_json" else None

# What a case asks for by name

class WrongField(CauseBase, frozen=True):
    """expected {name} {expected}, got {got:none}"""
    telling = True
    name: str  # of any header field
    expected: str  # its value, or a rule that the value breaks: "without leading zeros"
    got: str | None

class WrongContentType(CauseBase, frozen=True):
    """expected Content-Type {expected}, got {got:quoted}"""
    expected: str
    got: str | None

class WrongId(CauseBase, frozen=True):
    """expected {expected:the id}, got {got:id}"""
    expected: str  # a Python literal, None for no id
    got: str

class WrongModelName(CauseBase, frozen=True):
    """expected the model_name '{expected}', got {got:quoted}"""
    expected: str
    got: str | None

class WrongModelVersion(CauseBase, frozen=True):
    """expected the model_version '{expected}', which the path names, got '{got}'"""
    expected: str
    got: str

class ReadingsDiffer(CauseBase, frozen=True):
    """expected one reading of a request, however it is written, got several: {readings:list}"""
    readings: tuple[str, ...]

class MetadataNotJson(CauseBase, frozen=True):
    """the server metadata is not JSON: {problem}"""
    problem: str

class ExtensionNotListed(CauseBase, frozen=True):
    """expected '{EXTENSION}' in `extensions`, got {extensions:list}"""
    extensions: tuple[str, ...]

# Outputs

class TooManyDimensions(CauseBase, frozen=True):
    """{output} has a shape of {dimensions} dimensions"""
    output: str
    dimensions: int

class DataAndSize(CauseBase, frozen=True):
    """{output} has both `data` and `binary_data_size`"""
    output: str

class NoDataNoSize(CauseBase, frozen=True):
    """{output} has no `binary_data_size`, and its `data` is absent or null"""
    output: str

class BlobPastBody(CauseBase, frozen=True):
    """{output} declares {size:byte} from byte {start}, but the body ends after {body:byte}"""
    output: str
    size: int
    start: int
    body: int

class InvalidTensor(CauseBase, frozen=True, omit_defaults=True):
    """{output} {datatype} {shape}: {problem}"""
    counts_as = "wrong_value"
    output: str
    datatype: str
    shape: str
    problem: str
    # What the bytes or the JSON may be instead: elements of another size, another number of them,
    # BYTES without lengths, or blobs in another order than their outputs.
    sign: Literal["element_size", "element_count", "prefixes", "blob_order"] | None = None

    @property
    def shows(self) -> str | None:
        if self.sign == "element_size":
            return _BIT_FOR_BIT.get(self.datatype)
        return _SHOWN_BY_SIGNS.get(self.sign or "")

class MissingOutput(CauseBase, frozen=True):
    """expected {output}, got {got:list}"""
    stable = ("output",)
    shows = "O13"
    output: str
    got: tuple[str, ...]

class UnrequestedOutputs(CauseBase, frozen=True):
    """the response has outputs that were not requested: {outputs:list}"""
    outputs: tuple[str, ...]

class WrongForm(CauseBase, frozen=True):
    """{output}: expected {expected} form, got {got} form"""
    stable = ("got",)
    output: str
    expected: str
    got: str

class MixedForms(CauseBase, frozen=True):
    """expected all outputs in one form, because they were requested alike, got {binary:list} in
    binary form and {json:list} in JSON form"""
    binary: tuple[str, ...]
    json: tuple[str, ...]

class WrongDatatype(CauseBase, frozen=True):
    """{output}: expected datatype {expected}, got {got}"""
    stable = ("got",)
    misleads = True
    output: str
    expected: str
    got: str

class WrongShape(CauseBase, frozen=True):
    """{output}: expected shape {expected:shape}, got {got:shape}"""
    stable = ("got",)
    misleads = True
    output: str
    expected: tuple[int, ...]
    got: tuple[int, ...]

class WrongElementCount(CauseBase, frozen=True):
    """{output} BYTES: expected {expected:element}, got {got}"""
    counts_as = "wrong_value"
    misleads = True
    output: str
    expected: int
    got: int

class WrongElements(CauseBase, frozen=True):
    """Elements of an output differ, of which `difference` is the first: the base of two rows."""
    counts_as = "wrong_value"
    difference: FirstDifference
    elements: int

class WrongValue(WrongElements, frozen=True, omit_defaults=True):
    """{difference.output} {difference.datatype}: [off by little, which --rtol {rtol:g} allows:
    ]{sign}element {difference.element} of {elements}[ (byte {difference.offset} of its blob, byte
    {difference.body_offset} of the body)]: expected {difference.expected}
    ({difference.expected_value}), got {difference.got} ({difference.got_value}), bytes in wire
    order; {differing:1 element differs|# elements differ}"""
    differing: int
    column_major: bool = False  # they are the right ones in column-major order
    rtol: float | None = None  # which would allow it, if that is little

    @property
    def sign(self) -> str:
        return self._look[1]

    @property
    def shows(self) -> str | None:
        return self._look[0]

    @property
    def _look(self) -> tuple[str | None, str]:
        """The requirement that the elements show by themselves, and how."""
        first = self.difference
        if self.column_major:
            return "D10", "the elements are the right ones in column-major order: "
        if first.datatype == "BOOL" and not {first.expected, first.got} <= {"00", "01"}:
            return "D6", "true is byte 1, and false byte 0: "
        pairs = [first.expected[n : n + 2] for n in range(0, len(first.expected), 2)]
        if len(pairs) > 1 and "".join(reversed(pairs)) == first.got:
            return _BIT_FOR_BIT.get(first.datatype), "the bytes are in big-endian order: "
        if first.datatype in ("INT64", "UINT64"):
            one, other = first.expected_value, first.got_value
            with suppress(ValueError, OverflowError):
                if other == str(int(float(one))) or one == str(int(float(other))):
                    return "D15", "an integer was rounded to a double: "
        return None, ""

class WrongBytesElement(WrongElements, frozen=True):
    """{difference.output} BYTES: element {difference.element} of {elements}[ (from byte {start} of
    the body)], {expected_length:byte}, came with {got_length}; from its byte {at}: expected
    {expected}, got {got}"""
    start: int | None  # where the element begins in the body, None for an output in JSON form
    at: int
    expected_length: int
    got_length: int
    expected: str  # hex of at most 16 bytes, cut off with "…"
    got: str
