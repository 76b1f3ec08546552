"""Faults of discovery and framing (P)."""

from __future__ import annotations

from dataclasses import replace

from v2_conformance.protocol.datatypes import to_values
from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs, Request, Response
from v2_mutants.faults.shared.blobs import all_zeros, has_blobs, resize
from v2_mutants.registry import Right, fault, refuses, then


def _has_blobs(response: Response) -> bool:
    return len(response.body) > 1


fault("extension-not-listed", "P1", Behaviour.extensions)(
    "GET /v2 does not list binary_tensor_data.", lambda right: []
)


fault("header-length-refused", "P2", Behaviour.infer)(
    "A request with a header length is rejected.",
    refuses(lambda model, request: bool(request.values(HEADER_LENGTH)), 415),
)
fault("blobs-read-as-zeros", "P2", Behaviour.read_request)(
    "Blobs are accepted and ignored: their tensors are zeros.",
    then(
        lambda inference, model, request, length: (
            all_zeros(inference) if has_blobs(request) else inference
        )
    ),
)


@fault("request-blobs-off-by-one", "P2", Behaviour.split_body)
def _(
    right: Right[tuple[memoryview, Blobs]], request: Request, length: int | None
) -> tuple[memoryview, Blobs]:
    """Request blobs are read starting one byte after the end of the JSON."""
    text, blobs = right()
    view = memoryview(resize(blobs.view[1:], len(blobs.view)))
    return text, replace(blobs, view=view)


fault("response-header-length-missing", "P3", Behaviour.response_header_length)(
    "A response with blobs has no Inference-Header-Content-Length.", lambda right, text, blobs: None
)
fault("binary-response-typed-json", "P4", Behaviour.binary_content_type)(
    "A response with blobs has the Content-Type application/json.", lambda right: JSON_TYPE
)
fault("response-header-length-of-body", "P5", Behaviour.response_header_length)(
    "The header length of a response counts the whole body, including the blobs.",
    lambda right, text, blobs: str(len(text) + sum(map(len, blobs))),
)
fault("response-header-length-short", "P5", Behaviour.response_header_length)(
    "The header length of a response is one byte too small.",
    lambda right, text, blobs: str(len(text) - 1),
)


@fault.several("content-length-too-large", "P6")
class _ContentLengthTooLarge(Behaviour):
    """The Content-Length of a response with blobs is four bytes larger than its body."""

    def content_length(self, response: Response) -> int:
        return super().content_length(response) + 4 * _has_blobs(response)

    def keeps_open(self, request: Request, response: Response) -> bool:
        # Otherwise the client would only see a timeout.
        return super().keeps_open(request, response) and not _has_blobs(response)


fault("response-blobs-padded", "P8", Behaviour.response_body)(
    "Response blobs are padded to multiples of 8 bytes; their sizes do not count the padding.",
    lambda right, text, blobs: (text, *(resize(blob, -(-len(blob) // 8) * 8) for blob in blobs)),
)
fault("json-response-with-nan", "P9", Behaviour.output_data)(
    "Non-finite floats are written to JSON as NaN and Infinity.",
    lambda right, tensor: (
        to_values(tensor.datatype, tensor.blob)
        if tensor.datatype in ("FP16", "BF16", "FP32", "FP64")
        else right()
    ),
)
fault("json-response-latin-1", "P9", Behaviour.dump_document)(
    "The JSON of a response is encoded in Latin-1, not in UTF-8.",
    lambda right, document: right().decode().encode("latin-1", "replace"),
)


fault("response-header-length-counts-characters", "P10", Behaviour.response_header_length)(
    "The header length of a response counts characters, not bytes.",
    lambda right, text, blobs: str(len(text.decode())),
)

for _name, _text, _of in (
    ("leading-white-space-refused", "A request with white space before its JSON is rejected.",
     lambda text: bytes(text[:1]) != b"{"),
    ("trailing-white-space-refused", "A request with white space after its JSON is rejected.",
     lambda text: bytes(text[-1:]) != b"}"),
):  # fmt: skip
    fault(_name, "P11", Behaviour.parse_document)(_text, refuses(_of))

fault("octet-stream-hides-json-data", "P12", Behaviour.read_request)(
    "In a request without blobs typed application/octet-stream, JSON data is read as zeros.",
    then(
        lambda inference, model, request, length: (
            all_zeros(inference)
            if OCTET_STREAM in request.values("Content-Type") and not has_blobs(request)
            else inference
        )
    ),
)
fault("octet-stream-refused", "P12", Behaviour.infer)(
    "A request with the Content-Type application/octet-stream is rejected.",
    refuses(lambda model, request: OCTET_STREAM in request.values("content-type"), 415),
)
