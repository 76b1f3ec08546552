"""Faults that somebody reported of a public server or proxy (docs/bugs.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from v2_conformance.protocol.datatypes import Buffer, decode_bytes, element_count
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs, Rejected, Request, Response
from v2_conformance.reference.request_reader import JsonObject, RequestInput, RequestOutput
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.crashes import CrashingModels, CrashingServer, FatalRequest
from v2_mutants.registry import Right, fault, refuses, then

_LONG_BODY = 2**16
_LONG_ELEMENT = 2**19
# Too short for a line end, so that the server waits for more before it finds that it is no request.
_CAME_WITH_HEAD = 30
# Where a chunk should end: before the size of the next one, or at the end of what came.
_NO_END = re.compile(rb"XX(?=[0-9a-fA-F]+\r\n|\Z)")


@fault("request-header-length-sent-back", "P9", Behaviour.handle)
def _(right: Right[Response], request: Request) -> Response:
    """A JSON response has the header length of its request."""
    response = right()
    values = request.values(HEADER_LENGTH)
    binary = any(name == HEADER_LENGTH for name, _ in response.headers)
    if response.status != 200 or binary or not values:
        return response
    return replace(response, headers=(*response.headers, (HEADER_LENGTH, values[0])))


@fault.several("long-body-without-type-ends-server", "P14")
class _LongBodyWithoutTypeEndsServer(CrashingServer):
    """A body of more than 64 KiB without a Content-Type crashes the server."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if not request.values("content-type") and len(request.body) > _LONG_BODY:
            self.crashed = True
        return super().infer(model, request)


@fault.several("negative-size-moves-back", "S6")
class _NegativeSizeMovesBack(Behaviour):
    """A negative size of an input behind others moves the offset of the blobs back."""

    def negative_size(self, entry: RequestInput, size: int) -> int:
        return size

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        if size >= 0:
            return super().slice_blob(entry, blobs, offset, size)
        if not offset:
            raise Rejected(f"input {entry.spec.name} begins before the body")
        return super().slice_blob(entry, blobs, offset, -size)


@fault.several("no-strings-kill-model", "J1")
class _NoStringsKillModel(CrashingModels):
    """Strings that are all missing are rejected, but the model stops working."""

    def json_blob(self, entry: RequestInput) -> Buffer:
        if entry.spec.datatype == "BYTES" and entry.data == [] and element_count(entry.shape):
            raise FatalRequest(f"input {entry.spec.name}: it crashed at the first string", 500)
        return super().json_blob(entry)


@fault("megabyte-elements-refused", "B12", Behaviour.bytes_blob)
def _(right: Right[Buffer], entry: RequestInput, blob: Buffer) -> Buffer:
    """A binary BYTES input with an element of more than 524288 bytes is rejected."""
    blob = right(blob=blob)
    if any(len(element) > _LONG_ELEMENT for element in decode_bytes(blob)):
        raise Rejected(f"input {entry.spec.name} has an element that is too long")
    return blob


fault("empty-dimensions-in-32-bits", "E5", Behaviour.input_shape)(
    "Dimensions of a tensor without elements are kept in 32 bits.",
    then(
        lambda whole, spec, shape: (
            whole if element_count(whole) else tuple(size % 2**32 for size in whole)
        )
    ),
)


@fault.several("wide-batch-kills-model", "E5")
class _WideBatchKillsModel(CrashingModels):
    """A batch of 2^31 items or more is rejected, but its model stops working."""

    def request_inputs(self, model: ModelContract, document: JsonObject) -> list[RequestInput]:
        entries = super().request_inputs(model, document)
        if model.batching and any(entry.shape[0] >= 2**31 for entry in entries):
            raise FatalRequest(f"{model.model} crashed while it took its batch", 500)
        return entries


class _LeavesUnreadBody(Behaviour):
    """A server that answers for an unknown model, and forgets what it has read of the body."""

    def unread(self, request: Request) -> bool:
        raise NotImplementedError

    def left_on_connection(self, request: Request, response: Response) -> bytes:
        unread = response.status == 404 and self.unread(request)
        return bytes(request.body[:_CAME_WITH_HEAD]) if unread else b""


@fault.several("long-body-of-unknown-model-left-on-connection", "C5")
class _LongBodyOfUnknownModelLeftOnConnection(_LeavesUnreadBody):
    """If the model is unknown, a body of more than 64 KiB begins the next request."""

    def unread(self, request: Request) -> bool:
        return len(request.body) > _LONG_BODY and not request.values("expect")


@fault.several("expected-body-left-on-connection", "C5")
class _ExpectedBodyLeftOnConnection(_LeavesUnreadBody):
    """After Expect: 100-continue for an unknown model, the body begins the next request."""

    def unread(self, request: Request) -> bool:
        return bool(request.values("expect"))


fault("chunk-ends-not-looked-at", "C8", Behaviour.received)(
    "Two letters X after the data of a chunk count as the end of its line.",
    lambda right, data: _NO_END.sub(b"\r\n", right()),
)
fault("model-name-followed-as-a-path", "R1", Behaviour.route)(
    "A model name that leads out of the folder of models is answered with a file.",
    lambda right, request: (
        Response(200, (("Content-Type", "text/plain"),), (b"[extensions]",))
        if unquote(request.target).startswith("/v2/models/..\\")
        else right()
    ),
)


def _dies_of_classification(fatal: Callable[[str, int], bool]) -> type[Behaviour]:
    """A server whose model dies if an output of the datatype asks for so many classes."""

    class DiesOfClassification(CrashingModels):
        def request_outputs(
            self, model: ModelContract, document: JsonObject
        ) -> tuple[RequestOutput, ...]:
            outputs = super().request_outputs(model, document)
            for item in document.get("outputs", ()):
                classes = _parameter(item, "classification")
                if type(classes) is int and fatal(model.outputs[0].datatype, classes):
                    raise FatalRequest(f"{model.model} crashed while it sorted elements", 500)
            return outputs

    return DiesOfClassification


def _parameter(item: Mapping[str, Any], name: str) -> object:
    return item.get("parameters", {}).get(name)


fault.several(
    "classification-of-strings-kills-model",
    "R3",
    "A `classification` of BYTES is rejected, but its model stops working.",
)(_dies_of_classification(lambda datatype, classes: datatype == "BYTES"))
fault.several(
    "classification-into-none-kills-model",
    "R3",
    "A `classification` into 0 classes is rejected, but its model stops working.",
)(_dies_of_classification(lambda datatype, classes: classes == 0))
fault.several(
    "classification-into-many-kills-model",
    "R3",
    "A `classification` into 2^20 classes is rejected, but its model stops working.",
)(_dies_of_classification(lambda datatype, classes: classes >= 2**20))
fault("empty-body-is-500", "R4", Behaviour.parse_document)(
    "A body without any bytes gets the status 500.", refuses(lambda text: not text, 500)
)
