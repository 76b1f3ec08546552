"""Faults of lengths: where pages and buffers end, on each way through a server (D, V3, L)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    Buffer,
    decode_bytes,
    element_count,
    encode_bytes,
)
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs, Request, Response
from v2_conformance.reference.request_reader import JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.blobs import Tensors, change_bits, resize
from v2_mutants.faults.shared.deliveries import is_chunked
from v2_mutants.faults.shared.spellings import refuses_if
from v2_mutants.registry import Right, What, fault, only, refuses, then

_PAGE = 4096
_BUFFER = 2**16
_MANY = 2**18


def _fills_pages(body: Buffer, pages: int = 1) -> bool:
    return len(body) > 0 and len(body) % (pages * _PAGE) == 0


def _is_json(request: Request) -> bool:
    return not request.values(HEADER_LENGTH)


def _is_framed(request: Request) -> bool:
    return request.values(HEADER_LENGTH) not in ([], ["0"])


def _closes(request: Request) -> bool:
    return "close" in request.values("Connection")


def _is_coded(request: Request) -> bool:
    return bool(request.values("Content-Encoding"))


def _of_pages(tensor: Tensor) -> Tensor:
    spoiled = _fills_pages(tensor.blob, 2)
    return msgspec.structs.replace(tensor, blob=_with_wrong_end(tensor.blob)) if spoiled else tensor


def _with_wrong_end(blob: Buffer) -> bytes:
    return bytes(blob[:-1]) + bytes([blob[-1] ^ 1])


for _name, _text, _when in (
    ("body-of-whole-pages-refused",
     "A body of JSON and blobs that fills its last page is rejected.",
     lambda request: _is_framed(request)
     and not is_chunked(request)
     and _fills_pages(request.body)),
    ("chunked-body-of-whole-pages-refused",
     "A body of JSON and blobs in chunks that fills its last page is rejected.",
     lambda request: _is_framed(request) and is_chunked(request) and _fills_pages(request.body)),
    ("json-of-whole-pages-refused", "A body of JSON that is a multiple of 8,192 bytes is rejected.",
     lambda request: _is_json(request)
     and not is_chunked(request)
     and _fills_pages(request.body, 2)),
    ("chunked-json-of-whole-pages-refused",
     "A body of JSON in chunks that is a multiple of 8,192 bytes is rejected.",
     lambda request: _is_json(request) and is_chunked(request) and _fills_pages(request.body, 2)),
    ("chunked-json-over-64-kib-refused",
     "A body of JSON in chunks is rejected if it has more than 64 KiB.",
     lambda request: _is_json(request)
     and is_chunked(request)
     and len(request.body) > _BUFFER),
    ("json-over-64-kib-on-its-last-connection-refused",
     "A body of JSON is rejected if it has more than 64 KiB and the client says Connection: close.",
     lambda request: _is_json(request) and _closes(request) and len(request.body) > _BUFFER),
):  # fmt: skip
    fault(_name, "V3", Behaviour.infer)(_text, refuses_if(_when))


fault("json-over-64-kib-in-a-coding-refused", "V3", Behaviour.read_request)(
    "A body of JSON that came in a coding is rejected if it is decoded to more than 64 KiB.",
    refuses(
        lambda model, request, length: (
            length is None and _is_coded(request) and len(request.body) > _BUFFER
        )
    ),
)
fault("decoded-body-of-whole-pages-loses-its-end", "V3", Behaviour.decompress)(
    "The last byte of a decoded body is wrong if the body fills its last page.",
    then(lambda body, coding, data: _with_wrong_end(body) if _fills_pages(body) else body),
)
for _datatype in ("INT64", "FP64", "INT16"):
    fault(f"{_datatype.lower()}-of-whole-pages-loses-its-end", "V3", Behaviour.output_tensor)(
        f"The last byte of a tensor of {_datatype} is wrong if it fills pages of 8,192 bytes.",
        only((_datatype,), lambda right, output, tensor: _of_pages(right())),
    )
fault("raw-body-of-whole-pages-loses-its-end", "V3", Behaviour.read_raw)(
    "The last byte of a raw body is wrong if the body fills its last page.",
    lambda right, model, body: right(
        body=memoryview(_with_wrong_end(body)) if _fills_pages(body) else body
    ),
)
fault("blob-of-whole-pages-loses-its-end", "V3", Behaviour.response_body)(
    "The last byte of an output is wrong if the blob is a multiple of 8,192 bytes.",
    lambda right, text, blobs: right(
        blobs=[_with_wrong_end(blob) if _fills_pages(blob, 2) else blob for blob in blobs]
    ),
)


@fault("long-answer-cut-before-the-end-of-the-connection", "V3", Behaviour.finish)
def _(right: Right[Response], request: Request, response: Response) -> Response:
    """What is behind the first 64 KiB of a blob is zeros if the client says Connection: close."""
    result = right()
    if not _closes(request) or result.size <= _BUFFER:
        return result
    return replace(result, body=tuple(resize(piece[:_BUFFER], len(piece)) for piece in result.body))


@fault("long-answer-in-a-coding-cut", "V3", Behaviour.compress)
def _(right: Right[tuple[Buffer, ...]], coding: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """What is behind the first 256 KiB of a blob is zeros if the answer is in a coding."""
    return right(body=[resize(piece[:_MANY], len(piece)) for piece in body])


@fault("characters-lost-between-pages", "V3", Behaviour.parse_document)
def _(right: Right[JsonObject], text: memoryview) -> JsonObject:
    """A character of JSON whose bytes are in two pages of 4,096 bytes becomes U+FFFD."""
    return right(memoryview(_page_by_page(bytes(text))))


@fault("written-characters-lost-between-pages", "V3", Behaviour.dump_document)
def _(right: Right[bytes], document: JsonObject) -> bytes:
    """A character of a response whose bytes are in two pages of 4,096 bytes becomes U+FFFD."""
    return _page_by_page(right())


def _page_by_page(text: bytes) -> bytes:
    pages = (text[at : at + _PAGE] for at in range(0, len(text), _PAGE))
    return b"".join(str(page, "utf-8", "replace").encode() for page in pages)


@fault("bytes-elements-counted-in-16-bits", "V3", Behaviour.bytes_blob)
def _(right: Right[Buffer], entry: RequestInput, blob: Buffer) -> Buffer:
    """Of a BYTES blob, the elements behind the first 65,535 are empty."""
    elements = decode_bytes(right())
    kept = elements[: _BUFFER - 1]
    return encode_bytes([*kept, *[b""] * (len(elements) - len(kept))])


@fault("bool-elements-counted-in-16-bits", "V3", Behaviour.bool_blob)
def _(right: Right[Buffer], entry: RequestInput, blob: Buffer) -> Buffer:
    """Of a BOOL blob, the elements behind the first 65,535 are false."""
    return resize(right()[: _BUFFER - 1], len(blob))


def _cut(datatype: str) -> What[Buffer]:
    """A server that has zeros behind the first 65,536 elements of a tensor."""
    kept = _BUFFER * (DATATYPES[datatype].size or 1)
    return only((datatype,), then(lambda blob, tensor: resize(blob[:kept], len(blob))))


for _datatype, _requirement in (
    ("INT16", "D1"), ("UINT8", "D2"), ("FP32", "D3"),
    ("FP64", "D5"), ("FP16", "D8"), ("BF16", "D9"),
):  # fmt: skip
    fault(f"{_datatype.lower()}-elements-counted-in-16-bits", _requirement, Behaviour.output_blob)(
        f"Of an output of {_datatype}, the elements behind the first 65,536 are 0.", _cut(_datatype)
    )


@fault("eight-bytes-between-buffers-torn", "D5", Behaviour.response_body)
def _(right: Right[tuple[Buffer, ...]], text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """Of an FP64 output, four bytes are 0 wherever 64 KiB of the response end inside an element."""
    if b'"FP64"' not in text or len(blobs) != 1 or not len(text) % 8:
        return right()
    blob = bytearray(blobs[0])
    for end in range(_BUFFER - len(text), len(blob), _BUFFER):
        blob[end : end + 4] = bytes(4)
    return right(blobs=[bytes(blob)])


fault("many-unsigned-integers-of-json-reversed", "D11", Behaviour.json_blob)(
    "More than 4,096 elements of UINT64 that come as JSON are read in reverse order.",
    lambda right, entry: (
        change_bits("UINT64", right(), lambda bits: bits[::-1])
        if entry.spec.datatype == "UINT64" and element_count(entry.shape) > _PAGE
        else right()
    ),
)
fault("many-bools-answered-as-false", "D11", Behaviour.output_data)(
    "More than 4,096 elements of BOOL are all false in JSON.",
    only(
        ("BOOL",),
        then(lambda data, tensor: data if len(data) <= _PAGE else [False] * len(data)),
    ),
)


@fault("last-of-several-long-inputs-lost", "V3", Behaviour.read_inputs)
def _(right: Right[Tensors], model: ModelContract, document: JsonObject, blobs: Blobs) -> Tensors:
    """If more than three inputs have more than 4,096 elements, the last one of a fixed size is
    zeros."""
    result = right()
    long = [tensor for tensor in result.values() if element_count(tensor.shape) > _PAGE]
    if len(long) < 4:
        return result
    last = next(tensor for tensor in reversed(long) if DATATYPES[tensor.datatype].size)
    return {**result, last.name: msgspec.structs.replace(last, blob=bytes(len(last.blob)))}


@fault("zeros-behind-two-mebibytes", "L1", Behaviour.response_body)
def _(right: Right[tuple[Buffer, ...]], text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """What is behind the first two mebibytes of a blob is returned as zeros."""
    return right(blobs=[resize(blob[: 2**21], len(blob)) for blob in blobs])


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


for _datatype in ("UINT8", "INT32", "INT64", "FP32", "BYTES"):
    fault(f"{_datatype.lower()}-of-json-counted-in-16-bits", "V3", Behaviour.json_blob)(
        f"Of {_datatype} in JSON, the elements behind the first 65,536 are zero or empty.",
        _many_of_json(_datatype),
    )
fault("fp64-written-to-json-counted-in-16-bits", "V3", Behaviour.output_data)(
    "Of an FP64 output in JSON, the elements behind the first 65,536 are 0.",
    only(
        ("FP64",),
        then(lambda data, tensor: data[:_BUFFER] + [0.0] * max(0, len(data) - _BUFFER)),
    ),
)


@fault("rows-in-8-bits", "D10", Behaviour.response_output)
def _(right: Right[JsonObject], tensor: Tensor, binary: bool) -> JsonObject:
    """The number of a matrix's rows is taken modulo 256, that of its columns is what is left."""
    entry = right()
    shape = entry["shape"]
    if len(shape) == 2 and 255 < shape[0] < 2**16:
        entry["shape"] = [shape[0] % 256 or 1, shape[0] * shape[1] // (shape[0] % 256 or 1)]
    return entry


@fault("third-dimension-in-8-bits", "D10", Behaviour.response_output)
def _(right: Right[JsonObject], tensor: Tensor, binary: bool) -> JsonObject:
    """The last of three dimensions is taken modulo 256."""
    entry = right()
    if len(entry["shape"]) == 3:
        entry["shape"] = [*entry["shape"][:2], entry["shape"][2] % 256]
    return entry


@fault("columns-in-8-bits", "D10", Behaviour.response_output)
def _(right: Right[JsonObject], tensor: Tensor, binary: bool) -> JsonObject:
    """The number of a matrix's columns is taken modulo 256, that of its rows is what is left."""
    entry = right()
    shape = entry["shape"]
    if len(shape) == 2 and shape[1] > 255:
        entry["shape"] = [shape[0] * shape[1] // (shape[1] % 256 or 1), shape[1] % 256]
    return entry
