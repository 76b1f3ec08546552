"""Variants of what a server declines, of how it reads what can be read in two ways, and of what it
reads of malformed requests, exactly as one reading of them declares."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from typing import Any

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    HALVES,
    Buffer,
    ElementError,
    Shape,
    blob_size,
    check_blob,
    element_count,
    encode_bytes,
    to_values,
)
from v2_conformance.protocol.message import (
    MessageError,
    RepeatedMemberError,
    Tensor,
    parse_json_noting,
)
from v2_conformance.protocol.names import BINARY_DATA_SIZE, HEADER_LENGTH, JSON_TYPE
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs, Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.framing import guess_json_end
from v2_mutants.faults.shared import has_blobs, is_chunked
from v2_mutants.registry import Right, What, refuse, refuses, then, variant

_LIMIT = 2**16
_PLAIN_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NEGATIVE_ZERO = re.compile(rb"(?<=[\[,])-0(?=[,\]])")

variant("content-length-required", "RFC 9110, section 15.5.12", Behavior.infer)(
    "A body in chunks is answered with 411.",
    refuses(lambda model, request: is_chunked(request), 411),
)
variant("content-length-required-by-gateway", "RFC 9110, section 15.5.12", Behavior.handle)(
    "A body in chunks is answered with 411 by a gateway: in HTML, and the connection closed.",
    lambda right, request: _page(411, b"Length Required") if is_chunked(request) else right(),
)
variant("bodies-limited-by-gateway", "RFC 9110, section 15.5.14", Behavior.handle)(
    "A body of more than 64 KiB is answered with 413 by a gateway.",
    lambda right, request: _page(413, b"Too Large") if len(request.body) > _LIMIT else right(),
)
variant("bodies-over-a-mebibyte-refused", "RFC 9110, section 15.5.14", Behavior.handle)(
    "A body of more than 1 MiB is answered with 400, as Triton's test of its limit wants.",
    lambda right, request: (
        right.server.error(400, "too large") if len(request.body) > 2**20 else right()
    ),
)


@variant("decoded-bodies-limited", "RFC 9110, section 15.5.14", Behavior.decode_request)
def _(right: Right[Request], request: Request) -> Request:
    """A body that has or decodes to more than 64 KiB is answered with 413."""
    decoded = right()
    return decoded if len(decoded.body) <= _LIMIT else refuse("the body is too large", 413)


variant("no-empty-tensors", "docs/disputes.md, E1 to E5", Behavior.input_shape)(
    "Tensors without elements are rejected, whatever their form.",
    lambda right, spec, shape: refuse("a tensor without elements") if 0 in right() else right(),
)


@variant("redundant-header-length-refused", "docs/disputes.md, H11 and P12", Behavior.read_request)
def _(
    right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
) -> InferenceRequest:
    """A header length on a request without blobs is rejected."""
    result, server = right(), right.server
    if length is not None:
        text, _ = server.split_body(request, length)
        entries = server.request_inputs(model, server.parse_document(text))
        if not any(BINARY_DATA_SIZE in entry.parameters for entry in entries):
            refuse(f"{HEADER_LENGTH} without blobs")
    return result


variant("unknown-parameters-refused", "docs/disputes.md, S14 and O15", Behavior.declared_size)(
    "Parameters of inputs that the server does not know are rejected.",
    refuses(lambda entry: bool(set(entry.parameters) - {BINARY_DATA_SIZE})),
)


@variant("elements-coerced", "docs/disputes.md, J2 and J10", Behavior.json_blob)
def _(right: Right[Buffer], entry: RequestInput) -> Buffer:
    """Fractions are cut off for integers; a word is 0 as a number, and every text is true."""
    if not isinstance(entry.data, list):
        return right()
    kind = DATATYPES[entry.spec.datatype].kind
    return right(replace(entry, data=[_coerced(kind, element) for element in entry.data]))


def _coerced(kind: str, element: Any) -> Any:
    if isinstance(element, str) and kind == "bool":
        return element != ""
    if isinstance(element, str) and kind in ("int", "float"):
        digits = element.removeprefix("-")
        if digits.isdecimal():
            return int(element)
        return _coerced(kind, float(element) if digits[:1].isdigit() else 0.0)
    whole = kind == "int" and isinstance(element, float) and isfinite(element)
    return int(element) if whole else element


@variant.several("numbers-are-doubles", "docs/disputes.md, D15, and RFC 8259, section 6")
class _NumbersAreDoubles(Behavior):
    """Integers in JSON from 2^53 on are rejected, in requests and in responses, as those that
    JavaScript does not call safe."""

    def json_blob(self, entry: RequestInput) -> Buffer:
        return self._only_doubles(entry.spec.datatype, super().json_blob(entry))

    def output_data(self, tensor: Tensor) -> Any:
        self._only_doubles(tensor.datatype, tensor.blob)
        return super().output_data(tensor)

    def _only_doubles(self, datatype: str, blob: Buffer) -> Buffer:
        values = to_values(datatype, blob) if datatype in ("INT64", "UINT64") else []
        return refuse("no double has it") if any(abs(n) >= 2**53 for n in values) else blob


@variant.several("no-halves-in-json", "docs/disputes.md, D12")
class _NoHalvesInJson(Behavior):
    """FP16 and BF16 have no JSON form, as in Triton and KServe; outputs listed without
    binary_data are JSON.
    """

    def json_blob(self, entry: RequestInput) -> Buffer:
        return refuse() if entry.spec.datatype in HALVES else super().json_blob(entry)

    def output_data(self, tensor: Tensor) -> Any:
        return refuse() if tensor.datatype in HALVES else super().output_data(tensor)

    def binary_flag(self, parameters: JsonObject, default: bool) -> bool:
        return super().binary_flag(parameters, False)


variant("space-around-json-refused", "docs/disputes.md, P11", Behavior.parse_document)(
    "White space around the JSON object is rejected.",
    refuses(lambda text: bytes(text).strip() != text),
)
variant("request-model-name-refused", "docs/disputes.md, V1", Behavior.parse_document)(
    "A request with the member `model_name` is rejected.",
    then(
        lambda document, text: (
            refuse("model_name is in the URL") if "model_name" in document else document
        )
    ),
)

_MEMBERS = frozenset(("id", "parameters", "inputs", "outputs", "name", "shape", "datatype", "data"))


def _objects(document: JsonObject) -> list[JsonObject]:
    """Return the request, its inputs and its outputs, as far as they are objects."""
    results = [document]
    for name in ("inputs", "outputs"):
        listed = document.get(name)
        results += [item for item in listed or () if isinstance(item, dict)] if listed else []
    return results


variant("other-members-refused", "docs/disputes.md, V1", Behavior.parse_document)(
    "Members that the protocol does not define are rejected in requests.",
    then(
        lambda document, text: (
            document
            if all(_MEMBERS.issuperset(item) for item in _objects(document))
            else refuse("an unknown member")
        )
    ),
)


def _in_lower_case(value: Any) -> Any:
    """A message in which names of members are compared without their case, as Go compares them: the
    last of two counts. Parameters are a map, whose names are as they are."""
    if isinstance(value, list):
        return [_in_lower_case(item) for item in value]
    if not isinstance(value, dict):
        return value
    known = {name: name.lower() for name in value if name.lower() in _MEMBERS}
    return {
        known.get(name, name): item if name.lower() == "data" else _in_lower_case(item)
        for name, item in value.items()
    }


variant("member-names-in-any-case", "docs/disputes.md, V1", Behavior.parse_document)(
    "Names of members are compared without their case, and the last of two counts, as in Go.",
    then(lambda document, text: _in_lower_case(document)),
)
variant(
    "integers-of-64-bits", "RFC 8259, section 6, and docs/disputes.md, D11", Behavior.json_blob
)(
    "Integers in JSON data of more than 64 bits are rejected, for float inputs too.",
    refuses(
        lambda entry: (
            isinstance(entry.data, list)
            and any(type(item) is int and not -(2**63) <= item < 2**64 for item in entry.data)
        )
    ),
)


@variant("ids-limited", "docs/disputes.md, V4", Behavior.parse_document)
def _(right: Right[JsonObject], text: memoryview) -> JsonObject:
    """Ids have from 1 to 64 letters, digits, dots, hyphens and underscores; others are rejected."""
    result = right()
    id = result.get("id")
    fits = not isinstance(id, str) or _PLAIN_ID.fullmatch(id)
    return result if fits else refuse("the id has other characters, or too many")


variant(
    "sign-of-zero-lost", "RFC 8259, section 6, and docs/disputes.md, V1", Behavior.parse_document
)(
    "A negative zero without a point is read as an integer, without its sign.",
    lambda right, text: right(memoryview(_NEGATIVE_ZERO.sub(b"0", bytes(text)))),
)


def _page(status: int, words: bytes) -> Response:
    """A gateway's error: it knows nothing of the protocol's error bodies, and closes."""
    page = b"<html><h1>%d %b</h1></html>" % (status, words)
    return Response(status, (("Content-Type", "text/html"),), (page,), keep_open=False)


_NO_BLOBS = "docs/disputes.md, H5, H6, H11 and P12"
_TWICE = "RFC 8259, section 4, and docs/disputes.md, J3"


@variant.several("disputes-read-the-other-way", "docs/disputes.md, O6 and W8")
class _DisputesReadTheOtherWay(Behavior):
    """Listed outputs without binary_data are JSON, and raw BYTES begin with their length."""

    def binary_flag(self, parameters: JsonObject, default: bool) -> bool:
        return super().binary_flag(parameters, False)

    def raw_bytes_tensor(self, dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
        check_blob("BYTES", (1,), body)
        return (1,) * len(dims), body


@variant("raw-bytes-of-any-shape", "docs/disputes.md, W7", Behavior.raw_bytes_tensor)
def _(right: Right[tuple[Shape, Buffer]], dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
    """A raw request for BYTES of any shape is one element."""
    shape, blob = right((1,))
    return shape * len(dims), blob


@variant("header-length-ignored-without-blobs", _NO_BLOBS, Behavior.header_length)
def _(right: Right[int | None], request: Request) -> int | None:
    """The header length of a request typed application/json is not looked at, as in KServe."""
    types = [value.partition(";")[0].strip() for value in request.values("content-type")]
    return None if [*map(str.lower, types)] == [JSON_TYPE] else right()


@variant.several("data-before-blobs", "docs/disputes.md, S5")
class _DataBeforeBlobs(Behavior):
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
class _SizeBeyondBodyCutByShape(Behavior):
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


variant("any-bool-byte-is-true", "docs/disputes.md, D7", Behavior.bool_blob)(
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


variant("last-of-two-members-counts", _TWICE, Behavior.parse_document)(
    "Of two members with one name, the last one counts.",
    if_repeated(lambda text: parse_json_noting(text)[0]),
)
variant("first-of-two-members-counts", _TWICE, Behavior.parse_document)(
    "Of two members with one name, the first one counts.",
    if_repeated(lambda text: json.loads(bytes(text), object_pairs_hook=_first)),
)

_EXACT = "docs/disputes.md, exact answers to malformed requests"


@variant("header-length-found-out", _EXACT, Behavior.header_length)
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
class _SizesFoundOut(Behavior):
    """If a size is wrong, a tensor has the bytes that its shape and its prefixes need. Surplus
    elements are ignored."""

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
            if len(elements) < count or offset > len(data):
                raise
            return encode_bytes(elements)


def _placed(
    entries: list[RequestInput], view: memoryview, *, by_size: bool = False
) -> list[memoryview] | None:
    """Return the bytes that each shape needs, one tensor after the other, or each where the sizes
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


@variant("surplus-data-ignored", _EXACT, Behavior.json_blob)
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
class _RawBodiesAsTheyAre(Behavior):
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
    "only-input-by-any-name", "docs/disputes.md, rejections as a means", Behavior.request_input
)
def _(right: Right[RequestInput], specs: dict[str, TensorSpec], item: object) -> RequestInput:
    """The input of a model that has only one is taken whatever its name is."""
    if len(specs) != 1 or not isinstance(item, dict):
        return right()
    return right(item=item | {"name": next(iter(specs))})
