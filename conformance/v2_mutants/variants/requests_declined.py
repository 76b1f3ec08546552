"""Variants of what a server declines of what it need not accept."""

from __future__ import annotations

from typing import Any

from v2_conformance.protocol.datatypes import Buffer, to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.request_reader import (
    BINARY_DATA_SIZE,
    InferenceRequest,
    JsonObject,
    RequestInput,
)
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.deliveries import is_chunked
from v2_mutants.registry import Right, refuse, refuses, variant

_LIMIT = 2**16
_HALVES = ("FP16", "BF16")


variant("content-length-required", "RFC 9110, section 15.5.12", Behaviour.infer)(
    "A body in chunks is answered with 411.",
    refuses(lambda model, request: is_chunked(request), 411),
)
variant("content-length-required-by-gateway", "RFC 9110, section 15.5.12", Behaviour.handle)(
    "A body in chunks is answered with 411 by a gateway: in HTML, and the connection closed.",
    lambda right, request: _page(411, b"Length Required") if is_chunked(request) else right(),
)
variant("bodies-limited-by-gateway", "RFC 9110, section 15.5.14", Behaviour.handle)(
    "A body of more than 64 KiB is answered with 413 by a gateway.",
    lambda right, request: _page(413, b"Too Large") if len(request.body) > _LIMIT else right(),
)


@variant("decoded-bodies-limited", "RFC 9110, section 15.5.14", Behaviour.decode_request)
def _(right: Right[Request], request: Request) -> Request:
    """A body that has or decodes to more than 64 KiB is answered with 413."""
    decoded = right()
    return decoded if len(decoded.body) <= _LIMIT else refuse("the body is too large", 413)


variant("no-empty-tensors", "docs/disputes.md, E1 to E5", Behaviour.input_shape)(
    "Tensors without elements are rejected, whatever their form.",
    lambda right, spec, shape: refuse("a tensor without elements") if 0 in right() else right(),
)


@variant("redundant-header-length-refused", "docs/disputes.md, H11 and P12", Behaviour.read_request)
def _(
    right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
) -> InferenceRequest:
    """A header length on a request without blobs is rejected."""
    found, server = right(), right.server
    if length is not None:
        text, _ = server.split_body(request, length)
        entries = server.request_inputs(model, server.parse_document(text))
        if not any(BINARY_DATA_SIZE in entry.parameters for entry in entries):
            refuse(f"{HEADER_LENGTH} without blobs")
    return found


variant("unknown-parameters-refused", "docs/disputes.md, S14 and O15", Behaviour.declared_size)(
    "Parameters of inputs that the server does not know are rejected.",
    refuses(lambda entry: bool(set(entry.parameters) - {BINARY_DATA_SIZE})),
)


@variant.several("numbers-are-doubles", "docs/disputes.md, D15, and RFC 8259, section 6")
class _NumbersAreDoubles(Behaviour):
    """Integers in JSON beyond 2^53 are rejected, in requests and in responses."""

    def json_blob(self, entry: RequestInput) -> Buffer:
        return self._only_doubles(entry.spec.datatype, super().json_blob(entry))

    def output_data(self, tensor: Tensor) -> Any:
        self._only_doubles(tensor.datatype, tensor.blob)
        return super().output_data(tensor)

    def _only_doubles(self, datatype: str, blob: Buffer) -> Buffer:
        values = to_values(datatype, blob) if datatype in ("INT64", "UINT64") else []
        return refuse("no double has it") if any(abs(n) > 2**53 for n in values) else blob


@variant.several("no-halves-in-json", "docs/disputes.md, D12")
class _NoHalvesInJson(Behaviour):
    """FP16 and BF16 have no JSON form, as in Triton and KServe; outputs listed without
    binary_data are JSON.
    """

    def json_blob(self, entry: RequestInput) -> Buffer:
        return refuse() if entry.spec.datatype in _HALVES else super().json_blob(entry)

    def output_data(self, tensor: Tensor) -> Any:
        return refuse() if tensor.datatype in _HALVES else super().output_data(tensor)

    def binary_flag(self, parameters: JsonObject, default: bool) -> bool:
        return super().binary_flag(parameters, False)


variant("space-around-json-refused", "docs/disputes.md, P11", Behaviour.parse_document)(
    "White space around the JSON object is rejected.",
    refuses(lambda text: bytes(text).strip() != text),
)


def _page(status: int, words: bytes) -> Response:
    """A gateway's error: it knows nothing of the protocol's error bodies, and closes."""
    page = b"<html><h1>%d %b</h1></html>" % (status, words)
    return Response(status, (("Content-Type", "text/html"),), (page,), keep_open=False)
