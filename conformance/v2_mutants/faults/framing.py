"""Faults of discovery and framing (P) and of the header length of requests (H)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer, check_blob, to_values
from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs, Request, Response
from v2_conformance.reference.request_reader import RequestInput
from v2_mutants.faults.shared import (
    MAX_MADE_UP,
    CrashingServer,
    all_zeros,
    ends_server,
    has_blobs,
    is_chunked,
    resize,
)
from v2_mutants.registry import Right, What, fault, refuses, then


def _has_blobs(response: Response) -> bool:
    return len(response.body) > 1


fault("extension-not-listed", "P1", Behavior.extensions)(
    "GET /v2 does not list binary_tensor_data.", lambda right: []
)
fault("header-length-refused", "P2", Behavior.infer)(
    "A request with a header length is rejected.",
    refuses(lambda model, request: bool(request.values(HEADER_LENGTH)), 415),
)
fault("blobs-read-as-zeros", "P2", Behavior.read_request)(
    "Blobs are accepted and ignored: their tensors are zeros.",
    then(
        lambda inference, model, request, length: (
            all_zeros(inference) if has_blobs(request) else inference
        )
    ),
)


@fault("request-blobs-off-by-one", "P2", Behavior.split_body)
def _(
    right: Right[tuple[memoryview, Blobs]], request: Request, length: int | None
) -> tuple[memoryview, Blobs]:
    """Request blobs are read starting one byte after the end of the JSON."""
    text, blobs = right()
    view = memoryview(resize(blobs.view[1:], len(blobs.view)))
    return text, replace(blobs, view=view)


fault("response-header-length-missing", "P3", Behavior.response_header_length)(
    "A response with blobs has no Inference-Header-Content-Length.", lambda right, text, blobs: None
)
fault("binary-response-typed-json", "P4", Behavior.binary_content_type)(
    "A response with blobs has the Content-Type application/json.", lambda right: JSON_TYPE
)
fault("response-header-length-of-body", "P5", Behavior.response_header_length)(
    "The header length of a response counts the whole body, including the blobs.",
    lambda right, text, blobs: str(len(text) + sum(map(len, blobs))),
)
fault("response-header-length-short", "P5", Behavior.response_header_length)(
    "The header length of a response is one byte too small.",
    lambda right, text, blobs: str(len(text) - 1),
)


@fault.several("content-length-too-large", "P6")
class _ContentLengthTooLarge(Behavior):
    """The Content-Length of a response with blobs is four bytes larger than its body."""

    def content_length(self, response: Response) -> int:
        return super().content_length(response) + 4 * _has_blobs(response)

    def keeps_open(self, request: Request, response: Response) -> bool:
        # Otherwise the client would only see a timeout.
        return super().keeps_open(request, response) and not _has_blobs(response)


fault("response-blobs-padded", "P8", Behavior.response_body)(
    "Response blobs are padded to multiples of 8 bytes; their sizes do not count the padding.",
    lambda right, text, blobs: (text, *(resize(blob, -(-len(blob) // 8) * 8) for blob in blobs)),
)
fault("json-response-with-nan", "P9", Behavior.output_data)(
    "Non-finite floats are written to JSON as NaN and Infinity.",
    lambda right, tensor: (
        to_values(tensor.datatype, tensor.blob)
        if tensor.datatype in ("FP16", "BF16", "FP32", "FP64")
        else right()
    ),
)
fault("json-response-latin-1", "P9", Behavior.dump_document)(
    "The JSON of a response is encoded in Latin-1, not in UTF-8.",
    lambda right, document: right().decode().encode("latin-1", "replace"),
)
fault("response-header-length-counts-characters", "P10", Behavior.response_header_length)(
    "The header length of a response counts characters, not bytes.",
    lambda right, text, blobs: str(len(text.decode())),
)

for _name, _text, _of in (
    ("leading-white-space-refused", "A request with white space before its JSON is rejected.",
     lambda text: bytes(text[:1]) != b"{"),
    ("trailing-white-space-refused", "A request with white space after its JSON is rejected.",
     lambda text: bytes(text[-1:]) != b"}"),
):  # fmt: skip
    fault(_name, "P11", Behavior.parse_document)(_text, refuses(_of))

fault("octet-stream-hides-json-data", "P12", Behavior.read_request)(
    "In a request without blobs typed application/octet-stream, JSON data is read as zeros.",
    then(
        lambda inference, model, request, length: (
            all_zeros(inference)
            if OCTET_STREAM in request.values("Content-Type") and not has_blobs(request)
            else inference
        )
    ),
)
fault("octet-stream-refused", "P12", Behavior.infer)(
    "A request with the Content-Type application/octet-stream is rejected.",
    refuses(lambda model, request: OCTET_STREAM in request.values("content-type"), 415),
)

_HUGE = 2**31


def guess_json_end(body: Buffer) -> int | None:
    """Where the JSON object at the start of `body` ends, found by parsing it; None if it fails."""
    text = str(body, "latin-1")  # one character for each byte, whatever follows the JSON
    start = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except ValueError:
        return None


def _is_blank(data: Buffer) -> bool:
    """Return True if `data` is nothing but JSON white space."""
    return not bytes(data).strip(b" \t\r\n")


def _header_lines(request: Request) -> list[tuple[str, str]]:
    """Header names in their original case, and values with the white space around them."""
    lines = request.head.decode("latin-1").replace("\r\n", "\n").split("\n")[1:]
    pairs = [line.partition(":") for line in lines if line]
    return [(name, value) for name, _, value in pairs]


def _has_non_number(values: Sequence[str]) -> bool:
    return any(not re.match("-?[0-9]", value) or value.lower().startswith("0x") for value in values)


def _has_negative(values: Sequence[str]) -> bool:
    return any(re.fullmatch("-[0-9]+", value) for value in values)


def _has_huge(values: Sequence[str]) -> bool:
    huge = [value for value in values if re.fullmatch("[0-9]{10,}", value)]
    return any(len(value) > 18 or int(value) >= _HUGE for value in huge)


def _is_off_by_one(values: Sequence[str], body: Buffer) -> bool:
    end = guess_json_end(body)
    if end is None or len(values) != 1 or values[0] not in (str(end - 1), str(end + 1)):
        return False
    return not _is_blank(body[end : int(values[0])] or b"x")


_FOUND = -1  # in place of a header length


def _zeros_if(applies: Callable[[Sequence[str], Buffer], bool]) -> type[Behavior]:
    """A server that finds the end of the JSON itself and reads zeros behind it, if `applies` to the
    values of the header and to the body."""

    class ReadsZeros(Behavior):
        def header_length(self, request: Request) -> int | None:
            values = self.header_length_values(request)
            result = has_blobs(request) and applies(values, request.body)
            return _FOUND if result else super().header_length(request)

        def split_body(self, request: Request, length: int | None) -> tuple[memoryview, Blobs]:
            if length != _FOUND:
                return super().split_body(request, length)
            text, blobs = super().split_body(request, guess_json_end(request.body) or 0)
            return text, replace(blobs, view=memoryview(bytes(len(blobs.view))))

    return ReadsZeros


class _BlobsFromEnd(Blobs):
    """Blobs that are addressed from the end of the body."""


class _MissingBlobsAreZeros(Behavior):
    """A server that reads blobs as zeros if the header length leaves none."""

    def split_body(self, request: Request, length: int | None) -> tuple[memoryview, Blobs]:
        text, blobs = super().split_body(request, length)
        end = guess_json_end(text) if length is not None and not len(blobs.view) else None
        if end is None or _is_blank(text[end:]):
            return text, blobs
        return text[:end], replace(blobs, view=memoryview(bytes(len(text) - end)))

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        if not len(blobs.view) and size <= MAX_MADE_UP:
            return memoryview(bytes(size))
        return super().slice_blob(entry, blobs, offset, size)


fault("header-length-ignored", "H1", Behavior.json_end)(
    "The header length is ignored: the whole body is read as JSON.",
    lambda right, body, length: len(body),
)
fault("header-name-case-sensitive", "H2", Behavior.header_length_values)(
    "The header length is only recognized if its name is spelled exactly as in the documents.",
    lambda right, request: [
        value.strip() for name, value in _header_lines(request) if name == HEADER_LENGTH
    ],
)


@fault.several("negative-header-length-slices", "H4")
class _NegativeHeaderLengthSlices(Behavior):
    """A negative header length counts from the end of the body, as in a Python slice."""

    def parse_header_length(self, text: str) -> int:
        if re.fullmatch("-[1-9][0-9]{0,8}", text):
            return int(text)
        return super().parse_header_length(text)

    def json_end(self, body: memoryview, length: int) -> int:
        if length < 0:
            return max(len(body) + length, 0)
        return super().json_end(body, length)


class _NegativeHeaderLengthFromEnd(Behavior):
    """A negative header length counts from the end of the body, where blobs are sought, too."""

    def parse_header_length(self, text: str) -> int:
        if re.fullmatch("-[1-9][0-9]{0,8}", text):
            return int(text)
        return super().parse_header_length(text)

    def split_body(self, request: Request, length: int | None) -> tuple[memoryview, Blobs]:
        if length is None or length >= 0:
            return super().split_body(request, length)
        return request.body[:length], _BlobsFromEnd(request.body[length:])

    def binary_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        check_blob(entry.spec.datatype, entry.shape, blob)
        return super().binary_blob(entry, blob)

    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        if not isinstance(blobs, _BlobsFromEnd):
            super().check_all_read(blobs, offset)


@fault.several("negative-header-length-indexes", "H4")
class _NegativeHeaderLengthIndexes(_NegativeHeaderLengthFromEnd):
    """A negative header length is used as an index from the end, and so are blobs' offsets."""

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        if not isinstance(blobs, _BlobsFromEnd):
            return super().slice_blob(entry, blobs, offset, size)
        # As Python slices: a blob that ends with the body ends at index 0, and is empty.
        return blobs.view[offset : offset + size if offset + size < len(blobs.view) else 0]


@fault.several("header-length-clamped", "H5")
class _HeaderLengthClamped(_MissingBlobsAreZeros):
    """With a header length larger than the body, the declared blobs are read as zeros."""

    def json_end(self, body: memoryview, length: int) -> int:
        return min(length, len(body)) if length < _HUGE else super().json_end(body, length)


fault("overlong-header-length-in-chunks-guessed", "H5", Behavior.header_length)(
    "If the header length is larger than a chunked body, the end of the JSON is guessed.",
    then(
        lambda length, request: (
            length
            if length is None or not is_chunked(request) or not len(request.body) < length < _HUGE
            else guess_json_end(request.body)
        )
    ),
)
fault("non-numeric-header-length-raw", "H6", Behavior.header_length)(
    "A header length that is not a number is read as 0, which makes the request raw.",
    lambda right, request: (
        0 if _has_non_number(right.server.header_length_values(request)) else right()
    ),
)
fault("huge-header-length-crashes", "H7", Behavior.header_length, base=CrashingServer)(
    "A header length of 2^31 or more crashes the server: it accepts no more connections.",
    ends_server(lambda request: _has_huge(request.values(HEADER_LENGTH))),
)


@fault("header-length-trailing-junk-ignored", "H8", Behavior.parse_header_length)
def _(right: Right[int], text: str) -> int:
    """Anything after the digits of a header length is ignored."""
    match = re.match("[0-9]+", text)
    return right(match[0] if match else text)


fault("header-length-prefix-half-read", "H9", Behavior.parse_document)(
    "The JSON is read to the end of its object; the rest of the header length is ignored.",
    lambda right, text: right(text[: guess_json_end(text)]),
)


@fault.several("whole-body-header-length-zero-blobs", "H10")
class _WholeBodyHeaderLengthZeroBlobs(_MissingBlobsAreZeros):
    """If the header length is that of the whole body, the declared blobs are read as zeros."""


for _name, _requirement, _text, _applies in (
    ("missing-header-length-zero-blobs", "H3", "Without a header length",
     lambda values, body: not values),
    ("negative-header-length-zero-blobs", "H4", "With a negative header length",
     lambda values, body: _has_negative(values)),
    ("non-numeric-header-length-zero-blobs", "H6", "With a header length that is not a number",
     lambda values, body: _has_non_number(values)),
    ("header-length-off-by-one-zero-blobs", "H9", "With a header length that is off by one",
     _is_off_by_one),
):  # fmt: skip
    fault.several(_name, _requirement, f"{_text}, the declared blobs are read as zeros.")(
        _zeros_if(_applies)
    )

fault("header-length-without-blobs-hides-data", "H11", Behavior.read_request)(
    "If a request without blobs has a header length, its JSON data is read as zeros.",
    then(
        lambda inference, model, request, length: (
            inference if length is None or has_blobs(request) else all_zeros(inference)
        )
    ),
)
fault("first-header-length-wins", "H12", Behavior.conflicting_lengths)(
    "If header lengths conflict, the first one is used.",
    lambda right, values: right.server.parse_header_length(values[0]),
)


@fault("header-length-white-space-refused", "H13", Behavior.header_length_values)
def _(right: Right[list[str]], request: Request) -> list[str]:
    """White space around the header length is rejected, except for one space before it."""
    name = HEADER_LENGTH.lower()
    values = [value for key, value in _header_lines(request) if key.lower() == name]
    return [value.removeprefix(" ") for value in values]


def _reads(pattern: str, read: Callable[[str], int]) -> What[int]:
    """A server that reads a value of this pattern as `read` does."""
    return lambda right, text: read(text) if re.fullmatch(pattern, text) else right()


def _digits(text: str) -> int:
    """The number that decimal digits of any script make, as Python's int() does."""
    return int(text.encode("latin-1").decode())


for _name, _text, _pattern, _read in (
    ("plus", "with a plus sign", r"\+[0-9]+", int),
    ("hexadecimal", "in hexadecimal", "0x[0-9a-f]+", lambda t: int(t, 16)),
    ("underscore", "with an underscore", "[0-9]+_[0-9]+", int),
    ("exponent", "with an exponent", r"[0-9.]+e2", lambda t: round(float(t))),
    ("arabic", "in Arabic digits", "(Ù[\xa0-\xa9])+", _digits),
    ("fullwidth", "in fullwidth digits", "(ï¼[\x90-\x99])+", _digits),
    ("hexadecimal-digits", "in digits such as a3", "[0-9a-f]*[a-f][0-9a-f]*", lambda t: int(t, 16)),
    ("octal", "in octal", "0[0-7]+", lambda t: int(t, 8)),
    ("quoted", "in quotes", '"[0-9]+"', lambda t: int(t[1:-1])),
    ("spaced", "with a space in it", "[0-9]+ [0-9]", lambda t: int(t.replace(" ", ""))),
    ("parameter", "with a parameter", "[0-9]+;x", lambda t: int(t[:-2])),
    ("no-break-space", "behind a no-break space", "Â\xa0[0-9]+", lambda t: int(t[2:])),
):
    fault(f"header-length-{_name}-read", "H14", Behavior.parse_header_length)(
        f"A header length {_text} is read.", _reads(_pattern, _read)
    )

_NAME_AND_SPACE = re.compile(rb"(?i)(\r\nInference-Header-Content-Length) :")

fault("space-before-colon-skipped", "H14", Behavior.received)(
    "A header length is read although a space stands before its colon.",
    lambda right, data: _NAME_AND_SPACE.sub(rb"\1:", right()),
)
fault("last-header-length-wins", "H12", Behavior.conflicting_lengths)(
    "If header lengths conflict, the last one is used.",
    lambda right, values: right.server.parse_header_length(values[-1]),
)
fault("minus-zero-is-zero", "H4", Behavior.parse_header_length)(
    "The header length -0 is read as 0.", _reads("-0", lambda text: 0)
)
