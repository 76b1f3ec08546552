"""Faults of state: what of a request sticks to the next one (C), or of a refused one (R, Z)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs, Request, Response
from v2_conformance.reference.request_reader import (
    BINARY_DATA_OUTPUT,
    JsonObject,
    RequestInput,
    RequestOutput,
)
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared.blobs import Blob
from v2_mutants.faults.shared.deliveries import is_chunked
from v2_mutants.registry import Right, What, fault, refuse


class _Remembers(Behaviour):
    """A server that knows the inference request `before` the one that it serves."""

    before = Request("", "", "", (), b"", memoryview(b""))

    def handle(self, request: Request) -> Response:
        try:
            return super().handle(request)
        finally:
            if request.target.endswith("/infer"):
                self.before = request


def _before(right: Right[Any]) -> Request:
    before: Request = right.behaviour.before
    return before


fault("binary-output-flag-sticks", "C7", Behaviour.binary_by_default, base=_Remembers)(
    "The next request has binary outputs too if one asked for them with binary_data_output.",
    lambda right, document: (
        right()
        or (
            BINARY_DATA_OUTPUT not in document.get("parameters", {})
            and b'"binary_data_output":true' in bytes(_before(right).body)
        )
    ),
)

fault("output-binary-data-sticks", "C7", Behaviour.binary_by_default, base=_Remembers)(
    "A request that lists no outputs gets blobs if the one before asked for one.",
    lambda right, document: (
        right()
        or (
            not ("outputs" in document or document.get("parameters"))
            and b'"binary_data":true' in bytes(_before(right).body)
        )
    ),
)


@fault("requested-outputs-stick", "C7", Behaviour.request_outputs)
def _(
    right: Right[tuple[RequestOutput, ...]], model: ModelContract, document: JsonObject
) -> tuple[RequestOutput, ...]:
    """A request that lists no outputs gets those that the one before listed."""
    outputs = right()
    listed = bool(document.get("outputs"))
    kept = right.keep((model.model, outputs) if listed else None)
    return kept[1] if kept and not listed and kept[0] == model.model else outputs


fault("digits-of-longer-header-length-kept", "C7", Behaviour.parse_header_length)(
    "A header length is read with the last digits of a longer one in the request before.",
    lambda right, text: right(text + (right.keep(text) or "")[len(text) :]),
)


def _keeps_id(with_id: bool) -> What[Any]:
    """A server that gives a request with or without an id that of the one before."""

    def what(right: Right[Any], *read: object) -> Any:
        inference = right()
        kept = right.keep(inference.id)
        applies = kept is not None and (inference.id is not None) == with_id
        return replace(inference, id=kept) if applies else inference

    return what


fault("id-sticks", "C7", Behaviour.read_request)(
    "A request without an id gets that of the one before.", _keeps_id(False)
)

fault("id-of-request-before", "C7", Behaviour.read_request)(
    "A request with an id gets that of the one before, if that had one.", _keeps_id(True)
)

fault("content-coding-sticks", "C7", Behaviour.decode_request, base=_Remembers)(
    "A request without Content-Encoding is decoded as the one before was.",
    lambda right, request: (
        refuse()
        if _before(right).values("content-encoding") and not request.values("content-encoding")
        else right()
    ),
)

fault("accept-encoding-sticks", "C7", Behaviour.encode_response, base=_Remembers)(
    "A response is encoded as the request before allowed.",
    lambda right, request, response: (
        right(_before(right)) if _before(right).values("accept-encoding") else right()
    ),
)


@fault("longer-tensor-left-in-buffer", "C7", Behaviour.output_tensor)
def _(right: Right[Tensor], output: TensorSpec, tensor: Tensor) -> Tensor:
    """The end of a longer INT32 tensor in the request before follows a shorter one."""
    found = right()
    if output.datatype != "INT32":
        return found
    blob = bytes(found.blob)
    kept = right.keep(blob) or b""
    return msgspec.structs.replace(found, blob=blob + kept[len(blob) :])


@fault("shape-kept-by-size", "C7", Behaviour.output_tensor)
def _(right: Right[Tensor], output: TensorSpec, tensor: Tensor) -> Tensor:
    """A matrix has the shape of the last one of the same size."""
    found = right()
    if len(found.shape) != 2:
        return found
    size = (output.datatype, len(found.blob))
    kept, right.state[size] = right.state.get(size, found.shape), found.shape
    return msgspec.structs.replace(found, shape=kept)


fault("model-sticks", "C7", Behaviour.infer, base=_Remembers)(
    "A request to another identity model goes to the one of the request before.",
    lambda right, model, request: (
        right(right.server.models["identity_bytes"])
        if "/identity_bytes/" in _before(right).target and model.model == "identity_int32"
        else right()
    ),
)


@fault("json-values-kept", "C7", Behaviour.input_blob)
def _(right: Right[Blob], entry: RequestInput, blobs: Blobs, offset: int) -> Blob:
    """A tensor sent as a blob has the values that the request before sent for it as JSON."""
    blob, end = right()
    kept = right.keep((entry.spec, entry.shape, blob) if entry.has_data else None)
    same = kept is not None and not entry.has_data and kept[:2] == (entry.spec, entry.shape)
    return (kept[2] if kept and same else blob), end


fault("chunked-framing-sticks", "C7", Behaviour.infer, base=_Remembers)(
    "A request with a Content-Length is read as chunked if the one before was.",
    lambda right, model, request: (
        refuse() if is_chunked(_before(right)) and not is_chunked(request) else right()
    ),
)

fault("raw-sticks", "C7", Behaviour.header_length, base=_Remembers)(
    "The request after a raw one is raw, too.",
    lambda right, request: 0 if _before(right).values(HEADER_LENGTH) == ["0"] else right(),
)


def _stuck_after_error(is_its_kind: Callable[[Request], object]) -> What[Response]:
    """After a refused request of its kind, the next one of that kind is refused, too."""

    def what(right: Right[Response], model: ModelContract, request: Request) -> Response:
        stuck = right.keep(False)
        if is_its_kind(request) and stuck:
            refuse(status=500)
        try:
            return right()
        except Exception:
            right.keep(bool(is_its_kind(request)))
            raise

    return what


fault("json-parser-stuck-after-error", "R3", Behaviour.infer)(
    "After a refused request without blobs, the next one is refused too if it has none.",
    _stuck_after_error(lambda request: not request.values(HEADER_LENGTH)),
)

fault("decoder-stuck-after-error", "Z6", Behaviour.infer)(
    "After a refused encoded request, the next one is refused too if it is encoded.",
    _stuck_after_error(lambda request: request.values("content-encoding")),
)
