"""What several faults need: blobs and ways to damage them, how a request arrived, and servers that
refuse, crash or fall silent."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from msgspec import structs

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    Buffer,
    blob_size,
    decode_bytes,
    encode_bytes,
)
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import BINARY_DATA_SIZE, HEADER_LENGTH, SERVER_PROFILES
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs, Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract
from v2_mutants.registry import Change, P, Right, What, refuses, then

# What the longer ones of the decisions result in.
Inputs = list[RequestInput]
Tensors = dict[str, Tensor]
Blob = tuple[Buffer, int]
"""An input's elements, and the offset at which the next input's blob starts."""

Bits = np.ndarray[Any, Any]

# A fault that makes up data never makes up more than this, whatever a request declares.
MAX_MADE_UP = 2**24


def size_by_shape(entry: RequestInput) -> int | None:
    """Shape × element size of an input in bytes, None for BYTES."""
    return blob_size(entry.spec.datatype, entry.shape)


def is_bytes(entry: RequestInput) -> bool:
    """Return True if the input's datatype is BYTES."""
    return entry.spec.datatype == "BYTES"


def resize(blob: Buffer, size: int) -> bytes:
    """`blob` cut or padded with zeros to `size` bytes, with at most MAX_MADE_UP zeros."""
    return bytes(blob[:size]).ljust(min(size, len(blob) + MAX_MADE_UP), b"\0")


def resize_to_shape(entry: RequestInput, blob: Buffer) -> Buffer:
    """An input's blob cut or padded with zeros to shape × element size; BYTES as they are."""
    size = size_by_shape(entry)
    return blob if size is None else resize(blob, size)


def input_parameters(document: JsonObject) -> list[JsonObject]:
    """The parameters of the request's inputs, if they are objects."""
    inputs = document.get("inputs")
    items = [item for item in inputs if isinstance(item, dict)] if isinstance(inputs, list) else []
    results = [item.get("parameters") for item in items]
    return [parameters for parameters in results if isinstance(parameters, dict)]


def has_blobs(request: Request) -> bool:
    """Return True if an input of the request declares a size."""
    text = bytes(request.body).decode("latin-1")  # one character a byte, whatever follows the JSON
    try:
        document, _ = json.JSONDecoder(strict=False).raw_decode(
            text, len(text) - len(text.lstrip())
        )
    except (ValueError, RecursionError):
        return BINARY_DATA_SIZE in text
    inputs = document.get("inputs") if isinstance(document, dict) else None
    entries = (
        [item for item in inputs if isinstance(item, dict)] if isinstance(inputs, list) else []
    )
    parameters = [entry.get("parameters") for entry in entries]
    return any(isinstance(item, dict) and BINARY_DATA_SIZE in item for item in parameters)


def all_in_json(inference: InferenceRequest) -> InferenceRequest:
    """The request, with all of its outputs in JSON."""
    outputs = tuple(replace(output, binary=False) for output in inference.outputs)
    return replace(inference, outputs=outputs)


def all_zeros(inference: InferenceRequest) -> InferenceRequest:
    """The request with zeros as the elements of every input of a fixed-size datatype."""
    zeros = {
        name: structs.replace(tensor, blob=bytes(len(tensor.blob)))
        for name, tensor in inference.inputs.items()
        if DATATYPES[tensor.datatype].size
    }
    return replace(inference, inputs=inference.inputs | zeros)


def swap_bytes(datatype: str, blob: Buffer) -> bytes:
    """A blob with the bytes of each element reversed; BYTES as they are."""
    size = DATATYPES[datatype].size
    if size is None:
        return bytes(blob)
    swapped: Bits = np.frombuffer(blob, f"<u{size}").byteswap()
    return swapped.tobytes()


def change_bits(datatype: str, blob: Buffer, change: Callable[[Bits], Bits]) -> bytes:
    """A fixed-size blob after `change` of its elements, given as unsigned integers."""
    bits = np.frombuffer(blob, f"<u{DATATYPES[datatype].size}")
    return change(bits).astype(bits.dtype).tobytes()


def through_fp32(blob: Buffer) -> bytes:
    """Return FP64 elements rounded to the precision of FP32."""
    with np.errstate(all="ignore"):
        return bytes(np.frombuffer(blob, "<f8").astype("<f4").astype("<f8").tobytes())


def change_elements(blob: Buffer, change: Callable[[bytes], bytes]) -> bytes:
    """A BYTES blob after `change` of each element."""
    return encode_bytes([change(element) for element in decode_bytes(blob)])


def column_major(tensor: Tensor, *, back: bool = False) -> Tensor:
    """A row-major tensor's elements in column-major order; with `back`, the other way around."""
    if len(tensor.shape) < 2 or 0 in tensor.shape:
        return tensor
    order = np.arange(math.prod(tensor.shape)).reshape(tensor.shape).ravel(order="F")
    elements = _elements(tensor)
    return _with_elements(
        tensor, [elements[i] for i in (np.argsort(order) if back else order).tolist()]
    )


def reversed_order(tensor: Tensor) -> Tensor:
    """The tensor with its elements in reverse order."""
    return _with_elements(tensor, _elements(tensor)[::-1])


def _elements(tensor: Tensor) -> list[bytes]:
    """The elements of any tensor, each as its bytes (BYTES without the prefix)."""
    size = DATATYPES[tensor.datatype].size
    blob = bytes(tensor.blob)
    if size is None:
        return decode_bytes(blob)
    return [blob[start : start + size] for start in range(0, len(blob), size)]


def _with_elements(tensor: Tensor, elements: list[bytes]) -> Tensor:
    """The tensor with other elements (see _elements)."""
    fixed = DATATYPES[tensor.datatype].size is not None
    return structs.replace(tensor, blob=b"".join(elements) if fixed else encode_bytes(elements))


def is_chunked(request: Request) -> bool:
    """Return True if the body came in the chunked coding, without a Content-Length."""
    return bool(request.values("Transfer-Encoding"))


def is_coded(request: Request) -> bool:
    """Return True if the body is in a content coding."""
    return bool(request.values("Content-Encoding"))


def is_versioned(request: Request) -> bool:
    """Return True if the path names a version of the model."""
    return "/versions/" in request.target


def is_last(request: Request) -> bool:
    """Return True if the connection ends with the request."""
    return request.values("Connection") == ["close"]


def is_raw(request: Request) -> bool:
    """Return True if the whole body is one tensor."""
    return request.values(HEADER_LENGTH) == ["0"]


def changes_raw_if(
    when: Callable[[Request], object], change: Callable[[bytes], bytes]
) -> What[Request]:
    """A server that changes decoded raw bodies if `when` is true of the request."""
    return then(
        lambda decoded, request: (
            replace(decoded, body=memoryview(change(bytes(decoded.body))))
            if is_raw(request) and when(request)
            else decoded
        )
    )


def raw_read_as_zeros_if(when: Callable[[Request], object]) -> What[Request]:
    """A server that reads raw bodies as zeros if `when` is true of the request."""
    return changes_raw_if(when, lambda body: bytes(len(body)))


def first_read(request: Request) -> Request:
    """The request as a server gets it that reads the body from the socket only once."""
    if not request.segment_cuts:
        return request
    return replace(request, body=request.body[: request.segment_cuts[0]])


def reads_body_once(applies: Callable[[Request], bool]) -> What[Response]:
    """A server that reads the body of a request only once if `applies` to the request."""
    return lambda right, request: right(first_read(request) if applies(request) else request)


def with_length(response: Response, request: Request) -> Response:
    """The response with the header length of its request, if that has one."""
    own = tuple((HEADER_LENGTH, value) for value in request.values(HEADER_LENGTH)[:1])
    return replace(response, headers=(*response.headers, *own))


def loses_behind(pattern: bytes) -> What[bytes]:
    """A server that throws away the requests that come in the same read behind this pattern."""
    result = re.compile(b"(%s)POST .*" % pattern, re.DOTALL)
    return lambda right, data: result.sub(rb"\1", right())


def blobs_cut_if(when: Callable[[Request], object], size: int) -> What[tuple[memoryview, Blobs]]:
    """Return what reads only so much of the blobs of such a request, and zeros for the rest."""

    def what(
        right: Right[tuple[memoryview, Blobs]], request: Request, length: int | None
    ) -> tuple[memoryview, Blobs]:
        text, blobs = right()
        if len(blobs.view) <= size or not when(request):
            return text, blobs
        read = bytes(blobs.view[:size]).ljust(len(blobs.view), b"\0")
        return text, replace(blobs, view=memoryview(read))

    return what


Sees = Callable[[Request], bool]
Reads = Callable[[str, JsonObject], bool]

_STACK_TRACE = Response(500, (("Content-Type", "text/plain"),), (b"Traceback\n",))


def refuses_if(when: Sees, status: int = 400) -> What[Response]:
    """A server that rejects a request when it `when` says so of its head or its pieces."""
    return refuses(lambda model, request: when(request), status)


def crashes(when: Sees) -> What[Response]:
    """A server whose framework answers with a stack trace when `when` says so."""
    return lambda right, model, request: _STACK_TRACE if when(request) else right()


def refuses_json(when: Reads) -> What[JsonObject]:
    """A server that rejects a request when `when` says so of its JSON, text and document."""

    def what(right: Right[JsonObject], text: memoryview) -> JsonObject:
        document = right()
        if when(str(text, "utf-8"), document):
            raise Rejected("the JSON is not understood")
        return document

    return what


def reads_zeros(when: Reads) -> What[InferenceRequest]:
    """A server that loses its place, and computes on zeros, when `when` says so of the JSON."""

    def what(
        right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = right()
        text, _ = right.server.split_body(request, length)
        lost = when(str(text, "utf-8"), right.server.parse_document(text))
        return all_zeros(inference) if lost else inference

    return what


class CrashingServer(Behavior):
    """A server that stops accepting connections as soon as `crashed` is set."""

    crashed = False

    def listening(self) -> bool:
        return super().listening() and not self.crashed


def ends_server(when: Callable[P, object]) -> Change[Any, P]:
    """Return what ends a CrashingServer if `when` is true of the decision's arguments."""

    def what(right: Right[Any], /, *args: P.args, **kwargs: P.kwargs) -> Any:
        if when(*args, **kwargs):
            right.behavior.crashed = True
        return right()

    return what


class FatalRequest(Rejected):
    """The request is answered with an error, and it crashes its model."""


class CrashingModels(Behavior):
    """A server whose models stop working after a request that raises `fatal`."""

    fatal: type[Exception] = FatalRequest

    def __init__(self, profiles: Collection[str] = SERVER_PROFILES) -> None:
        super().__init__(profiles)
        self.dead: set[str] = set()

    def infer(self, model: ModelContract, request: Request) -> Response:
        if model.model in self.dead:
            raise Rejected(f"the model {model.model} has crashed", 503)
        try:
            return super().infer(model, request)
        except self.fatal:
            self.dead.add(model.model)
            raise


def die(status: int = 400) -> NoReturn:
    """Let the model of CrashingModels die of the request in hand. Raises FatalRequest."""
    raise FatalRequest("the model crashed while it served this request", status)


def kills_model(when: Callable[P, object], status: int = 400) -> Change[Any, P]:
    """Return what kills a model of CrashingModels if `when` is true of the decision's arguments."""

    def what(right: Right[Any], /, *args: P.args, **kwargs: P.kwargs) -> Any:
        return die(status) if when(*args, **kwargs) else right()

    return what


NO_RESPONSE = Response(0, keep_open=False)
"""In place of a response, the connection is closed."""


class Silent(Behavior):
    """A server that sends nothing in place of a response with the status 0."""

    def serialize(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        if not response.status:
            return []
        return super().serialize(response, keep_open=keep_open, with_body=with_body)
