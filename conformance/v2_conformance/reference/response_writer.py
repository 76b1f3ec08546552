"""The response side: from a model's outputs to the bytes of a response."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from v2_conformance.protocol.datatypes import Buffer, to_json
from v2_conformance.protocol.message import Tensor, dump_json
from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_conformance.reference.http_messages import Headers, Request, Response
from v2_conformance.reference.request_reader import (
    BINARY_DATA_SIZE,
    InferenceRequest,
    JsonObject,
    RequestOutput,
)
from v2_conformance.suite.models import ModelContract


class ResponseWriter:
    """Builds responses. Every method makes one decision, so that a fault can replace just that."""

    # --- inference ---------------------------------------------------------------------------

    def inference_response(
        self, model: ModelContract, inference: InferenceRequest, tensors: dict[str, Tensor]
    ) -> Response:
        """The response to an inference request: its JSON, then the blobs it declares (P8).

        `tensors` holds every output of the model by name.
        """
        outputs = self.response_order(model, inference.outputs)
        entries = [self.response_output(tensors[output.name], output.binary) for output in outputs]
        blobs = [
            self.output_blob(tensors[output.name])
            for output in self.response_blob_order(model, outputs)
            if output.binary
        ]
        text = self.dump_document(self.response_document(model, inference, entries))
        binary = any(output.binary for output in outputs)
        headers = self.inference_headers(text, blobs, binary)
        return Response(200, headers, self.response_body(text, blobs))

    def response_order(
        self, model: ModelContract, outputs: Sequence[RequestOutput]
    ) -> Sequence[RequestOutput]:
        """The order of the outputs in the response: as requested (O13)."""
        return outputs

    def response_blob_order(
        self, model: ModelContract, outputs: Sequence[RequestOutput]
    ) -> Sequence[RequestOutput]:
        """The order of the blobs: that of the response's JSON (O12)."""
        return outputs

    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        """The JSON, then every blob, with nothing between or after them (P8)."""
        return (text, *blobs)

    def response_document(
        self, model: ModelContract, inference: InferenceRequest, entries: list[JsonObject]
    ) -> JsonObject:
        """The response's JSON. It repeats the request's `id` (O18)."""
        document: JsonObject = {"model_name": model.model, "model_version": "1"}
        if inference.id is not None:
            document["id"] = inference.id
        return document | {"outputs": entries}

    def dump_document(self, document: JsonObject) -> bytes:
        """The bytes of the response's JSON."""
        return dump_json(document)

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        """One entry of the response's `outputs`: with a size or with `data` (O10, O11)."""
        entry: JsonObject = {
            "name": tensor.name,
            "shape": list(tensor.shape),
            "datatype": tensor.datatype,
        }
        if binary:
            return entry | {"parameters": {BINARY_DATA_SIZE: self.output_size(tensor)}}
        return entry | {"data": self.output_data(tensor)}

    def output_size(self, tensor: Tensor) -> int:
        """The size of a binary output in bytes, including the prefixes of BYTES (B13)."""
        return len(tensor.blob)

    def output_data(self, tensor: Tensor) -> Any:
        """An output as JSON. Raises ElementError for values JSON cannot hold (B14, infinities)."""
        return to_json(tensor.datatype, tensor.shape, tensor.blob)

    def output_blob(self, tensor: Tensor) -> Buffer:
        """An output's bytes on the wire."""
        return tensor.blob

    def inference_headers(self, text: bytes, blobs: Sequence[Buffer], binary: bool) -> Headers:
        """The header fields of an inference response, except Content-Length (P3, P4, P9)."""
        if not binary:
            return (("Content-Type", self.json_content_type()),)
        length = self.response_header_length(text, blobs)
        typed = (("Content-Type", self.binary_content_type()),)
        return typed if length is None else (*typed, (HEADER_LENGTH, length))

    def response_header_length(self, text: bytes, blobs: Sequence[Buffer]) -> str | None:
        """The header length of a response: the JSON's length in bytes (P5, P10)."""
        return str(len(text))

    def json_content_type(self) -> str:
        """The media type of a response without binary outputs (P9)."""
        return JSON_TYPE

    def binary_content_type(self) -> str:
        """The media type of a response with binary outputs (P4)."""
        return OCTET_STREAM

    # --- errors ------------------------------------------------------------------------------

    def error(self, status: int, message: str, headers: Headers = ()) -> Response:
        """An error: a fitting status (R1, R4), typed as JSON (R5), without header length (R6)."""
        typed = (("Content-Type", self.error_content_type()), *headers)
        return Response(self.error_status(status), typed, (self.error_body(message),))

    def error_status(self, status: int) -> int:
        """The status sent for an error whose right status is `status`."""
        return status

    def error_content_type(self) -> str:
        """The media type of an error (R5)."""
        return JSON_TYPE

    def error_body(self, message: str) -> bytes:
        """The body of an error: `{"error": string}` (R2)."""
        return dump_json({"error": message})

    # --- on the wire -------------------------------------------------------------------------

    def content_length(self, response: Response) -> int:
        """The value of Content-Length: the length of the whole body (P6)."""
        return response.size

    def keeps_open(self, request: Request, response: Response) -> bool:
        """Whether the connection stays open after this response, even after an error (C5)."""
        tokens = ",".join(request.values("connection")).lower().split(",")
        asked_to_close = "close" in {token.strip() for token in tokens}
        # RFC 9112, section 6.1: whoever sent both may be smuggling a second request (J9).
        two_lengths = request.values("transfer-encoding") and request.values("content-length")
        closes = asked_to_close or bool(two_lengths)
        return response.keep_open and request.version == "1.1" and not closes

    def serialize(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        """The response's bytes in pieces, the head first.

        There is no Date: equal requests get equal bytes, so recordings stay comparable.
        """
        lines = [f"HTTP/1.1 {response.status} {_reason(response.status)}"]
        lines += [f"{name}: {value}" for name, value in response.headers]
        lines.append(f"Content-Length: {self.content_length(response)}")
        if not keep_open:
            lines.append("Connection: close")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        return [head, *response.body] if with_body else [head]

    def json_response(self, document: object) -> Response:
        """A 200 with a JSON document, for everything but inference."""
        return Response(200, (("Content-Type", JSON_TYPE),), (dump_json(document),))


def _reason(status: int) -> str:
    return HTTPStatus(status).phrase
