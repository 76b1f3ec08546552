"""Variants of how requests are read where there is a choice."""

from __future__ import annotations

import json

from v2_conformance.protocol.datatypes import Buffer, Shape, blob_size, check_blob
from v2_conformance.protocol.message import RepeatedMemberError, parse_json
from v2_conformance.protocol.names import JSON_TYPE
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs, Request
from v2_conformance.reference.request_reader import JsonObject, RequestInput
from v2_conformance.reference.variants.registry import variant


class PrefersData(Behaviour):
    """Of an input with both `data` and a size, the data is used and the blob is skipped (S5)."""

    def check_one_source(self, entry: RequestInput, size: int | None) -> None:
        if size is None or not entry.has_data:
            super().check_one_source(entry, size)

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        if not entry.has_data:
            return super().slice_blob(entry, blobs, offset, size)
        return memoryview(self.json_blob(entry))


@variant(
    "disputes-read-the-other-way",
    allowed_by="docs/disputes.md, O6 and W8",
    text="Listed outputs without binary_data are JSON, and raw BYTES begin with their length.",
)
class _DisputesReadTheOtherWay(Behaviour):
    def binary_flag(self, parameters: JsonObject, default: bool) -> bool:
        return super().binary_flag(parameters, False)

    def raw_bytes_tensor(self, dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
        check_blob("BYTES", (1,), body)
        return (1,) * len(dims), body


@variant(
    "raw-bytes-of-any-shape",
    allowed_by="docs/disputes.md, W7",
    text="A raw request for BYTES of any shape is one element.",
)
class _RawBytesOfAnyShape(Behaviour):
    def raw_bytes_tensor(self, dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
        shape, blob = super().raw_bytes_tensor((1,), body)
        return shape * len(dims), blob


@variant(
    "header-length-ignored-without-blobs",
    allowed_by="docs/disputes.md, H5, H6, H11 and P12",
    text="The header length of a request typed application/json is not looked at, as in KServe.",
)
class _HeaderLengthIgnoredWithoutBlobs(Behaviour):
    def header_length(self, request: Request) -> int | None:
        types = [value.partition(";")[0].strip() for value in request.values("content-type")]
        return None if [*map(str.lower, types)] == [JSON_TYPE] else super().header_length(request)


@variant(
    "data-before-blobs",
    allowed_by="docs/disputes.md, S5",
    text="Of an input with both `data` and a size, the data is used and the blob is skipped.",
)
class _DataBeforeBlobs(PrefersData):
    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        if offset <= len(blobs.view):
            super().check_all_read(blobs, offset)


@variant(
    "size-beyond-body-cut-by-shape",
    allowed_by="docs/disputes.md, S2",
    text="A size beyond the body is no mistake if the body has exactly what the shape needs.",
)
class _SizeBeyondBodyCutByShape(Behaviour):
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


@variant(
    "any-bool-byte-is-true",
    allowed_by="docs/disputes.md, D7",
    text="A BOOL byte other than 0 counts as 1.",
)
class _AnyBoolByteIsTrue(Behaviour):
    def bool_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        return bytes(1 if byte else 0 for byte in bytes(blob))


@variant(
    "last-of-two-members-counts",
    allowed_by="RFC 8259, section 4, and docs/disputes.md, J3",
    text="Of two members with one name, the last one counts.",
)
class _LastOfTwoMembersCounts(Behaviour):
    def parse_document(self, text: memoryview) -> JsonObject:
        try:
            return super().parse_document(text)
        except RepeatedMemberError:
            return parse_json(text, unique=False)


@variant(
    "first-of-two-members-counts",
    allowed_by="RFC 8259, section 4, and docs/disputes.md, J3",
    text="Of two members with one name, the first one counts.",
)
class _FirstOfTwoMembersCounts(Behaviour):
    def parse_document(self, text: memoryview) -> JsonObject:
        try:
            return super().parse_document(text)
        except RepeatedMemberError:
            found: JsonObject = json.loads(
                bytes(text), object_pairs_hook=lambda pairs: dict(pairs[::-1])
            )
            return found
