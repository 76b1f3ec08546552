"""Faults of the request header length (H)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from v2_conformance.protocol.message import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Blobs, Rejected, Request, Response
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.tools import is_white, object_end, raw_headers
from v2_conformance.reference.reading import LENGTH_NAME, SIZE, Call, Entry
from v2_conformance.suite.models import ModelContract

_HUGE = 2**31


class _Guessing(Behaviour):
    """A server that finds the end of the JSON by itself where it does not believe the header."""

    def guess(self, request: Request) -> int | None:
        return object_end(request.body)


@fault(
    "header-length-ignored",
    breaks="H1",
    text="The header length is not looked at: the whole body is taken for JSON.",
)
class _Ignored(Behaviour):
    def json_end(self, body: memoryview, length: int) -> int:
        return len(body)


@fault(
    "header-length-three-digits",
    breaks="H1",
    text="Only the first three digits of the header length are read.",
)
class _ThreeDigits(Behaviour):
    def parse_length(self, text: str) -> int:
        length = super().parse_length(text)
        return int(str(length)[:3])


@fault(
    "header-name-case-sensitive",
    breaks="H2",
    text="The header length is only seen where its name is spelt as in the documents.",
)
class _CaseSensitive(Behaviour):
    def length_values(self, request: Request) -> list[str]:
        return [value.strip() for name, value in raw_headers(request) if name == HEADER_LENGTH]


@fault(
    "missing-header-length-guessed",
    breaks="H3",
    text="Without a header length the end of the JSON is guessed, and blobs are read behind it.",
)
class _MissingGuessed(_Guessing):
    def header_length(self, request: Request) -> int | None:
        length = super().header_length(request)
        return self.guess(request) if length is None else length


@fault(
    "negative-header-length-slices",
    breaks="H4",
    text="A negative header length counts from the end of the body, as a Python slice does.",
)
class _NegativeSlices(Behaviour):
    def parse_length(self, text: str) -> int:
        return int(text) if re.fullmatch("-[1-9][0-9]{0,8}", text) else super().parse_length(text)

    def json_end(self, body: memoryview, length: int) -> int:
        if length < 0:
            return max(len(body) + length, 0)
        return super().json_end(body, length)


@fault(
    "negative-header-length-guessed",
    breaks="H4",
    text="With a negative header length the end of the JSON is guessed.",
)
class _NegativeGuessed(_Guessing):
    def header_length(self, request: Request) -> int | None:
        if any(re.fullmatch("-[0-9]+", value) for value in self.length_values(request)):
            return self.guess(request)
        return super().header_length(request)


@fault(
    "header-length-clamped",
    breaks="H5",
    text="A header length beyond the body is cut to the body's length.",
)
class _Clamped(Behaviour):
    def json_end(self, body: memoryview, length: int) -> int:
        return min(length, len(body)) if length < _HUGE else super().json_end(body, length)


@fault(
    "overlong-header-length-guessed",
    breaks="H5",
    text="With a header length beyond the body the end of the JSON is guessed.",
)
class _OverlongGuessed(Behaviour):
    def json_end(self, body: memoryview, length: int) -> int:
        if len(body) < length < _HUGE:
            return object_end(body) or 0
        return super().json_end(body, length)


@fault(
    "non-numeric-header-length-ignored",
    breaks="H6",
    text="A header length that is not a number is read as 0, and then the body is all JSON.",
)
class _NonNumericIgnored(Behaviour):
    def header_length(self, request: Request) -> int | None:
        return None if _no_number(self.length_values(request)) else super().header_length(request)


@fault(
    "non-numeric-header-length-guessed",
    breaks="H6",
    text="With a header length that is not a number the end of the JSON is guessed.",
)
class _NonNumericGuessed(_Guessing):
    def header_length(self, request: Request) -> int | None:
        if _no_number(self.length_values(request)):
            return self.guess(request)
        return super().header_length(request)


@fault(
    "non-numeric-header-length-raw",
    breaks="H6",
    text="A header length that is not a number is read as 0, which makes the request a raw one.",
)
class _NonNumericRaw(Behaviour):
    def header_length(self, request: Request) -> int | None:
        return 0 if _no_number(self.length_values(request)) else super().header_length(request)


@fault(
    "header-length-wraps-at-32-bits",
    breaks="H7",
    text="Only the low 32 bits of the header length are used.",
)
class _Wraps(Behaviour):
    def parse_length(self, text: str) -> int:
        return super().parse_length(text) % 2**32


@fault(
    "huge-header-length-guessed",
    breaks="H7",
    text="With a header length of 2^31 or more the end of the JSON is guessed.",
)
class _HugeGuessed(_Guessing):
    def header_length(self, request: Request) -> int | None:
        if any(_is_huge(value) for value in self.length_values(request)):
            return self.guess(request)
        return super().header_length(request)


@fault(
    "huge-header-length-crashes",
    breaks="H7",
    text="A header length of 2^31 or more ends the server: it accepts no more connections.",
)
class _HugeCrashes(Behaviour):
    crashed = False

    def header_length(self, request: Request) -> int | None:
        if any(_is_huge(value) for value in self.length_values(request)):
            self.crashed = True
        return super().header_length(request)

    def listening(self) -> bool:
        return super().listening() and not self.crashed


@fault(
    "header-length-trailing-junk-ignored",
    breaks="H8",
    text="What follows the digits of a header length is not looked at.",
)
class _TrailingJunkIgnored(Behaviour):
    def parse_length(self, text: str) -> int:
        match = re.match("[0-9]+", text)
        return super().parse_length(match[0] if match else text)


@fault(
    "header-length-off-by-one-forgiven",
    breaks="H9",
    text="Where the JSON ends one byte off the header length, the split is moved to its end.",
)
class _OffByOneForgiven(Behaviour):
    def json_end(self, body: memoryview, length: int) -> int:
        end = object_end(body)
        if end is None or abs(end - length) != 1 or is_white(body[end:length] or b"x"):
            return super().json_end(body, length)
        return end


@fault(
    "header-length-prefix-half-read",
    breaks="H9",
    text="JSON is read to its object's end; what the header length counts behind it is ignored.",
)
class _PrefixHalfRead(Behaviour):
    def parse_document(self, text: memoryview) -> dict[str, Any]:
        return super().parse_document(text[: object_end(text)])


@fault(
    "whole-body-header-length-zero-blobs",
    breaks="H10",
    text="With a header length of the whole body the declared blobs are read as zeros.",
)
class _WholeBodyZeroBlobs(Behaviour):
    def split(self, request: Request, length: int | None) -> tuple[memoryview, Blobs]:
        text, blobs = super().split(request, length)
        end = object_end(text) if length is not None and not len(blobs.view) else None
        if end is None or is_white(text[end:]):
            return text, blobs
        return text[:end], replace(blobs, view=memoryview(bytes(len(text) - end)))

    def slice_blob(self, entry: Entry, blobs: Blobs, offset: int, size: int) -> memoryview:
        if not len(blobs.view) and size < _HUGE:
            return memoryview(bytes(size))
        return super().slice_blob(entry, blobs, offset, size)


@fault(
    "header-length-without-blobs-refused",
    breaks="H11",
    text="A header length is refused where no input has a blob.",
)
class _WithoutBlobsRefused(Behaviour):
    def split(self, request: Request, length: int | None) -> tuple[memoryview, Blobs]:
        if length is not None and SIZE.encode() not in bytes(request.body):
            raise Rejected(f"{HEADER_LENGTH} is given, but no binary input")
        return super().split(request, length)


@fault(
    "first-header-length-wins",
    breaks="H12",
    text="Of conflicting header lengths the first is taken.",
)
class _FirstWins(Behaviour):
    def resolve_conflict(self, values: Sequence[str]) -> int:
        return self.parse_length(values[0])


@fault(
    "last-header-length-wins",
    breaks="H12",
    text="Of conflicting header lengths the last is taken.",
)
class _LastWins(Behaviour):
    def resolve_conflict(self, values: Sequence[str]) -> int:
        return self.parse_length(values[-1])


@fault(
    "header-length-white-space-refused",
    breaks="H13",
    text="White space around the header length, but for one space before it, is refused.",
)
class _WhiteSpaceRefused(Behaviour):
    def length_values(self, request: Request) -> list[str]:
        values = [v for name, v in raw_headers(request) if name.lower() == LENGTH_NAME]
        return [value.removeprefix(" ") for value in values]


@fault(
    "header-length-kept-from-last-request",
    breaks="C5",
    text="A request without a header length gets that of the last rejected request.",
)
class _KeptFromLastRequest(Behaviour):
    kept: int | None = None

    def infer(self, model: ModelContract, request: Request) -> Response:
        length = None
        try:
            length = self.header_length(request)
            return super().infer(model, request)
        except Exception:
            self.kept = length
            raise

    def read_call(self, model: ModelContract, request: Request, length: int | None) -> Call:
        used, self.kept = (self.kept if length is None else length), None
        return super().read_call(model, request, used)


def _no_number(values: Sequence[str]) -> bool:
    return any(not re.match("-?[0-9]", value) or value.lower().startswith("0x") for value in values)


def _is_huge(value: str) -> bool:
    return bool(re.fullmatch("[0-9]{10,}", value)) and (len(value) > 18 or int(value) >= _HUGE)
