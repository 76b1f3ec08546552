"""Mistakes that authors of a first server make, as mutants of a small server with three models.

Each row says which requirements explain the mistake: a reader who is told one of them first knows
what to mend.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from support.right_models import HALVES, Halves
from v2_conformance.protocol.datatypes import Buffer, blob_size, decode_bytes
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs, Headers, Rejected, Request, Response
from v2_conformance.reference.ordinary_models import ORDINARY_MODELS
from v2_conformance.reference.request_reader import InferenceRequest, RequestInput, RequestOutput
from v2_conformance.suite.models import ModelContract
from v2_mutants.changes import byteswapped

JsonObject = dict[str, Any]


class Small(Behaviour):
    """A right server with a matrix product, a model of texts and one with a single input."""

    def __init__(self, profiles: Collection[str] = ("binary",)) -> None:
        super().__init__(profiles)
        self.models = {
            name: ORDINARY_MODELS[name] for name in ("matrix_product", "reverser", "widener")
        }


class NewlineNotCounted(Small):
    """`json.dumps(...) + "\\n"`, of which the header length counts the first part only."""

    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        return (text + b"\n", *blobs)


class StaticShape(Small):
    """The shape of the metadata, or of the first example."""

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        return {**super().response_output(tensor, binary), "shape": [1, *tensor.shape[1:]]}


class NoPrefixes(Small):
    """Texts are joined, without their lengths."""

    def _joined(self, tensor: Tensor) -> bytes:
        return b"".join(decode_bytes(tensor.blob))

    def output_size(self, tensor: Tensor) -> int:
        return len(self.output_blob(tensor))

    def output_blob(self, tensor: Tensor) -> Buffer:
        return self._joined(tensor) if tensor.datatype == "BYTES" else tensor.blob


class ChunksIgnored(Small):
    """`body = stream.read(int(headers.get("Content-Length", 0)))`."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if request.values("transfer-encoding"):
            request = replace(request, body=memoryview(b""), chunk_cuts=())
        return super().infer(model, request)


class NotListed(Small):
    """`extensions` stayed empty."""

    def extensions(self) -> list[str]:
        return []


class AlwaysJson(Small):
    """Outputs are JSON whatever was asked for."""

    def binary_flags(self, parameters: list[JsonObject], default: bool) -> list[bool]:
        return [False for _ in parameters]

    def binary_by_default(self, document: JsonObject) -> bool:
        return False


class AlwaysBinary(Small):
    """Outputs are blobs whatever was asked for."""

    def binary_flags(self, parameters: list[JsonObject], default: bool) -> list[bool]:
        return [True for _ in parameters]

    def binary_by_default(self, document: JsonObject) -> bool:
        return True


class NoHeaderLength(Small):
    """The answer has no header length."""

    def response_header_length(self, text: bytes, blobs: Sequence[Buffer]) -> str | None:
        return None


class LengthOfBody(Small):
    """The header length of the answer is that of the whole body."""

    def response_header_length(self, text: bytes, blobs: Sequence[Buffer]) -> str | None:
        return str(len(text) + sum(map(len, blobs)))


class BigEndian(Small):
    """`struct.pack(">f", …)`: network order."""

    def output_blob(self, tensor: Tensor) -> Buffer:
        swapped = {"FP32": ">f4", "INT32": ">i4", "INT64": ">i8"}.get(tensor.datatype)
        if swapped is None:
            return tensor.blob
        return np.frombuffer(tensor.blob, swapped.replace(">", "<")).astype(swapped).tobytes()


class BigEndianInputs(Small):
    """`np.frombuffer(blob, ">f4")`: blobs are read in network order."""

    def binary_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        return byteswapped(entry.spec.datatype, bytes(super().binary_blob(entry, blob)))


class CharactersCounted(Small):
    """`len(text)`, not `len(text.encode())`; ids come back as they were sent."""

    def json_text(self, value: object) -> bytes:
        return json.dumps(value, ensure_ascii=False).encode()

    def response_header_length(self, text: bytes, blobs: Sequence[Buffer]) -> str:
        return str(len(text.decode()))


class OrderOfTheModel(Small):
    """Blobs are read in the order of the model's inputs."""

    def blob_order(self, model: ModelContract, entries: list[RequestInput]) -> list[RequestInput]:
        names = [spec.name for spec in model.inputs]
        return sorted(entries, key=lambda entry: names.index(entry.spec.name))


class BlobsInOrderOfTheModel(Small):
    """Blobs are written in the order of the model's outputs, the JSON as requested."""

    def response_blob_order(
        self, model: ModelContract, outputs: Sequence[RequestOutput]
    ) -> Sequence[RequestOutput]:
        names = [spec.name for spec in model.outputs]
        return sorted(outputs, key=lambda output: names.index(output.name))


class CaseSensitive(Small):
    """`headers["Inference-Header-Content-Length"]` of a plain dictionary."""

    def header_length_values(self, request: Request) -> list[str]:
        written = b"\r\nInference-Header-Content-Length:" in request.head
        return super().header_length_values(request) if written else []


class IdLeftOut(Small):
    """The answer has no id."""

    def response_document(
        self, model: ModelContract, inference: InferenceRequest, entries: list[JsonObject]
    ) -> JsonObject:
        return super().response_document(model, replace(inference, id=None), entries)


class AllOutputs(Small):
    """All outputs come back, whichever were asked for."""

    def response_order(
        self, model: ModelContract, outputs: Sequence[RequestOutput]
    ) -> Sequence[RequestOutput]:
        asked = {output.name: output for output in outputs}
        default = outputs[0].binary
        return [asked.get(s.name, RequestOutput(s.name, default)) for s in model.outputs]


class DetailOfError(Small):
    """FastAPI's HTTPException: {"detail": …}."""

    def error_body(self, message: str) -> bytes:
        return self.json_text({"detail": message})


class InternalErrors(Small):
    """What is wrong with a request ends in an exception, and so in a 500."""

    def error_status(self, status: int) -> int:
        return 500


class ErrorsWith200(Small):
    """Errors are JSON with status 200."""

    def error_status(self, status: int) -> int:
        return 200


class NegativeLength(Small):
    """`body[:length]`, which reads a negative length from the end."""

    def parse_header_length(self, text: str) -> int:
        if text.startswith("-") and text[1:].isdecimal():
            return int(text)
        return super().parse_header_length(text)

    def json_end(self, body: memoryview, length: int) -> int:
        return max(0, len(body) + length) if length < 0 else super().json_end(body, length)


class SizeNotChecked(Small):
    """The shape alone says how many bytes are read; the declared size is not looked at."""

    def check_size(self, entry: RequestInput, size: int) -> None:
        pass

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        own = blob_size(entry.spec.datatype, entry.shape)
        return super().slice_blob(entry, blobs, offset, size if own is None else own)


class FlagOfRequestIgnored(Small):
    """`binary_data_output` is not known."""

    def binary_by_default(self, document: JsonObject) -> bool:
        return False


class OctetStreamRefused(Small):
    """Only application/json is taken."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if any("octet-stream" in value for value in request.values("content-type")):
            raise Rejected("the body must be application/json", 415)
        return super().infer(model, request)


class FirstRead(Small):
    """`sock.recv(65536)` once is taken for the body."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if request.segment_cuts:
            end = request.segment_cuts[0]
            request = replace(request, body=request.body[:end], segment_cuts=())
        return super().infer(model, request)


class TypeOfJson(Small):
    """Binary answers are typed application/json."""

    def binary_content_type(self) -> str:
        return "application/json"


class ColumnsFirst(Small):
    """`array.T.tobytes()`: the other order of a matrix."""

    def output_blob(self, tensor: Tensor) -> Buffer:
        if tensor.datatype != "FP32" or len(tensor.shape) != 2:
            return tensor.blob
        array = np.frombuffer(tensor.blob, "<f4").reshape(tensor.shape)
        return array.tobytes("F")


class HeaderAlwaysNeeded(Small):
    """`int(headers["Inference-Header-Content-Length"])`, also for plain JSON."""

    def header_length(self, request: Request) -> int | None:
        found = super().header_length(request)
        if found is None:
            raise Rejected("Inference-Header-Content-Length is missing")
        return found


class BoolAsNumber(Small):
    """Bool outputs are written as int32."""

    def output_size(self, tensor: Tensor) -> int:
        return len(self.output_blob(tensor))

    def output_blob(self, tensor: Tensor) -> Buffer:
        if tensor.datatype != "BOOL":
            return tensor.blob
        return struct.pack(f"<{len(tensor.blob)}i", *bytes(tensor.blob))


class ContentLengthOfJson(Small):
    """Content-Length counts the JSON alone."""

    def content_length(self, response: Response) -> int:
        return len(response.body[0]) if response.body else 0


class OtherNames(Small):
    """Outputs are called otherwise than in the metadata."""

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        return {**super().response_output(tensor, binary), "name": tensor.name.lower()}


class HeaderInJsonAnswers(Small):
    """Answers without blobs have a header length of 0."""

    def inference_headers(self, text: bytes, blobs: Sequence[Buffer], binary: bool) -> Headers:
        found = super().inference_headers(text, blobs, binary)
        return found if binary else (*found, ("Inference-Header-Content-Length", "0"))


class BareWords(Small):
    """`json.dumps` of floats, which writes NaN and Infinity."""

    def output_data(self, tensor: Tensor) -> Any:
        if tensor.datatype != "FP32":
            return super().output_data(tensor)
        return np.frombuffer(tensor.blob, "<f4").tolist()


class BigEndianPrefixes(Small):
    """`int.from_bytes(blob[:4], "big")`: network order."""

    def bytes_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        return super().bytes_blob(entry, turned_prefixes(bytes(blob), "big"))


class BigEndianTexts(BigEndianPrefixes):
    """The same in both directions, so that texts come back."""

    def output_blob(self, tensor: Tensor) -> Buffer:
        if tensor.datatype != "BYTES":
            return tensor.blob
        return turned_prefixes(bytes(tensor.blob), "little")


def turned_prefixes(blob: bytes, order: Literal["little", "big"]) -> bytes:
    """Return BYTES elements with prefixes in the other order; `order` is that of `blob`."""
    other: Literal["little", "big"] = "big" if order == "little" else "little"
    made, at = b"", 0
    while at < len(blob):
        size = int.from_bytes(blob[at : at + 4], order)
        if at + 4 + size > len(blob):
            raise Rejected(f"element of {size} bytes, but {len(blob) - at - 4} are left")
        made += size.to_bytes(4, other) + blob[at + 4 : at + 4 + size]
        at += 4 + size
    return made


class NoVersions(Small):
    """`@app.post("/v2/models/{name}/infer")` alone."""

    def find_model(self, name: str, version: str | None) -> ModelContract:
        if version is not None:
            raise Rejected("Not Found", 404)
        return super().find_model(name, version)


class IdKept(Small):
    """One dictionary for all responses: its id stays there until the next one."""

    def __init__(self, profiles: Collection[str] = ("binary",)) -> None:
        super().__init__(profiles)
        self.response: dict[str, str] = {}

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        read = super().read_request(model, request, length)
        if read.id is not None:
            self.response["id"] = read.id
        return replace(read, id=self.response.get("id"))


class BigEndianHalves(Halves):
    """`np.dtype(">f2")` for blobs in both directions, so that halves come back."""

    def binary_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        return _turned_halves(entry.spec.datatype, bytes(super().binary_blob(entry, blob)))

    def output_blob(self, tensor: Tensor) -> Buffer:
        return _turned_halves(tensor.datatype, bytes(tensor.blob))


def _turned_halves(datatype: str, blob: bytes) -> Buffer:
    return byteswapped(datatype, blob) if datatype == "FP16" else blob


class NestedRefused(Halves):
    """`len(data) == count`: only flat data are taken."""

    def json_blob(self, entry: RequestInput) -> Buffer:
        if isinstance(entry.data, list) and any(isinstance(row, list) for row in entry.data):
            raise Rejected("data must be a flat list of numbers")
        return super().json_blob(entry)


@dataclass(frozen=True)
class FirstMistake:
    """A mistake, and the requirements any of which explains it."""

    behaviour: type[Behaviour]
    explained_by: tuple[str, ...]
    model: str = "matrix_product"


FIRST_MISTAKES = (
    FirstMistake(NewlineNotCounted, ("P5",)),
    FirstMistake(StaticShape, ("O10",)),
    FirstMistake(NoPrefixes, ("B2",), "reverser"),
    FirstMistake(ChunksIgnored, ("C1",)),
    FirstMistake(NotListed, ("P1",)),
    FirstMistake(AlwaysJson, ("O1",)),
    FirstMistake(AlwaysBinary, ("O2", "O4")),
    FirstMistake(NoHeaderLength, ("P3",)),
    FirstMistake(LengthOfBody, ("P5",)),
    FirstMistake(BigEndian, ("D3",)),
    FirstMistake(BigEndianInputs, ("D1", "D3")),
    FirstMistake(CharactersCounted, ("P10",)),
    FirstMistake(OrderOfTheModel, ("M2",)),
    FirstMistake(BlobsInOrderOfTheModel, ("O12",)),
    FirstMistake(BlobsInOrderOfTheModel, ("O12",), "reverser"),
    FirstMistake(BlobsInOrderOfTheModel, ("O12",), "widener"),
    FirstMistake(CaseSensitive, ("H2",)),
    FirstMistake(IdLeftOut, ("O18",)),
    FirstMistake(AllOutputs, ("O13",)),
    FirstMistake(DetailOfError, ("R2",)),
    FirstMistake(InternalErrors, ("R4",)),
    FirstMistake(ErrorsWith200, ("R1",)),
    FirstMistake(NegativeLength, ("H4",)),
    FirstMistake(SizeNotChecked, ("S1", "S2")),
    FirstMistake(FlagOfRequestIgnored, ("O5",)),
    FirstMistake(OctetStreamRefused, ("P12",)),
    FirstMistake(FirstRead, ("C4",)),
    FirstMistake(TypeOfJson, ("P4",)),
    FirstMistake(ColumnsFirst, ("D10",)),
    FirstMistake(HeaderAlwaysNeeded, ("M6", "D11")),
    FirstMistake(BoolAsNumber, ("D6",)),
    FirstMistake(ContentLengthOfJson, ("P6",)),
    FirstMistake(OtherNames, ("O10", "O13")),
    FirstMistake(HeaderInJsonAnswers, ("P9",)),
    FirstMistake(BareWords, ("P9",)),
    FirstMistake(BigEndianPrefixes, ("B1",), "reverser"),
    FirstMistake(BigEndianTexts, ("B1", "B2"), "reverser"),
    FirstMistake(NoVersions, ("V2",)),
    FirstMistake(BigEndianHalves, ("D8",), HALVES),
    FirstMistake(NestedRefused, ("D10", "V1"), HALVES),
    FirstMistake(IdKept, ("C7",)),
)
