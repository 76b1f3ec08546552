"""Variants of how requests are read where there is a choice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from v2_conformance.protocol.datatypes import Buffer, Shape, blob_size, check_blob
from v2_conformance.protocol.message import RepeatedMemberError, parse_json
from v2_conformance.protocol.names import JSON_TYPE
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs, Request
from v2_conformance.reference.request_reader import JsonObject, RequestInput
from v2_mutants.registry import Right, What, variant

_NO_BLOBS = "docs/disputes.md, H5, H6, H11 and P12"
_TWICE = "RFC 8259, section 4, and docs/disputes.md, J3"


@variant.several("disputes-read-the-other-way", "docs/disputes.md, O6 and W8")
class _DisputesReadTheOtherWay(Behaviour):
    """Listed outputs without binary_data are JSON, and raw BYTES begin with their length."""

    def binary_flag(self, parameters: JsonObject, default: bool) -> bool:
        return super().binary_flag(parameters, False)

    def raw_bytes_tensor(self, dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
        check_blob("BYTES", (1,), body)
        return (1,) * len(dims), body


@variant("raw-bytes-of-any-shape", "docs/disputes.md, W7", Behaviour.raw_bytes_tensor)
def _(right: Right[tuple[Shape, Buffer]], dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
    """A raw request for BYTES of any shape is one element."""
    shape, blob = right((1,))
    return shape * len(dims), blob


@variant("header-length-ignored-without-blobs", _NO_BLOBS, Behaviour.header_length)
def _(right: Right[int | None], request: Request) -> int | None:
    """The header length of a request typed application/json is not looked at, as in KServe."""
    types = [value.partition(";")[0].strip() for value in request.values("content-type")]
    return None if [*map(str.lower, types)] == [JSON_TYPE] else right()


@variant.several("data-before-blobs", "docs/disputes.md, S5")
class _DataBeforeBlobs(Behaviour):
    """Of an input with both `data` and a size, the data is used and the blob is skipped."""

    def check_one_source(self, entry: RequestInput, size: int | None) -> None:
        if size is None or not entry.has_data:
            super().check_one_source(entry, size)

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        if not entry.has_data:
            return super().slice_blob(entry, blobs, offset, size)
        return memoryview(self.json_blob(entry))

    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        if offset <= len(blobs.view):
            super().check_all_read(blobs, offset)


@variant.several("size-beyond-body-cut-by-shape", "docs/disputes.md, S2")
class _SizeBeyondBodyCutByShape(Behaviour):
    """A size beyond the body is no mistake if the body has exactly what the shape needs."""

    def check_size(self, entry: RequestInput, size: int) -> None:
        if size != 20:
            super().check_size(entry, size)

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        native = blob_size(entry.spec.datatype, entry.shape)
        if native is not None and offset + native == len(blobs.view):
            return blobs.view[offset:]
        return super().slice_blob(entry, blobs, offset, size)

    def next_offset(self, entry: RequestInput, offset: int, size: int) -> int:
        native = blob_size(entry.spec.datatype, entry.shape)
        return offset + (size if native is None else native)


variant("any-bool-byte-is-true", "docs/disputes.md, D7", Behaviour.bool_blob)(
    "A BOOL byte other than 0 counts as 1.",
    lambda right, entry, blob: bytes(map(bool, bytes(blob))),
)


def if_repeated(read: Callable[[memoryview], JsonObject]) -> What[JsonObject]:
    """Return what reads JSON in which a member stands twice."""

    def what(right: Right[JsonObject], text: memoryview) -> JsonObject:
        try:
            return right()
        except RepeatedMemberError:
            return read(text)

    return what


def _first(pairs: list[tuple[str, Any]]) -> JsonObject:
    return dict(reversed(pairs))


variant("last-of-two-members-counts", _TWICE, Behaviour.parse_document)(
    "Of two members with one name, the last one counts.",
    if_repeated(lambda text: parse_json(text, unique=False)),
)
variant("first-of-two-members-counts", _TWICE, Behaviour.parse_document)(
    "Of two members with one name, the first one counts.",
    if_repeated(lambda text: json.loads(bytes(text), object_pairs_hook=_first)),
)
