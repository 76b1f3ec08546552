"""Faults of several inputs (M), of tensors without elements (E), and of raw requests (W)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from msgspec import structs

from v2_conformance.protocol.datatypes import DATATYPES, Shape, element_count, encode_bytes
from v2_conformance.protocol.message import MessageError, Tensor
from v2_conformance.protocol.names import BINARY_DATA_SIZE, SERVER_PROFILES
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs, Rejected, Request
from v2_conformance.reference.request_reader import (
    InferenceRequest,
    JsonObject,
    RequestInput,
    RequestOutput,
)
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.crossing import Blanks, Meets, Seen
from v2_mutants.faults.shared import (
    Blob,
    CrashingServer,
    Inputs,
    Sees,
    Tensors,
    all_in_json,
    all_zeros,
    changes_raw_if,
    is_chunked,
    is_raw,
    raw_read_as_zeros_if,
    reads_body_once,
    resize,
)
from v2_mutants.registry import Right, What, fault, only, refuse, refuses, then


@fault("every-input-gets-the-rest", "M1", Behavior.slice_blob)
def _(
    right: Right[memoryview], entry: RequestInput, blobs: Blobs, offset: int, size: int
) -> memoryview:
    """Every binary input gets the rest of the body, including the blobs of later inputs."""
    right()
    rest = blobs.view[offset:]
    if len(rest) != size:
        raise Rejected(f"input {entry.spec.name}: {len(rest)} bytes do not fit its shape")
    return rest


@fault("inputs-of-one-datatype-share-a-buffer", "M1", Behavior.run_model)
def _(right: Right[Tensors], model: ModelContract, inputs: Tensors) -> Tensors:
    """Inputs of one datatype and length all have the values of the last of them."""
    last = {(one.datatype, len(one.blob)): one.blob for one in inputs.values()}
    shared = ((one, last[one.datatype, len(one.blob)]) for one in inputs.values())
    return right(inputs={one.name: structs.replace(one, blob=blob) for one, blob in shared})


fault("later-outputs-end-after-64-kib", "M1", Behavior.output_tensor)(
    "An output behind the first is zeros after 64 KiB.",
    then(
        lambda made, output, tensor: (
            structs.replace(made, blob=bytes(made.blob[: 1 << 16]).ljust(len(made.blob), b"\0"))
            if output.name != "OUTPUT0"
            else made
        )
    ),
)
fault("request-blobs-in-model-order", "M2", Behavior.blob_order)(
    "Request blobs are read in the order of the model's inputs, not of the request's JSON.",
    lambda right, model, entries: sorted(entries, key=lambda entry: model.inputs.index(entry.spec)),
)
fault("json-inputs-take-blob-bytes", "M3", Behavior.input_blob)(
    "An input in JSON moves the offset of the blobs after it.",
    then(lambda made, entry, blobs, offset: (made[0], made[1] + len(made[0]) * entry.has_data)),
)
fault("mixed-inputs-refused", "M3", Behavior.request_inputs)(
    "A request with both binary and JSON inputs is rejected.",
    then(
        lambda entries, model, document: (
            refuse()
            if len({BINARY_DATA_SIZE in entry.parameters for entry in entries}) > 1
            else entries
        )
    ),
)


def _empty_inputs_take(surplus: Callable[[RequestInput], int]) -> type[Behavior]:
    """A server that takes so many bytes too many for some inputs; the last blob ends in zeros."""

    class EmptyInputsTake(Behavior):
        def read_inputs(
            self, model: ModelContract, document: JsonObject, blobs: Blobs
        ) -> dict[str, Tensor]:
            taken = sum(map(surplus, self.request_inputs(model, document)))
            padded = memoryview(bytes(blobs.view) + bytes(taken)) if len(blobs.view) else blobs.view
            return super().read_inputs(model, document, replace(blobs, view=padded))

        def input_blob(self, entry: RequestInput, blobs: Blobs, offset: int) -> Blob:
            blob, end = super().input_blob(entry, blobs, offset)
            return blob, end + (surplus(entry) if len(blobs.view) else 0)

    return EmptyInputsTake


fault.several(
    "empty-input-shifts-blobs",
    "M4",
    "A binary input without elements takes one byte of the next blob.",
)(_empty_inputs_take(lambda entry: int(entry.parameters.get(BINARY_DATA_SIZE) == 0)))
fault.several(
    "empty-data-takes-a-byte",
    "M4",
    "In a request with blobs, an input with an empty `data` array takes a byte of a blob.",
)(_empty_inputs_take(lambda entry: int(entry.data == [])))
fault("many-inputs-refused", "M5", Behavior.request_inputs)(
    "A request with more than eight binary inputs is rejected.",
    then(
        lambda entries, model, document: (
            refuse()
            if sum(BINARY_DATA_SIZE in entry.parameters for entry in entries) > 8
            else entries
        )
    ),
)


@fault("common-dimension-taken-for-a-batch", "M5", Behavior.request_inputs)
def _(right: Right[Inputs], model: ModelContract, document: JsonObject) -> Inputs:
    """Three binary inputs that all begin with the same dimension, which is more than 32, are
    rejected as a batch that is too large."""
    entries = right()
    binary = [entry for entry in entries if BINARY_DATA_SIZE in entry.parameters]
    first = {entry.shape[0] for entry in binary}
    if len(binary) == 3 and len(first) == 1 and (max(first) > 32):
        raise Rejected("the batch is too large")
    return entries


fault("binary-outputs-need-binary-inputs", "M6", Behavior.read_request)(
    "If all inputs are JSON, all outputs are, too.",
    then(
        lambda inference, model, request, length: (
            inference
            if BINARY_DATA_SIZE.encode() in bytes(request.body)
            else all_in_json(inference)
        )
    ),
)


@fault("output-flags-shift-behind-reordered-inputs", "M7", Behavior.read_request)
def _(
    right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
) -> InferenceRequest:
    """If inputs and outputs are both reordered, each output has the form of the next one."""
    inference = right()
    input_names = [spec.name for spec in model.inputs]
    output_names = [spec.name for spec in model.outputs]
    positions = [output_names.index(output.name) for output in inference.outputs]
    if list(inference.inputs) == input_names or positions == sorted(positions):
        return inference
    flags = [output.binary for output in inference.outputs]
    shifted = zip(inference.outputs, flags[1:] + flags[:1], strict=True)
    outputs = tuple(replace(output, binary=flag) for output, flag in shifted)
    return replace(inference, outputs=outputs)


fault("json-inputs-by-their-places", "M3", Behavior.read_request)(
    "Without blobs, the first input of a request is the first of the model.",
    then(
        lambda inference, model, request, length: (
            inference
            if length is not None
            else replace(
                inference,
                inputs={
                    spec.name: structs.replace(tensor, name=spec.name)
                    for spec, tensor in zip(model.inputs, inference.inputs.values(), strict=False)
                },
            )
        )
    ),
)


fault("size-zero-refused", "E1", Behavior.check_size)(
    "An input with the size 0 is rejected.", refuses(lambda entry, size: size == 0)
)


@fault("empty-output-without-size", "E2", Behavior.response_output)
def _(right: Right[JsonObject], tensor: Tensor, binary: bool) -> JsonObject:
    """A binary output without elements has no size."""
    entry = right()
    if binary and not len(tensor.blob):
        del entry["parameters"]
    return entry


fault("empty-response-without-json", "E4", Behavior.response_body)(
    "If all outputs are binary and empty, the response has no body.",
    lambda right, text, blobs: () if blobs and (not any(map(len, blobs))) else right(),
)
fault("empty-bytes-become-one-element", "E5", Behavior.output_tensor)(
    "A BYTES output without elements is returned with one empty element.",
    only(
        ("BYTES",),
        then(
            lambda made, output, tensor: (
                structs.replace(made, blob=bytes(4)) if 0 in made.shape else made
            )
        ),
    ),
)


def _refuses_without_elements(
    when: Callable[[Request, Sequence[Tensor]], object],
) -> What[InferenceRequest]:
    """A server that refuses tensors without elements in some requests only."""

    def what(
        right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = right()
        tensors = list(inference.inputs.values())
        if any(0 in tensor.shape for tensor in tensors) and when(request, tensors):
            refuse()
        return inference

    return what


for _name, _where, _when in (
    ("in-chunks", "in chunks", lambda request, tensors: is_chunked(request)),
    ("of-bf16", "of BF16", lambda request, tensors: tensors[0].datatype == "BF16"),
):  # fmt: skip
    fault(f"zero-elements-refused-{_name}", "E1", Behavior.read_request)(
        f"A tensor without elements is rejected {_where}, and served otherwise.",
        _refuses_without_elements(_when),
    )

fault("raw-refused", "W1", Behavior.read_raw)(
    "Raw requests are rejected.", lambda right, model, body: refuse()
)
fault("raw-answered-as-json", "W2", Behavior.read_raw)(
    "A raw request is answered in JSON.",
    then(lambda inference, model, body: all_in_json(inference)),
)
fault("raw-variable-dimension-refused", "W3", Behavior.raw_shape)(
    "A raw request is rejected if the model has a variable dimension.",
    refuses(lambda datatype, dims, size: -1 in dims),
)
fault("raw-body-read-once", "W3", Behavior.handle)(
    "The body of a raw request is read from the socket only once.", reads_body_once(is_raw)
)


@fault("raw-several-inputs-accepted", "W5", Behavior.read_raw)
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


@fault("raw-two-variable-dimensions", "W6", Behavior.raw_shape)
def _(right: Right[Shape], datatype: str, dims: Shape, size: int) -> Shape:
    """All variable dimensions of a raw tensor except the last are read as 1."""
    fixed = list(dims)
    while fixed.count(-1) > 1:
        fixed[fixed.index(-1)] = 1
    return right(dims=tuple(fixed))


fault("raw-bytes-split-into-elements", "W7", Behavior.raw_bytes_tensor)(
    "A raw request for BYTES of variable shape is read as elements of one byte.",
    lambda right, dims, body: (
        right() if dims != (-1,) else ((len(body),), encode_bytes([bytes([byte]) for byte in body]))
    ),
)
fault("raw-bytes-lose-nuls-at-end", "W8", Behavior.raw_bytes_tensor)(
    "The body of a raw request for BYTES loses the NULs at its end, as numpy's S dtype does.",
    lambda right, dims, body: right(body=memoryview(bytes(body).rstrip(b"\x00"))),
)


def _to(name: str, when: Callable[[Request], object] = lambda request: True) -> Sees:
    """Match such requests to the model called `name`."""
    return lambda request: f"/{name}/" in request.target and bool(when(request))


fault("raw-bytes-in-chunks-lost", "W8", Behavior.decode_request)(
    "Of a raw body for BYTES in chunks, nothing is read.",
    changes_raw_if(_to("raw_bytes", is_chunked), lambda body: b""),
)
fault("long-raw-batches-cut", "W4", Behavior.decode_request)(
    "Of a raw body for a batching model, 64 KiB are read.",
    changes_raw_if(_to("raw_batched"), lambda body: body[:65536]),
)


@fault("raw-odd-size-cut", "W9", Behavior.read_raw)
def _(right: Right[InferenceRequest], model: ModelContract, body: memoryview) -> InferenceRequest:
    """Surplus bytes of a raw tensor are dropped, and missing bytes are read as zeros."""
    spec = model.inputs[0]
    size = DATATYPES[spec.datatype].size
    if size is None:
        return right()
    step = size * abs(element_count(spec.dims))
    fitting = len(body) // step * step if -1 in spec.dims else step
    return right(body=memoryview(resize(body, fitting)))


def _in_chunks_and(coding: str) -> Sees:
    return lambda request: is_chunked(request) and request.values("content-encoding") == [coding]


for _coding in ("gzip", "deflate"):
    fault(f"raw-chunks-in-{_coding}-read-as-zeros", "W1", Behavior.decode_request)(
        f"A raw body in chunks and in {_coding} is read as zeros.",
        raw_read_as_zeros_if(_in_chunks_and(_coding)),
    )


def _reads_bytes(read: Callable[[bytes], bytes]) -> What[InferenceRequest]:
    """A server that takes a raw body for what it looks like."""
    return lambda right, model, body: right(body=memoryview(read(bytes(body))))


for _name, _text, _read in (
    ("stripped-at-its-end", "White space at the end of a raw body is lost.", bytes.rstrip),
    ("without-byte-order-mark", "A raw body loses the byte order mark at its beginning.",
     lambda body: body.removeprefix(b"\xef\xbb\xbf")),
    ("without-its-line-end", "A raw body loses the line end at its end.",
     lambda body: body.removesuffix(b"\n")),
    ("up-to-an-empty-line", "A raw body ends at its first empty line.",
     lambda body: body.partition(b"\r\n\r\n")[0]),
):  # fmt: skip
    fault(f"raw-body-{_name}", "W1", Behavior.read_raw)(_text, _reads_bytes(_read))


@fault("unparsable-body-read-as-zeros", "W10", Behavior.read_request)
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


@fault.several("header-length-zero-crashes", "W11")
class _HeaderLengthZeroCrashes(CrashingServer):
    """The server does not support raw requests, and a header length of 0 crashes it."""

    def __init__(self, profiles: Collection[str] = SERVER_PROFILES) -> None:
        super().__init__([profile for profile in profiles if profile != "raw"])

    def read_zero_header_length(self, model: ModelContract, request: Request) -> InferenceRequest:
        self.crashed = True
        return super().read_zero_header_length(model, request)


@fault.several("coded-raw-bodies-cut", "W1")
class _CodedRawCut(Behavior):
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


def _blanks_raw(role: str, meets: Callable[[Seen], bool]) -> type[Behavior]:
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
