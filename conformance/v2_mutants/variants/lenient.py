"""Variants that read malformed requests, and answer exactly what one reading of them declares."""

from __future__ import annotations

import struct
from dataclasses import replace

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    Buffer,
    ElementError,
    Shape,
    blob_size,
    element_count,
    encode_bytes,
)
from v2_conformance.protocol.message import MessageError, Tensor
from v2_conformance.protocol.names import BINARY_DATA_SIZE, JSON_TYPE
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs, Rejected, Request
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.messages.header_length import guess_json_end
from v2_mutants.faults.shared.blobs import has_blobs
from v2_mutants.registry import Right, variant

_EXACT = "docs/disputes.md, exact answers to malformed requests"


@variant("header-length-found-out", _EXACT, Behaviour.header_length)
def _(right: Right[int | None], request: Request) -> int | None:
    """If a header length is missing or wrong, the JSON ends where its object does."""
    if not has_blobs(request):
        return right()
    try:
        length = right()
        if length != 0:
            right.server.parse_document(right.server.split_body(request, length)[0])
    except (Rejected, MessageError):
        return guess_json_end(request.body)
    return length


@variant.several("sizes-found-out", _EXACT)
class _SizesFoundOut(Behaviour):
    """If a size is wrong, a tensor has the bytes that its shape and its prefixes need. Surplus
    elements are ignored, and a prefix beyond the blob is cut."""

    def read_inputs(
        self, model: ModelContract, document: JsonObject, blobs: Blobs
    ) -> dict[str, Tensor]:
        try:
            return super().read_inputs(model, document, blobs)
        except (Rejected, ElementError):
            entries = self.request_inputs(model, document)
            if any(e.has_data or BINARY_DATA_SIZE not in e.parameters for e in entries):
                raise
            result = _placed(entries, blobs.view, by_size=True) or _placed(entries, blobs.view)
            if result is None:
                raise
            return {
                spec.name: Tensor(spec.name, spec.datatype, e.shape, self.binary_blob(e, blob))
                for e, blob in zip(entries, result, strict=True)
                for spec in [e.spec]
            }

    def bytes_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        try:
            return super().bytes_blob(entry, blob)
        except ElementError:
            data, count, offset = bytes(blob), element_count(entry.shape), 0
            elements: list[bytes] = []
            while offset + 4 <= len(data) and len(elements) < count:
                (length,) = struct.unpack_from("<I", data, offset)
                elements.append(data[offset + 4 : offset + 4 + length])
                offset += 4 + length
            if len(elements) < count:
                raise
            return encode_bytes(elements)


def _placed(
    entries: list[RequestInput], view: memoryview, *, by_size: bool = False
) -> list[memoryview] | None:
    """Return the bytes that each shape needs, one tensor behind the other, or each where the sizes
    of those before it say; None unless they are the whole body.
    """
    result, offset = [], 0
    for entry in entries:
        needed = _needed(entry, view[offset:])
        size = entry.parameters[BINARY_DATA_SIZE] if by_size else needed
        if needed is None or type(size) is not int or not needed <= size <= len(view) - offset:
            return None
        result.append(view[offset : offset + needed])
        offset += size
    return result if offset == len(view) else None


def _needed(entry: RequestInput, view: memoryview) -> int | None:
    """Return how many bytes of `view` the shape of an input needs, None if it has fewer."""
    native, taken = blob_size(entry.spec.datatype, entry.shape), 0
    if native is not None:
        return native
    for _ in range(min(element_count(entry.shape), len(view))):
        if taken + 4 > len(view):
            return None
        taken += 4 + int(struct.unpack_from("<I", view, taken)[0])
    return taken


@variant("surplus-data-ignored", _EXACT, Behaviour.json_blob)
def _(right: Right[Buffer], entry: RequestInput) -> Buffer:
    """JSON data, and each of its rows, ends where the shape does; an object is an array of its
    values."""
    return right(replace(entry, data=_declared(entry.data, entry.shape)))


def _declared(data: object, shape: Shape) -> object:
    if isinstance(data, dict):
        data = list(data.values())
    if not isinstance(data, list):
        return data
    if len(shape) > 1 and all(isinstance(row, list) for row in data):
        return [_declared(row, shape[1:]) for row in data[: shape[0]]]
    return data[: element_count(shape)]


@variant.several("raw-bodies-as-they-are", _EXACT)
class _RawBodiesAsTheyAre(Behaviour):
    """A body that is neither JSON nor typed as JSON is raw without a header length, too, and the
    dimension of a raw tensor is as many elements as it has."""

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        try:
            return super().read_request(model, request, length)
        except MessageError:
            if length is not None or JSON_TYPE in request.values("content-type"):
                raise
            return self.read_raw(model, request.body)

    def raw_shape(self, datatype: str, dims: Shape, size: int) -> Shape:
        whole, rest = divmod(size, DATATYPES[datatype].size or 1)
        return (whole,) if len(dims) == 1 and not rest else super().raw_shape(datatype, dims, size)


@variant(
    "only-input-by-any-name", "docs/disputes.md, rejections as a means", Behaviour.request_input
)
def _(right: Right[RequestInput], specs: dict[str, TensorSpec], item: object) -> RequestInput:
    """The input of a model that has only one is taken whatever its name is."""
    if len(specs) != 1 or not isinstance(item, dict):
        return right()
    return right(item=item | {"name": next(iter(specs))})
