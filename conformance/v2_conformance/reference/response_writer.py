"""The response side: from a model's outputs to the bytes of a response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any

from v2_conformance.protocol.datatypes import Buffer, to_json
from v2_conformance.protocol.message import Tensor, dump_json
from v2_conformance.protocol.names import BINARY_DATA_SIZE, HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_conformance.reference.http_messages import Framing, Headers, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestOutput
from v2_conformance.suite.models import ModelContract

_JOIN_BELOW = 2**16
# As in RFC 9110, also before Python 3.13: equal answers have equal bytes everywhere.
_RENAMED = ("Content Too Large", "URI Too Long", "Range Not Satisfiable", "Unprocessable Content")
_PHRASES = {one.value: one.phrase for one in HTTPStatus} | dict(
    zip((413, 414, 416, 422), _RENAMED, strict=True)
)


def reason_phrase(status: int) -> str:
    """Return what the first line of a response says after its status."""
    return _PHRASES.get(status, "Unknown")


class ResponseWriter:
    """Builds responses. Every method makes one decision, so that a fault can replace just that."""

    # --- inference ---------------------------------------------------------------------------

    def inference_response(
        self, model: ModelContract, inference: InferenceRequest, tensors: dict[str, Tensor]
    ) -> Response:
        """The response to an inference request: its JSON, then the blobs it declares (P8).
        `tensors` holds every output of the model by name."""
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
        return self.json_text(document)

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        """One entry of the response's `outputs`: with a size or with `data` (O10, O11)."""
        shape = list(tensor.shape)
        entry: JsonObject = {"name": tensor.name, "shape": shape, "datatype": tensor.datatype}
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
        return self.json_text({"error": message})

    # --- on the wire -------------------------------------------------------------------------

    def content_length(self, response: Response) -> int:
        """The value of Content-Length: the length of the whole body (P6)."""
        return response.size

    def keeps_open(self, request: Request, response: Response) -> bool:
        """Return True if the connection stays open after this response, also an error (C5)."""
        tokens = ",".join(request.values("connection")).lower().split(",")
        asked_to_close = "close" in {token.strip() for token in tokens}
        # RFC 9112, section 6.1: whoever sent both may be smuggling a second request (J9).
        two_lengths = request.values("transfer-encoding") and request.values("content-length")
        closes = asked_to_close or bool(two_lengths) or response.framing is Framing.CLOSE
        return response.keep_open and request.version == "1.1" and not closes

    def interim_responses(self, request: Request) -> bytes:
        """Return what goes before the response: nothing (RFC 9110, section 15.2)."""
        return b""

    def serialize(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        """The response's bytes in pieces, the head first. There is no Date: equal requests get
        equal bytes, so recordings stay comparable."""
        fields = self.fields_to_send(response, keep_open=keep_open)
        lines = [self.status_line(response), *(self.field_line(*field) for field in fields)]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        return [head, *self.framed_body(response)] if with_body else [head]

    def status_line(self, response: Response) -> str:
        """The first line of a response."""
        return f"HTTP/1.1 {response.status} {reason_phrase(response.status)}"

    def fields_to_send(self, response: Response, *, keep_open: bool) -> Headers:
        """The response's header fields, with those of its framing and of the connection."""
        fields = [*response.headers]
        if response.framing is Framing.LENGTH:
            fields.append(("Content-Length", str(self.content_length(response))))
        elif response.framing is Framing.CHUNKS:
            fields.append(("Transfer-Encoding", "chunked"))
        if not keep_open:
            fields.append(("Connection", "close"))
        return tuple(fields)

    def field_line(self, name: str, value: str) -> str:
        """A header field as a line of the head."""
        return f"{name}: {value}"

    def framed_body(self, response: Response) -> list[Buffer]:
        """The pieces of the body as they are sent, in chunks if the response says so."""
        if response.framing is not Framing.CHUNKS:
            return [*response.body]
        chunks = [chunk for piece in response.body if len(piece) for chunk in self.chunks(piece)]
        return [*chunks, self.last_chunk()]

    def chunks(self, piece: Buffer) -> Iterator[Buffer]:
        """A piece of a body as chunks: one."""
        yield b"%x\r\n" % len(piece)
        yield piece
        yield b"\r\n"

    def last_chunk(self) -> bytes:
        """Return what ends a body in chunks."""
        return b"0\r\n\r\n"

    def writes(self, pieces: Sequence[Buffer]) -> Iterator[Buffer]:
        """Yield what is written at once: small pieces are joined, large ones never copied."""
        small: list[Buffer] = []
        for piece in pieces:
            if len(piece) < _JOIN_BELOW:
                small.append(piece)
                continue
            yield b"".join(small)
            yield piece
            small = []
        if small:
            yield b"".join(small)

    def json_response(self, document: object) -> Response:
        """A 200 with a JSON document, for everything but inference."""
        return Response(200, (("Content-Type", JSON_TYPE),), (self.json_text(document),))

    def json_text(self, value: object) -> bytes:
        """The bytes of any JSON that the server writes."""
        return dump_json(value)
