"""Faults of the request header length (H)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer, check_blob
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.blobs import MAX_MADE_UP, all_zeros, has_blobs
from v2_conformance.reference.faults.shared.crashes import CrashingServer
from v2_conformance.reference.faults.shared.deliveries import is_chunked
from v2_conformance.reference.http_messages import Blobs, Request
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract

_HUGE = 2**31


def _guess_json_end(body: Buffer) -> int | None:
    """Where the JSON object at the start of `body` ends, found by parsing it; None if it fails."""
    text = str(body, "latin-1")  # one character for each byte, whatever follows the JSON
    start = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except ValueError:
        return None


def _is_blank(data: Buffer) -> bool:
    """Whether `data` is nothing but JSON white space."""
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


def _guesses_if(applies: Callable[[Sequence[str]], bool]) -> type[Behaviour]:
    """A server that guesses where the JSON ends if `applies` to the values of the header."""

    class Guesses(Behaviour):
        def header_length(self, request: Request) -> int | None:
            if applies(self.header_length_values(request)):
                return _guess_json_end(request.body)
            return super().header_length(request)

    return Guesses


class _BlobsFromEnd(Blobs):
    """Blobs that are addressed from the end of the body."""


class _MissingBlobsAreZeros(Behaviour):
    """A server that reads blobs as zeros if the header length leaves none."""

    def split_body(self, request: Request, length: int | None) -> tuple[memoryview, Blobs]:
        text, blobs = super().split_body(request, length)
        end = _guess_json_end(text) if length is not None and not len(blobs.view) else None
        if end is None or _is_blank(text[end:]):
            return text, blobs
        return text[:end], replace(blobs, view=memoryview(bytes(len(text) - end)))

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        if not len(blobs.view) and size <= MAX_MADE_UP:
            return memoryview(bytes(size))
        return super().slice_blob(entry, blobs, offset, size)


@fault(
    "header-length-ignored",
    breaks="H1",
    text="The header length is ignored: the whole body is read as JSON.",
)
class _HeaderLengthIgnored(Behaviour):
    def json_end(self, body: memoryview, length: int) -> int:
        return len(body)


@fault(
    "header-length-three-digits",
    breaks="H1",
    text="Only the first three digits of the header length are read.",
)
class _HeaderLengthThreeDigits(Behaviour):
    def parse_header_length(self, text: str) -> int:
        length = super().parse_header_length(text)
        return int(str(length)[:3])


@fault(
    "header-name-case-sensitive",
    breaks="H2",
    text="The header length is only recognized if its name is spelled exactly as in the documents.",
)
class _HeaderNameCaseSensitive(Behaviour):
    def header_length_values(self, request: Request) -> list[str]:
        return [value.strip() for name, value in _header_lines(request) if name == HEADER_LENGTH]


fault(
    "missing-header-length-guessed",
    breaks="H3",
    text="Without a header length, the end of the JSON is guessed and blobs are read after it.",
)(_guesses_if(lambda values: not values))


@fault(
    "negative-header-length-slices",
    breaks="H4",
    text="A negative header length counts from the end of the body, as in a Python slice.",
)
class _NegativeHeaderLengthSlices(Behaviour):
    def parse_header_length(self, text: str) -> int:
        if re.fullmatch("-[1-9][0-9]{0,8}", text):
            return int(text)
        return super().parse_header_length(text)

    def json_end(self, body: memoryview, length: int) -> int:
        if length < 0:
            return max(len(body) + length, 0)
        return super().json_end(body, length)


@fault(
    "negative-header-length-indexes",
    breaks="H4",
    text="A negative header length is used as an index from the end, and so are blobs' offsets.",
)
class _NegativeHeaderLengthIndexes(Behaviour):
    def parse_header_length(self, text: str) -> int:
        if re.fullmatch("-[1-9][0-9]{0,8}", text):
            return int(text)
        return super().parse_header_length(text)

    def split_body(self, request: Request, length: int | None) -> tuple[memoryview, Blobs]:
        if length is None or length >= 0:
            return super().split_body(request, length)
        return request.body[:length], _BlobsFromEnd(request.body[length:])

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        if not isinstance(blobs, _BlobsFromEnd):
            return super().slice_blob(entry, blobs, offset, size)
        # As Python slices: a blob that ends with the body ends at index 0, and is empty.
        return blobs.view[offset : offset + size if offset + size < len(blobs.view) else 0]

    def binary_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        check_blob(entry.spec.datatype, entry.shape, blob)
        return super().binary_blob(entry, blob)

    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        if not isinstance(blobs, _BlobsFromEnd):
            super().check_all_read(blobs, offset)


fault(
    "negative-header-length-guessed",
    breaks="H4",
    text="If the header length is negative, the end of the JSON is guessed.",
)(_guesses_if(_has_negative))


@fault(
    "header-length-clamped",
    breaks="H5",
    text="With a header length larger than the body, the declared blobs are read as zeros.",
)
class _HeaderLengthClamped(_MissingBlobsAreZeros):
    def json_end(self, body: memoryview, length: int) -> int:
        return min(length, len(body)) if length < _HUGE else super().json_end(body, length)


@fault(
    "overlong-header-length-guessed",
    breaks="H5",
    text="If the header length is larger than the body, the end of the JSON is guessed.",
)
class _OverlongHeaderLengthGuessed(Behaviour):
    def json_end(self, body: memoryview, length: int) -> int:
        if len(body) < length < _HUGE:
            return _guess_json_end(body) or 0
        return super().json_end(body, length)


@fault(
    "overlong-header-length-in-chunks-guessed",
    breaks="H5",
    text="If the header length is larger than a chunked body, the end of the JSON is guessed.",
)
class _OverlongHeaderLengthInChunksGuessed(Behaviour):
    def header_length(self, request: Request) -> int | None:
        length = super().header_length(request)
        if length is None or not is_chunked(request) or not len(request.body) < length < _HUGE:
            return length
        return _guess_json_end(request.body)


fault(
    "non-numeric-header-length-guessed",
    breaks="H6",
    text="If the header length is not a number, the end of the JSON is guessed.",
)(_guesses_if(_has_non_number))


@fault(
    "non-numeric-header-length-raw",
    breaks="H6",
    text="A header length that is not a number is read as 0, which makes the request raw.",
)
class _NonNumericHeaderLengthRaw(Behaviour):
    def header_length(self, request: Request) -> int | None:
        if _has_non_number(self.header_length_values(request)):
            return 0
        return super().header_length(request)


@fault(
    "header-length-wraps-at-32-bits",
    breaks="H7",
    text="Only the low 32 bits of the header length are used.",
)
class _HeaderLengthWrapsAt32Bits(Behaviour):
    def parse_header_length(self, text: str) -> int:
        return super().parse_header_length(text) % 2**32


fault(
    "huge-header-length-guessed",
    breaks="H7",
    text="If the header length is 2^31 or more, the end of the JSON is guessed.",
)(_guesses_if(_has_huge))


@fault(
    "huge-header-length-crashes",
    breaks="H7",
    text="A header length of 2^31 or more crashes the server: it accepts no more connections.",
)
class _HugeHeaderLengthCrashes(CrashingServer):
    def header_length(self, request: Request) -> int | None:
        if _has_huge(self.header_length_values(request)):
            self.crashed = True
        return super().header_length(request)


@fault(
    "header-length-trailing-junk-ignored",
    breaks="H8",
    text="Anything after the digits of a header length is ignored.",
)
class _HeaderLengthTrailingJunkIgnored(Behaviour):
    def parse_header_length(self, text: str) -> int:
        match = re.match("[0-9]+", text)
        return super().parse_header_length(match[0] if match else text)


@fault(
    "header-length-off-by-one-forgiven",
    breaks="H9",
    text="If the header length is off by one, blobs are read from where the JSON really ends.",
)
class _HeaderLengthOffByOneForgiven(Behaviour):
    def json_end(self, body: memoryview, length: int) -> int:
        end = _guess_json_end(body)
        if end is None or abs(end - length) != 1 or _is_blank(body[end:length] or b"x"):
            return super().json_end(body, length)
        return end


@fault(
    "header-length-prefix-half-read",
    breaks="H9",
    text="The JSON is read to the end of its object; the rest of the header length is ignored.",
)
class _HeaderLengthPrefixHalfRead(Behaviour):
    def parse_document(self, text: memoryview) -> JsonObject:
        return super().parse_document(text[: _guess_json_end(text)])


@fault(
    "whole-body-header-length-zero-blobs",
    breaks="H10",
    text="If the header length is that of the whole body, the declared blobs are read as zeros.",
)
class _WholeBodyHeaderLengthZeroBlobs(_MissingBlobsAreZeros):
    pass


@fault(
    "header-length-without-blobs-hides-data",
    breaks="H11",
    text="If a request without blobs has a header length, its JSON data is read as zeros.",
)
class _HeaderLengthWithoutBlobsHidesData(Behaviour):
    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = super().read_request(model, request, length)
        return inference if length is None or has_blobs(request) else all_zeros(inference)


@fault(
    "first-header-length-wins",
    breaks="H12",
    text="If header lengths conflict, the first one is used.",
)
class _FirstHeaderLengthWins(Behaviour):
    def conflicting_lengths(self, values: Sequence[str]) -> int:
        return self.parse_header_length(values[0])


@fault(
    "last-header-length-wins",
    breaks="H12",
    text="If header lengths conflict, the last one is used.",
)
class _LastHeaderLengthWins(Behaviour):
    def conflicting_lengths(self, values: Sequence[str]) -> int:
        return self.parse_header_length(values[-1])


@fault(
    "header-length-white-space-refused",
    breaks="H13",
    text="White space around the header length is rejected, except for one space before it.",
)
class _HeaderLengthWhiteSpaceRefused(Behaviour):
    def header_length_values(self, request: Request) -> list[str]:
        name = HEADER_LENGTH.lower()
        values = [value for key, value in _header_lines(request) if key.lower() == name]
        return [value.removeprefix(" ") for value in values]
