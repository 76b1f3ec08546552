"""Faults of long messages and many elements (D, L, V3)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    Buffer,
    decode_bytes,
    element_count,
    encode_bytes,
)
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs, Request, Response
from v2_conformance.reference.request_reader import JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared import (
    Tensors,
    blobs_cut_if,
    is_coded,
    is_last,
    is_versioned,
    resize,
    through_fp32,
)
from v2_mutants.registry import Right, What, fault, only, refuses, then

_PAGE = 4096
_BUFFER = 2**16
_MANY = 2**18


def _refuses_whole(size: int) -> What[Response]:
    return refuses(lambda model, request: len(request.body) == size)


def _spoils_pages(size: int) -> What[Buffer]:
    return then(
        lambda blob, tensor: (
            bytes(blob[:-1]) + bytes([blob[-1] ^ 1]) if blob and len(blob) % size == 0 else blob
        )
    )


fault("json-over-128-kib-in-a-coding-refused", "V3", Behavior.infer)(
    "A body of JSON that has more than 128 KiB in its coding is rejected.",
    refuses(
        lambda model, request: (
            not request.values(HEADER_LENGTH)
            and is_coded(request)
            and len(request.body) > 2 * _BUFFER
        )
    ),
)
fault("size-of-64-kib-in-16-bits", "V3", Behavior.output_size)(
    "A blob of 65,536 bytes has the size 0.",
    then(lambda size, tensor: 0 if size == _BUFFER else size),
)
for _name, _size in (("4-kib", _PAGE), ("64-kib", _BUFFER), ("a-mebibyte", 1 << 20)):
    fault(f"body-of-{_name}-refused", "V3", Behavior.infer)(
        f"A body of exactly {_size} bytes is rejected.", _refuses_whole(_size)
    )
for _name, _size in (("a-page", _PAGE), ("two-pages", 2 * _PAGE)):
    fault(f"blobs-of-{_name}-lose-their-end", "V3", Behavior.output_blob)(
        f"The last byte of a blob is another one if it fills {_size} bytes, or a multiple of that.",
        _spoils_pages(_size),
    )


@fault("long-answer-in-a-coding-cut", "V3", Behavior.compress)
def _(right: Right[tuple[Buffer, ...]], coding: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """What is behind the first 256 KiB of a blob is zeros if the answer is in a coding."""
    return right(body=[resize(piece[:_MANY], len(piece)) for piece in body])


@fault("characters-lost-between-pages", "V3", Behavior.parse_document)
def _(right: Right[JsonObject], text: memoryview) -> JsonObject:
    """A character of JSON whose bytes are in two pages of 4,096 bytes becomes U+FFFD."""
    return right(memoryview(_page_by_page(bytes(text))))


def _page_by_page(text: bytes) -> bytes:
    pages = (text[at : at + _PAGE] for at in range(0, len(text), _PAGE))
    return b"".join(str(page, "utf-8", "replace").encode() for page in pages)


@fault("bytes-elements-counted-in-16-bits", "V3", Behavior.bytes_blob)
def _(right: Right[Buffer], entry: RequestInput, blob: Buffer) -> Buffer:
    """Of a BYTES blob, the elements behind the first 65,535 are empty."""
    elements = decode_bytes(right())
    kept = elements[: _BUFFER - 1]
    return encode_bytes([*kept, *[b""] * (len(elements) - len(kept))])


def _cut(datatype: str) -> What[Buffer]:
    """A server that has zeros behind the first 65,536 elements of a tensor."""
    kept = _BUFFER * (DATATYPES[datatype].size or 1)
    return only((datatype,), then(lambda blob, tensor: resize(blob[:kept], len(blob))))


for _datatype, _requirement in (
    ("INT16", "D1"), ("FP32", "D3"),
    ("FP64", "D5"), ("FP16", "D8"), ("BF16", "D9"),
):  # fmt: skip
    fault(f"{_datatype.lower()}-elements-counted-in-16-bits", _requirement, Behavior.output_blob)(
        f"Of an output of {_datatype}, the elements behind the first 65,536 are 0.", _cut(_datatype)
    )


@fault("last-of-several-long-inputs-lost", "V3", Behavior.read_inputs)
def _(right: Right[Tensors], model: ModelContract, document: JsonObject, blobs: Blobs) -> Tensors:
    """If more than three inputs have more than 4,096 elements, the last one of a fixed size is
    zeros."""
    result = right()
    long = [tensor for tensor in result.values() if element_count(tensor.shape) > _PAGE]
    if len(long) < 4:
        return result
    last = next(tensor for tensor in reversed(long) if DATATYPES[tensor.datatype].size)
    return {**result, last.name: structs.replace(last, blob=bytes(len(last.blob)))}


def _many_of_json(datatype: str) -> What[Buffer]:
    """A server that reads zeros behind the first 65,536 elements of a tensor in JSON."""
    width = DATATYPES[datatype].size
    return then(
        lambda blob, entry: (
            blob
            if entry.spec.datatype != datatype or element_count(entry.shape) <= _BUFFER
            else encode_bytes([*decode_bytes(blob)[:_BUFFER], b""])
            if width is None
            else resize(blob[: _BUFFER * width], len(blob))
        )
    )


for _datatype in (
    "INT32",
    "INT64",
    "FP32",
):
    fault(f"{_datatype.lower()}-of-json-counted-in-16-bits", "V3", Behavior.json_blob)(
        f"Of {_datatype} in JSON, the elements behind the first 65,536 are zero or empty.",
        _many_of_json(_datatype),
    )

_LONG = 1000


def _has_trailers(request: Request) -> bool:
    return bool(request.framing) and not request.framing.endswith(b"\r\n0\r\n\r\n")


for _name, _where, _when in (
    ("after-continue", "After 100 Continue", lambda request: request.values("expect")),
    ("of-http-1.0", "Of an HTTP/1.0 request", lambda request: request.version == "1.0"),
    ("before-trailers", "If a trailer follows", _has_trailers),
    ("at-versioned-path", "At a path with a version",
     is_versioned),
    ("for-absolute-form", "With a URL as its target", lambda request: request.target[0] != "/"),
):  # fmt: skip
    fault(f"long-blobs-{_name}-cut", "V3", Behavior.split_body)(
        f"{_where}, only 64 KiB of the blobs are read.", blobs_cut_if(_when, _BUFFER)
    )


@fault("long-fp64-data-through-fp32", "V3", Behavior.json_blob)
def _(right: Right[Buffer], entry: RequestInput) -> Buffer:
    """Behind 1,000 elements, FP64 in JSON is read as FP32."""
    blob = right()
    start = 8 * _LONG
    long = entry.spec.datatype == "FP64" and len(blob) > start
    return bytes(blob[:start]) + through_fp32(blob[start:]) if long else blob


_LIMIT = 2**19

for _name, _where, _when in (
    ("on-a-versioned-path", "On a path with the model's version", is_versioned),
    ("of-last-requests", "If the connection ends",
     is_last),
):  # fmt: skip
    fault(f"blobs-over-two-mebibytes-{_name}-cut", "L1", Behavior.split_body)(
        f"{_where}, only 2 MiB of the blobs are read.", blobs_cut_if(_when, 4 * _LIMIT)
    )
