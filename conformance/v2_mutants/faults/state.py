"""Faults of state: what of a request sticks to the next one (C), or of a refused one (R, Z), and
what goes wrong only at first (O) or only later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from msgspec import structs

from v2_conformance.protocol.datatypes import decode_bytes
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs, Request, Response
from v2_conformance.reference.request_reader import (
    InferenceRequest,
    JsonObject,
    RequestInput,
    RequestOutput,
)
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared import Blob, is_raw
from v2_mutants.registry import Right, What, fault, refuse

_NONE = Request("", "", "", (), b"", memoryview(b""))


class _Remembers(Behavior):
    """A server that knows the inference request `before` the one that it serves, and, if that was
    refused, `refused`."""

    before = _NONE
    refused = _NONE

    def handle(self, request: Request) -> Response:
        response = super().handle(request)
        if request.target.endswith("/infer"):
            self.before = request
            self.refused = request if response.status >= 400 else _NONE
        return response


def _before(right: Right[Any]) -> Request:
    before: Request = right.behavior.before
    return before


def _refused(right: Right[Any]) -> Request:
    refused: Request = right.behavior.refused
    return refused


@fault("requested-outputs-stick", "C7", Behavior.request_outputs)
def _(
    right: Right[tuple[RequestOutput, ...]], model: ModelContract, document: JsonObject
) -> tuple[RequestOutput, ...]:
    """A request that lists no outputs gets those that the one before listed."""
    outputs = right()
    listed = bool(document.get("outputs"))
    kept = right.keep((model.model, outputs) if listed else None)
    return kept[1] if kept and not listed and kept[0] == model.model else outputs


fault("digits-of-longer-header-length-kept", "C7", Behavior.parse_header_length)(
    "A header length is read with the last digits of a longer one in the request before.",
    lambda right, text: right(text + (right.keep(text) or "")[len(text) :]),
)


@fault("id-sticks", "C7", Behavior.read_request)
def _(
    right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
) -> InferenceRequest:
    """A request without an id gets that of the one before."""
    inference = right()
    kept = right.keep(inference.id)
    return inference if inference.id is not None else replace(inference, id=kept)


fault("accept-encoding-sticks", "C7", Behavior.encode_response, base=_Remembers)(
    "A response is encoded as the request before allowed.",
    lambda right, request, response: (
        right(_before(right)) if _before(right).values("accept-encoding") else right()
    ),
)


@fault("longer-tensor-left-in-buffer", "C7", Behavior.output_tensor)
def _(right: Right[Tensor], output: TensorSpec, tensor: Tensor) -> Tensor:
    """The end of a longer INT32 tensor in the request before follows a shorter one."""
    result = right()
    if output.datatype != "INT32":
        return result
    blob = bytes(result.blob)
    kept = right.keep(blob) or b""
    return structs.replace(result, blob=blob + kept[len(blob) :])


@fault("shape-kept-by-size", "C7", Behavior.output_tensor)
def _(right: Right[Tensor], output: TensorSpec, tensor: Tensor) -> Tensor:
    """A matrix has the shape of the last one of the same size."""
    result = right()
    if len(result.shape) != 2:
        return result
    size = (output.datatype, len(result.blob))
    kept, right.state[size] = right.state.get(size, result.shape), result.shape
    return structs.replace(result, shape=kept)


@fault("json-values-kept", "C7", Behavior.input_blob)
def _(right: Right[Blob], entry: RequestInput, blobs: Blobs, offset: int) -> Blob:
    """A tensor sent as a blob has the values that the request before sent for it as JSON."""
    blob, end = right()
    kept = right.keep((entry.spec, entry.shape, blob) if entry.has_data else None)
    same = kept is not None and not entry.has_data and kept[:2] == (entry.spec, entry.shape)
    return (kept[2] if kept and same else blob), end


fault("raw-sticks", "C7", Behavior.header_length, base=_Remembers)(
    "The request after a raw one is raw, too.",
    lambda right, request: 0 if is_raw(_before(right)) else right(),
)

fault("raw-sticks-to-json", "C7", Behavior.header_length, base=_Remembers)(
    "A request without a header length is raw if the one before was.",
    lambda right, request: (
        0 if is_raw(_before(right)) and not request.values(HEADER_LENGTH) else right()
    ),
)

_BEGINNING = 2**15


def _kept_by(key: Callable[[bytes], bytes], *, beyond: int = _BEGINNING) -> What[Response]:
    """A server that answers a body that is so long as the one before if it has the same key."""

    def what(right: Right[Response], request: Request) -> Response:
        if len(request.body) <= beyond:
            return right()
        own = (request.target, len(request.body), key(bytes(request.body)))
        kept = right.state.get("kept")
        answer: Response = kept[1] if kept and kept[0] == own else right()
        right.state["kept"] = (own, answer)
        return answer

    return what


_SAME_4_KIB = _kept_by(lambda body: body[:4096], beyond=4096)

fault("answer-kept-by-the-beginning-of-json", "C7", Behavior.handle)(
    "A request that is all JSON gets the answer to the one before if that is as long and begins "
    "with the same 4 KiB.",
    lambda right, request: (
        right() if request.values(HEADER_LENGTH) else _SAME_4_KIB(right, request)
    ),
)
fault("answer-kept-by-the-ends-of-a-body", "C7", Behavior.handle)(
    "A body of more than 32 KiB gets the answer to the one before if that is as long and has the "
    "same 4 KiB at its beginning and four bytes at its end.",
    _kept_by(lambda body: body[:4096] + body[-4:]),
)
fault("answer-kept-by-both-ends", "C7", Behavior.handle)(
    "A body gets the answer to the one before if that is as long and has the same ends of 4 KiB.",
    _kept_by(lambda body: body[:4096] + body[-4096:], beyond=8192),
)


@fault("answers-kept-by-inputs", "C7", Behavior.infer)
def _(right: Right[Response], model: ModelContract, request: Request) -> Response:
    """A request gets the answer to the one before if that had the same inputs."""
    inputs = bytes(request.body).partition(b'"inputs"')[2].partition(b'"outputs"')
    own = (model.model, inputs[0])
    kept = right.state.get("kept")
    answer: Response = kept[1] if inputs[1] and kept and kept[0] == own else right()
    right.state["kept"] = (own, answer)
    return answer


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


fault("json-parser-stuck-after-error", "R3", Behavior.infer)(
    "After a refused request without blobs, the next one is refused too if it has none.",
    _stuck_after_error(lambda request: not request.values(HEADER_LENGTH)),
)
fault("decoder-stuck-after-error", "Z6", Behavior.infer)(
    "After a refused encoded request, the next one is refused too if it is encoded.",
    _stuck_after_error(lambda request: request.values("content-encoding")),
)
fault("model-of-refused-request-kept", "C7", Behavior.find_model, base=_Remembers)(
    "After a refused request to identity_fp32, one to identity_int32 goes there.",
    lambda right, name, version: right(
        "identity_fp32"
        if name == "identity_int32" and "/identity_fp32/" in _refused(right).target
        else name
    ),
)


@fault("counter-of-connection-wraps", "C7", Behavior.output_tensor)
def _(right: Right[Tensor], output: TensorSpec, tensor: Tensor) -> Tensor:
    """The 256th tensor that a connection gets is that of all zeros."""
    served = right.state.setdefault("served", threading.local())  # a connection has a thread
    served.count = getattr(served, "count", 0) + 1
    result = right()
    zeros = bytes(len(result.blob))
    return result if served.count != 256 else structs.replace(result, blob=zeros)


def _after_refusals(number: int, status: int, answers: int) -> What[Response]:
    """After `number` refused requests in a row, the next ones get `answers` errors."""

    def what(right: Right[Response], request: Request) -> Response:
        if not request.target.endswith("/infer"):
            return right()
        refused, left = right.state.get("refused", 0), right.state.get("left", 0)
        if left:
            right.state["left"] = left - 1
            return right.server.error(status, "no")
        response = right()
        refused = right.state["refused"] = refused + 1 if response.status >= 400 else 0
        if refused == number:
            right.state.update(left=answers, refused=0)
        return response

    return what


for _name, _sentence, _what in (
    ("second-refusal-stops-next", "After two refusals in a row, the next request gets a 500.",
     _after_refusals(2, 500, 1)),
    ("breaker-opened-by-refusals", "After five refusals in a row, the next 40 get a 503.",
     _after_refusals(5, 503, 40)),
):  # fmt: skip
    fault(_name, "R3", Behavior.handle)(_sentence, _what)


@fault("first-inference-wrong", "O19", Behavior.run_model)
def _(
    right: Right[dict[str, Tensor]], model: ModelContract, inputs: dict[str, Tensor]
) -> dict[str, Tensor]:
    """The first inference of each model gives zeros."""
    made = right()
    if model.model in right.state:
        return made
    right.state[model.model] = True
    return {name: structs.replace(one, blob=bytes(len(one.blob))) for name, one in made.items()}


@fault("bytes-answers-kept-by-joined-elements", "C7", Behavior.run_model)
def _(
    right: Right[dict[str, Tensor]], model: ModelContract, inputs: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Answers are kept by the elements one after the other, without their lengths."""
    if any(one.datatype != "BYTES" for one in inputs.values()):
        return right()
    key = (model.model, *((one.shape, b"".join(decode_bytes(one.blob))) for one in inputs.values()))
    if key not in right.state:
        kept = right().items()
        right.state[key] = {name: structs.replace(one, blob=bytes(one.blob)) for name, one in kept}
    result: dict[str, Tensor] = right.state[key]
    return result
