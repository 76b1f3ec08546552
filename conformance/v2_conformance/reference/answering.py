"""The response side: from a model's outputs to the bytes of a response."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from v2_conformance.protocol.datatypes import Buffer, to_json
from v2_conformance.protocol.message import (
    HEADER_LENGTH,
    JSON_TYPE,
    OCTET_STREAM,
    Tensor,
    dump_json,
)
from v2_conformance.reference.exchange import Headers, Request, Response
from v2_conformance.reference.reading import SIZE, Call, Wanted
from v2_conformance.suite.models import ModelContract


class Answering:
    """Builds responses; every method is one decision, so that a fault can replace exactly that."""

    # --- inference ---------------------------------------------------------------------------

    def answer(self, model: ModelContract, call: Call, outputs: dict[str, Tensor]) -> Response:
        """The response to an inference: one JSON document, and the blobs that it declares (P8)."""
        wanted = self.response_order(model, call.wanted)
        entries = [self.output_entry(outputs[one.name], one.binary) for one in wanted]
        blobs = [
            self.output_blob(outputs[one.name])
            for one in self.response_blob_order(model, wanted)
            if one.binary
        ]
        text = self.dump(self.response_document(model, call, entries))
        binary = any(one.binary for one in wanted)
        headers = self.infer_headers(text, blobs, binary)
        return Response(200, headers, self.response_body(text, blobs))

    def response_order(self, model: ModelContract, wanted: Sequence[Wanted]) -> Sequence[Wanted]:
        """The outputs in the response, in its order: as they were asked for (O13)."""
        return wanted

    def response_blob_order(
        self, model: ModelContract, wanted: Sequence[Wanted]
    ) -> Sequence[Wanted]:
        """The order of the blobs: that of the response's JSON (O12)."""
        return wanted

    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        """The JSON, then every blob, with nothing between or behind them (P8)."""
        return (text, *blobs)

    def response_document(
        self, model: ModelContract, call: Call, entries: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """The response's JSON; the request's `id` comes back (O18)."""
        document: dict[str, Any] = {"model_name": model.model, "model_version": "1"}
        if call.id is not None:
            document["id"] = call.id
        return document | {"outputs": entries}

    def dump(self, document: dict[str, Any]) -> bytes:
        """The bytes of the response's JSON."""
        return dump_json(document)

    def output_entry(self, tensor: Tensor, binary: bool) -> dict[str, Any]:
        """One member of the response's `outputs`: with `data`, or with a size (O10, O11)."""
        entry: dict[str, Any] = {
            "name": tensor.name,
            "shape": list(tensor.shape),
            "datatype": tensor.datatype,
        }
        if binary:
            return entry | {"parameters": {SIZE: self.output_size(tensor)}}
        return entry | {"data": self.output_data(tensor)}

    def output_size(self, tensor: Tensor) -> int:
        """The size of a binary output in bytes, the prefixes of BYTES included (B13)."""
        return len(tensor.blob)

    def output_data(self, tensor: Tensor) -> Any:
        """An output as JSON; refused where JSON cannot say it (B14, non-finite floats)."""
        return to_json(tensor.datatype, tensor.shape, tensor.blob)

    def output_blob(self, tensor: Tensor) -> Buffer:
        """An output's bytes on the wire."""
        return tensor.blob

    def infer_headers(self, text: bytes, blobs: Sequence[Buffer], binary: bool) -> Headers:
        """The headers of an inference response, but for Content-Length (P3, P4, P9)."""
        if not binary:
            return (("Content-Type", self.json_type()),)
        length = self.response_length(text, blobs)
        typed = (("Content-Type", self.binary_type()),)
        return typed if length is None else (*typed, (HEADER_LENGTH, length))

    def response_length(self, text: bytes, blobs: Sequence[Buffer]) -> str | None:
        """The header length of a response: the JSON's length in bytes (P5, P10)."""
        return str(len(text))

    def json_type(self) -> str:
        """The media type of a response without binary outputs (P9)."""
        return JSON_TYPE

    def binary_type(self) -> str:
        """The media type of a response with binary outputs (P4)."""
        return OCTET_STREAM

    # --- errors ------------------------------------------------------------------------------

    def error(self, status: int, message: str, headers: Headers = ()) -> Response:
        """A failure: an error status (R1, R4), typed JSON (R5), no header length (R6)."""
        typed = (("Content-Type", self.error_type()), *headers)
        return Response(self.error_status(status), typed, (self.error_body(message),))

    def error_status(self, status: int) -> int:
        """The status that is sent for an error."""
        return status

    def error_type(self) -> str:
        """The media type of an error (R5)."""
        return JSON_TYPE

    def error_body(self, message: str) -> bytes:
        """The body of an error: `{"error": string}` (R2)."""
        return dump_json({"error": message})

    # --- on the wire -------------------------------------------------------------------------

    def content_length(self, response: Response) -> int:
        """The value of Content-Length: the whole body's length (P6)."""
        return response.size

    def keeps_open(self, request: Request, response: Response) -> bool:
        """Whether the connection goes on after this response, also after a rejection (C5)."""
        tokens = ",".join(request.values("connection")).lower().split(",")
        asked_to_close = "close" in {token.strip() for token in tokens}
        return response.keep_open and request.version == "1.1" and not asked_to_close

    def serialise(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        """The response's bytes, in pieces; the first is its head.

        There is no Date: equal requests get equal bytes, and recordings stay comparable.
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
