"""Faults of raw binary requests (W)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import msgspec

from v2_conformance.protocol.datatypes import DATATYPES, Shape, element_count, encode_bytes
from v2_conformance.protocol.message import MessageError, Tensor
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, RequestOutput
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.blobs import all_in_json, all_zeros, resize
from v2_mutants.faults.shared.crashes import CrashingServer
from v2_mutants.faults.shared.deliveries import (
    changes_raw_if,
    is_chunked,
    is_coded,
    is_raw,
    is_versioned,
    raw_read_as_zeros_if,
    reads_body_once,
)
from v2_mutants.faults.shared.meetings import Blanks, Meets, Seen
from v2_mutants.faults.shared.spellings import Sees
from v2_mutants.registry import Right, What, fault, refuse, refuses, then

fault("raw-refused", "W1", Behaviour.read_raw)(
    "Raw requests are rejected.", lambda right, model, body: refuse()
)
fault("raw-answered-as-json", "W2", Behaviour.read_raw)(
    "A raw request is answered in JSON.",
    then(lambda inference, model, body: all_in_json(inference)),
)
fault("raw-first-output-only", "W2", Behaviour.read_raw)(
    "A raw request is answered with only the first output of the model.",
    then(lambda inference, model, body: replace(inference, outputs=inference.outputs[:1])),
)


@fault("raw-shape-counts-bytes", "W3", Behaviour.raw_shape)
def _(right: Right[Shape], datatype: str, dims: Shape, size: int) -> Shape:
    """The variable dimension of a raw tensor is its number of bytes."""
    right()
    return tuple(size if dimension == -1 else dimension for dimension in dims)


fault("raw-variable-dimension-refused", "W3", Behaviour.raw_shape)(
    "A raw request is rejected if the model has a variable dimension.",
    refuses(lambda datatype, dims, size: -1 in dims),
)


@fault("raw-size-from-content-length", "W3", Behaviour.infer)
def _(right: Right[Response], model: ModelContract, request: Request) -> Response:
    """A raw tensor is as long as Content-Length says, so it is empty if the body is chunked."""
    if is_chunked(request) and is_raw(request):
        request = replace(request, body=request.body[:0])
    return right(request=request)


fault("raw-body-read-once", "W3", Behaviour.handle)(
    "The body of a raw request is read from the socket only once.", reads_body_once(is_raw)
)
fault("raw-without-batch-dimension", "W4", Behaviour.read_raw)(
    "The input of a raw request to a batching model gets no batch dimension.",
    then(
        lambda inference, model, body: (
            inference
            if not model.batching
            else replace(
                inference,
                inputs={
                    name: msgspec.structs.replace(tensor, shape=tensor.shape[1:])
                    for name, tensor in inference.inputs.items()
                },
            )
        )
    ),
)


@fault("raw-several-inputs-accepted", "W5", Behaviour.read_raw)
def _(right: Right[InferenceRequest], model: ModelContract, body: memoryview) -> InferenceRequest:
    """A raw request to a model with several inputs fills its BOOL input; the others are empty."""
    if len(model.inputs) == 1:
        return right()
    inputs = {
        spec.name: Tensor(spec.name, "BOOL", (len(body),), body)
        if spec.datatype == "BOOL"
        else Tensor(spec.name, spec.datatype, (0,) * len(spec.dims), b"")
        for spec in model.inputs
    }
    outputs = tuple(RequestOutput(spec.name, True) for spec in model.outputs)
    return InferenceRequest(inputs, outputs)


@fault("raw-two-variable-dimensions", "W6", Behaviour.raw_shape)
def _(right: Right[Shape], datatype: str, dims: Shape, size: int) -> Shape:
    """All variable dimensions of a raw tensor except the last are read as 1."""
    fixed = list(dims)
    while fixed.count(-1) > 1:
        fixed[fixed.index(-1)] = 1
    return right(dims=tuple(fixed))


fault("raw-bytes-split-into-elements", "W7", Behaviour.raw_bytes_tensor)(
    "A raw request for BYTES of variable shape is read as elements of one byte.",
    lambda right, dims, body: (
        right() if dims != (-1,) else ((len(body),), encode_bytes([bytes([byte]) for byte in body]))
    ),
)
fault("raw-bytes-cut-at-nul", "W8", Behaviour.raw_bytes_tensor)(
    "The body of a raw request for BYTES ends at its first NUL.",
    lambda right, dims, body: right(body=memoryview(bytes(body).partition(b"\x00")[0])),
)
fault("raw-bytes-lose-nuls-at-end", "W8", Behaviour.raw_bytes_tensor)(
    "The body of a raw request for BYTES loses the NULs at its end, as numpy's S dtype does.",
    lambda right, dims, body: right(body=memoryview(bytes(body).rstrip(b"\x00"))),
)
fault("raw-bytes-lose-a-line-end", "W8", Behaviour.raw_bytes_tensor)(
    "The body of a raw request for BYTES loses the line end at its end.",
    lambda right, dims, body: right(body=memoryview(bytes(body).removesuffix(b"\r\n"))),
)
fault("raw-bytes-cut-at-255", "W8", Behaviour.raw_bytes_tensor)(
    "Of the body of a raw request for BYTES, 255 bytes are read.",
    lambda right, dims, body: right(body=body[:255]),
)


def _whole(body: bytes) -> bytes:
    return body[: len(body) // 4 * 4]


def _nothing(body: bytes) -> bytes:
    return b""


def _as_text(body: bytes) -> bytes:
    return body.decode("utf-8", "replace").encode()


def _to(name: str, when: Callable[[Request], object] = lambda request: True) -> Sees:
    """Match such requests to the model called `name`."""
    return lambda request: f"/{name}/" in request.target and bool(when(request))


for _name, _where, _when in (
    ("in-chunks", "in chunks", is_chunked),
    ("in-codings", "in a content coding", is_coded),
    ("on-a-versioned-path", "on a path with the model's version", is_versioned),
):
    fault(f"raw-rest-{_name}-dropped", "W9", Behaviour.decode_request)(
        f"Of a raw body {_where}, what is left behind whole elements of 4 bytes is dropped.",
        changes_raw_if(_when, _whole),
    )
    fault(f"raw-bytes-{_name}-lost", "W8", Behaviour.decode_request)(
        f"Of a raw body for BYTES {_where}, nothing is read.",
        changes_raw_if(_to("raw_bytes", _when), _nothing),
    )
    if _name != "on-a-versioned-path":
        fault(f"raw-bytes-{_name}-read-as-text", "W8", Behaviour.decode_request)(
            f"In a raw body for BYTES {_where}, what is not UTF-8 is replaced.",
            changes_raw_if(_to("raw_bytes", _when), _as_text),
        )
fault("long-raw-batches-cut", "W4", Behaviour.decode_request)(
    "Of a raw body for a batching model, 64 KiB are read.",
    changes_raw_if(_to("raw_batched"), lambda body: body[:65536]),
)
fault("raw-batched-rest-dropped", "W9", Behaviour.decode_request)(
    "Of a raw body for a batching model, what is left behind whole elements is dropped.",
    changes_raw_if(_to("raw_batched"), _whole),
)


@fault("raw-odd-size-cut", "W9", Behaviour.read_raw)
def _(right: Right[InferenceRequest], model: ModelContract, body: memoryview) -> InferenceRequest:
    """Surplus bytes of a raw tensor are dropped, and missing bytes are read as zeros."""
    spec = model.inputs[0]
    size = DATATYPES[spec.datatype].size
    if size is None:
        return right()
    step = size * abs(element_count(spec.dims))
    fitting = len(body) // step * step if -1 in spec.dims else step
    return right(body=memoryview(resize(body, fitting)))


@fault("raw-tensor-repeated", "W9", Behaviour.read_raw)
def _(right: Right[InferenceRequest], model: ModelContract, body: memoryview) -> InferenceRequest:
    """Of a raw body as long as several tensors of the model's shape, the first is read."""
    spec = model.inputs[0]
    size = DATATYPES[spec.datatype].size
    if size is None or -1 in spec.dims:
        return right()
    step = size * element_count(spec.dims)
    return right(body=body[:step] if len(body) > step and len(body) % step == 0 else body)


def _cuts_elements_of(size: int) -> What[InferenceRequest]:
    """A server that drops what is left of a raw body behind whole elements of this size."""
    return lambda right, model, body: right(
        body=body[: len(body) // size * size]
        if DATATYPES[model.inputs[0].datatype].size == size
        else body
    )


fault("raw-rest-of-eight-bytes-dropped", "W9", Behaviour.read_raw)(
    "Behind whole elements of 8 bytes, surplus bytes of a raw tensor are dropped.",
    _cuts_elements_of(8),
)
fault("raw-rest-of-two-bytes-dropped", "W9", Behaviour.read_raw)(
    "Behind whole elements of 2 bytes, a surplus byte of a raw tensor is dropped.",
    _cuts_elements_of(2),
)


def _in_chunks_and(coding: str) -> Sees:
    return lambda request: is_chunked(request) and request.values("content-encoding") == [coding]


for _coding in ("gzip", "deflate"):
    fault(f"raw-chunks-in-{_coding}-read-as-zeros", "W1", Behaviour.decode_request)(
        f"A raw body in chunks and in {_coding} is read as zeros.",
        raw_read_as_zeros_if(_in_chunks_and(_coding)),
    )


def _reads_bytes(read: Callable[[bytes], bytes]) -> What[InferenceRequest]:
    """A server that takes a raw body for what it looks like."""
    return lambda right, model, body: right(body=memoryview(read(bytes(body))))


for _name, _text, _read in (
    ("stripped", "White space at the ends of a raw body is lost.", bytes.strip),
    ("stripped-at-its-end", "White space at the end of a raw body is lost.", bytes.rstrip),
    ("without-byte-order-mark", "A raw body loses the byte order mark at its beginning.",
     lambda body: body.removeprefix(b"\xef\xbb\xbf")),
    ("up-to-an-empty-line", "A raw body ends at its first empty line.",
     lambda body: body.partition(b"\r\n\r\n")[0]),
):  # fmt: skip
    fault(f"raw-body-{_name}", "W1", Behaviour.read_raw)(_text, _reads_bytes(_read))
fault("raw-body-like-gzip-refused", "W1", Behaviour.read_raw)(
    "A raw body that begins as a gzip stream does is rejected.",
    refuses(lambda model, body: bytes(body[:2]) == b"\x1f\x8b"),
)

fault("empty-body-taken-as-raw", "W10", Behaviour.read_request)(
    "An empty body is read as a raw tensor, even without a header length of 0.",
    lambda right, model, request, length: (
        right.server.read_raw(model, request.body)
        if length is None and not len(request.body)
        else right()
    ),
)


@fault("unparsable-body-read-as-zeros", "W10", Behaviour.read_request)
def _(
    right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
) -> InferenceRequest:
    """A body that is not JSON is read as a raw tensor of zeros, even without a header length."""
    try:
        return right()
    except MessageError:
        if length is not None or bytes(request.body[:1]) == b"{":
            raise
        return all_zeros(right.server.read_raw(model, request.body))


@fault("unparsable-body-taken-as-raw", "W10", Behaviour.read_request)
def _(
    right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
) -> InferenceRequest:
    """A body that is not JSON is read as raw, even without a header length of 0."""
    try:
        return right()
    except MessageError:
        if length is not None or bytes(request.body[:1]) == b"{":
            raise
        return right.server.read_raw(model, request.body)


@fault.several("header-length-zero-crashes", "W11")
class _HeaderLengthZeroCrashes(CrashingServer):
    """The server does not support raw requests, and a header length of 0 crashes it."""

    def __init__(self, profiles: Collection[str] = SERVER_PROFILES) -> None:
        super().__init__([profile for profile in profiles if profile != "raw"])

    def read_zero_header_length(self, model: ModelContract, request: Request) -> InferenceRequest:
        self.crashed = True
        return super().read_zero_header_length(model, request)


fault("raw-json-looked-for", "W1", Behaviour.read_raw)(
    "A raw body that begins with a brace is taken for JSON, and rejected.",
    refuses(lambda model, body: bytes(body[:1]) == b"{"),
)


@fault.several("coded-raw-bodies-cut", "W1")
class _CodedRawCut(Behaviour):
    """A raw body in a coding is decoded into 64 KiB, and what does not fit is lost."""

    coded = threading.local()

    def decode_request(self, request: Request) -> Request:
        result = super().decode_request(request)
        self.coded.now = result is not request
        return result

    def read_raw(self, model: ModelContract, body: memoryview) -> InferenceRequest:
        return super().read_raw(model, body[: 1 << 16] if self.coded.now else body)


_WAYS: Sequence[tuple[str, str, Callable[[Seen], bool]]] = (
    ("in-chunks", "in chunks", lambda seen: seen.chunked),
    ("in-gzip", "in gzip", lambda seen: seen.coding == "gzip"),
    ("of-a-version", "on a path with the model's version", lambda seen: seen.versioned),
)


def _blanks_raw(role: str, meets: Callable[[Seen], bool]) -> type[Behaviour]:
    def both(self: Meets, seen: Seen) -> bool:
        return seen.raw and seen.role == role and meets(seen)

    return type("_RawFault", (Blanks,), {"meets": both})


for _requirement, _role, _kind, _words in (
    ("W1", "raw/fixed", "fixed-raw", "A raw tensor of a fixed shape"),
    ("W2", "raw/two_outputs", "raw-for-two-outputs", "A raw tensor to a model with two outputs"),
    ("W4", "raw/batched", "raw-batch", "A raw tensor to a batching model"),
):
    for _name, _text, _meets in _WAYS:
        fault.several(
            f"{_kind}-{_name}-zeroed", _requirement, f"{_words} {_text} is read as zeros."
        )(_blanks_raw(_role, _meets))
