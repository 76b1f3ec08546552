"""Faults that somebody reported of a public server or proxy (docs/bugs.md)."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import unquote

from v2_conformance.protocol.datatypes import Buffer, decode_bytes, element_count
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs, Rejected, Request, Response
from v2_conformance.reference.request_reader import JsonObject, RequestInput, RequestOutput
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared import (
    CrashingModels,
    CrashingServer,
    die,
    ends_server,
    kills_model,
    with_length,
)
from v2_mutants.registry import Right, What, fault, refuses, then

_FORM = ["application/x-www-form-urlencoded"]
_LONG_BODY = 2**16
_LONG_FORM = 2**22
_LONG_ELEMENT = 2**19
# Too short for a line end, so that the server waits for more before it finds that it is no request.
_CAME_WITH_HEAD = 30
# Where a chunk should end: before the size of the next one, or at the end of what came.
_NO_END = re.compile(rb"XX(?=[0-9a-fA-F]+\r\n|\Z)")


def _leaves_unread(when: Callable[[Request], object]) -> What[bytes]:
    """A server that answers for an unknown model, and forgets what it has read of the body."""
    return lambda right, request, response: (
        bytes(request.body[:_CAME_WITH_HEAD]) if response.status == 404 and when(request) else b""
    )


fault("request-header-length-sent-back", "P9", Behavior.handle)(
    "A JSON response has the header length of its request.",
    then(
        lambda response, request: (
            with_length(response, request)
            if response.status == 200 and HEADER_LENGTH not in dict(response.headers)
            else response
        )
    ),
)
fault("long-body-without-type-ends-server", "P14", Behavior.infer, base=CrashingServer)(
    "A body of more than 64 KiB without a Content-Type crashes the server.",
    ends_server(
        lambda model, request: not request.values("content-type") and len(request.body) > _LONG_BODY
    ),
)


def _ends_on_long_form(framed: bool) -> What[Response]:
    """A server that ends on a long body typed as a form, with blobs only if `framed`."""
    return ends_server(
        lambda model, request: (
            request.values("content-type") == _FORM
            and len(request.body) > _LONG_FORM
            and bool(request.values(HEADER_LENGTH)) == framed
        )
    )


fault("long-json-form-ends-server", "R3", Behavior.infer, base=CrashingServer)(
    "JSON of more than 4 MiB with the Content-Type of a form crashes the server.",
    _ends_on_long_form(framed=False),
)
fault("long-binary-form-ends-server", "R3", Behavior.infer, base=CrashingServer)(
    "A body of more than 4 MiB with blobs and the Content-Type of a form crashes the server.",
    _ends_on_long_form(framed=True),
)
fault("json-read-to-the-last-brace", "H1", Behavior.split_body)(
    "The JSON of a request with blobs ends at the last brace of the body.",
    lambda right, request, length: (
        right(length=bytes(request.body).rfind(b"}") + 1) if length else right()
    ),
)
fault("body-in-chunks-read-as-empty", "C1", Behavior.handle)(
    "A body in chunks is read as empty.",
    lambda right, request: (
        right(replace(request, body=memoryview(b"")))
        if request.values("transfer-encoding")
        else right()
    ),
)
fault("bool-in-json-refused", "D11", Behavior.json_blob)(
    "A BOOL input in JSON is rejected.",
    refuses(lambda entry: entry.spec.datatype == "BOOL"),
)
fault("json-compressed-without-a-name", "P9", Behavior.infer)(
    "A JSON response to an inference is in gzip, and has no Content-Encoding.",
    then(
        lambda response, model, request: (
            response
            if HEADER_LENGTH in dict(response.headers)
            else replace(response, body=(gzip.compress(b"".join(response.body), mtime=0),))
        )
    ),
)


@fault.several("negative-size-moves-back", "S6")
class _NegativeSizeMovesBack(Behavior):
    """A negative size of an input behind others moves the offset of the blobs back."""

    def negative_size(self, entry: RequestInput, size: int) -> int:
        return size

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        if size >= 0:
            return super().slice_blob(entry, blobs, offset, size)
        if not offset:
            raise Rejected(f"input {entry.spec.name} begins before the body")
        return super().slice_blob(entry, blobs, offset, -size)


fault("no-strings-kill-model", "J1", Behavior.json_blob, base=CrashingModels)(
    "Strings that are all missing are rejected, but the model stops working.",
    kills_model(
        lambda entry: (
            entry.spec.datatype == "BYTES" and entry.data == [] and element_count(entry.shape)
        ),
        500,
    ),
)


@fault("megabyte-elements-refused", "B12", Behavior.bytes_blob)
def _(right: Right[Buffer], entry: RequestInput, blob: Buffer) -> Buffer:
    """A binary BYTES input with an element of more than 524288 bytes is rejected."""
    blob = right(blob=blob)
    if any(len(element) > _LONG_ELEMENT for element in decode_bytes(blob)):
        raise Rejected(f"input {entry.spec.name} has an element that is too long")
    return blob


fault("empty-dimensions-in-32-bits", "E5", Behavior.input_shape)(
    "Dimensions of a tensor without elements are kept in 32 bits.",
    then(
        lambda whole, spec, shape: (
            whole if element_count(whole) else tuple(size % 2**32 for size in whole)
        )
    ),
)
fault("wide-batch-kills-model", "E5", Behavior.request_inputs, base=CrashingModels)(
    "A batch of 2^31 items or more is rejected, but its model stops working.",
    then(
        lambda entries, model, document: (
            die(500)
            if model.batching and any(entry.shape[0] >= 2**31 for entry in entries)
            else entries
        )
    ),
)
fault("long-body-of-unknown-model-left-on-connection", "C5", Behavior.left_on_connection)(
    "If the model is unknown, a body of more than 64 KiB begins the next request.",
    _leaves_unread(
        lambda request: (
            len(request.body) > _LONG_BODY
            and not request.values("expect")
            and "/versions/" not in request.target
        )
    ),
)
fault("long-body-of-unknown-version-left-on-connection", "C5", Behavior.left_on_connection)(
    "If the version is unknown, a body of more than 64 KiB begins the next request.",
    _leaves_unread(
        lambda request: len(request.body) > _LONG_BODY and "/versions/99/" in request.target
    ),
)
fault("expected-body-left-on-connection", "C5", Behavior.left_on_connection)(
    "After Expect: 100-continue for an unknown model, the body begins the next request.",
    _leaves_unread(lambda request: request.values("expect")),
)


def _dies_of_classification(fatal: Callable[[str, int], bool]) -> What[tuple[RequestOutput, ...]]:
    """A server whose model dies if an output of the datatype asks for so many classes."""

    def asks(model: ModelContract, item: JsonObject) -> bool:
        classes = item.get("parameters", {}).get("classification")
        return type(classes) is int and fatal(model.outputs[0].datatype, classes)

    return then(
        lambda outputs, model, document: (
            die(500) if any(asks(model, item) for item in document.get("outputs", ())) else outputs
        )
    )


fault("chunk-ends-not-looked-at", "C8", Behavior.received)(
    "Two letters X after the data of a chunk count as the end of its line.",
    lambda right, data: _NO_END.sub(b"\r\n", right()),
)
fault("model-name-followed-as-a-path", "R1", Behavior.route)(
    "A model name that leads out of the folder of models is answered with a file.",
    lambda right, request: (
        Response(200, (("Content-Type", "text/plain"),), (b"[extensions]",))
        if unquote(request.target).startswith("/v2/models/..\\")
        else right()
    ),
)
fault("classification-of-strings-kills-model", "R3", Behavior.request_outputs, base=CrashingModels)(
    "A `classification` of BYTES is rejected, but its model stops working.",
    _dies_of_classification(lambda datatype, classes: datatype == "BYTES"),
)
fault("empty-body-is-500", "R4", Behavior.parse_document)(
    "A body without any bytes gets the status 500.", refuses(lambda text: not text, 500)
)
fault("form-read-as-zeros", "P14", Behavior.split_body)(
    "The blobs of a body that is said to be a form are read as zeros.",
    then(
        lambda parts, request, length: (
            (parts[0], replace(parts[1], view=memoryview(bytes(len(parts[1].view)))))
            if request.values("content-type") == _FORM
            else parts
        )
    ),
)
