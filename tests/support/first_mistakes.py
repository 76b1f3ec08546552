"""Mistakes that authors of a first server make, as mutants of a small server with three models.

Each row says which requirements explain the mistake: a reader who is told one of them first knows
what to mend.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from support.right_models import HALVES, Halves
from v2_conformance.protocol.datatypes import Buffer, blob_size, decode_bytes
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs, Headers, Rejected, Request, Response
from v2_conformance.reference.ordinary_models import ORDINARY_MODELS
from v2_conformance.reference.request_reader import RequestInput
from v2_conformance.suite.models import ModelContract
from v2_mutants.changes import byteswapped
from v2_mutants.faults import FAULTS

JsonObject = dict[str, Any]


class Small(Behavior):
    """A right server with a matrix product, a model of texts and one with a single input."""

    def __init__(self, profiles: Collection[str] = ("binary",)) -> None:
        super().__init__(profiles)
        self.models = dict(ORDINARY_MODELS)


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

    def output_size(self, tensor: Tensor) -> int:
        return len(self.output_blob(tensor))

    def output_blob(self, tensor: Tensor) -> Buffer:
        texts = tensor.datatype == "BYTES"
        return b"".join(decode_bytes(tensor.blob)) if texts else tensor.blob


class AlwaysBinary(Small):
    """Outputs are blobs whatever was asked for."""

    def binary_flags(self, parameters: list[JsonObject], default: bool) -> list[bool]:
        return [True for _ in parameters]

    def binary_by_default(self, document: JsonObject) -> bool:
        return True


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


class OtherNames(Small):
    """Outputs are called otherwise than in the metadata."""

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        return {**super().response_output(tensor, binary), "name": tensor.name.lower()}


class HeaderInJsonAnswers(Small):
    """Answers without blobs have a header length of 0."""

    def inference_headers(self, text: bytes, blobs: Sequence[Buffer], binary: bool) -> Headers:
        found = super().inference_headers(text, blobs, binary)
        return found if binary else (*found, ("Inference-Header-Content-Length", "0"))


class NoVersions(Small):
    """`@app.post("/v2/models/{name}/infer")` alone."""

    def find_model(self, name: str, version: str | None) -> ModelContract:
        if version is not None:
            raise Rejected("Not Found", 404)
        return super().find_model(name, version)


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


class SizeNotChecked(Small):
    """The shape alone says how many bytes are read; the declared size is not looked at."""

    def check_size(self, entry: RequestInput, size: int) -> None:
        pass

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        own = blob_size(entry.spec.datatype, entry.shape)
        return super().slice_blob(entry, blobs, offset, size if own is None else own)


class ContentLengthOfJson(Small):
    """Content-Length counts the JSON alone."""

    def content_length(self, response: Response) -> int:
        return len(response.body[0]) if response.body else 0


@dataclass(frozen=True)
class FirstMistake:
    """A mistake, and the requirements any of which explains it."""

    behavior: type[Behavior]
    explained_by: tuple[str, ...]
    model: str = "matrix_product"


def made(*faults: str) -> type[Small]:
    """Return the small server with faults that other servers have as well."""
    return type(" ".join(faults), (*(FAULTS[fault].cls for fault in faults), Small), {})


FIRST_MISTAKES = (
    FirstMistake(NewlineNotCounted, ("P5",)),
    FirstMistake(StaticShape, ("O10",)),
    FirstMistake(NoPrefixes, ("B2",), "reverser"),
    FirstMistake(made("body-in-chunks-read-as-empty"), ("C1",)),
    FirstMistake(made("extension-not-listed"), ("P1",)),
    FirstMistake(made("outputs-always-json"), ("O1",)),
    FirstMistake(AlwaysBinary, ("O2", "O4")),
    FirstMistake(made("response-header-length-missing"), ("P3",)),
    FirstMistake(made("response-header-length-of-body"), ("P5",)),
    FirstMistake(made("fp32-outputs-big-endian"), ("D3",)),
    FirstMistake(made("fp32-inputs-big-endian"), ("D1", "D3")),
    FirstMistake(made("response-header-length-counts-characters"), ("P5", "P10")),
    FirstMistake(made("request-blobs-in-model-order"), ("M2",)),
    FirstMistake(made("response-blobs-in-model-order"), ("O12",)),
    FirstMistake(made("response-blobs-in-model-order"), ("O12",), "reverser"),
    FirstMistake(made("response-blobs-in-model-order"), ("O12",), "widener"),
    FirstMistake(made("header-name-case-sensitive"), ("H2",)),
    FirstMistake(made("id-lost-on-binary-response"), ("O18",)),
    FirstMistake(made("all-outputs-returned"), ("O13",)),
    FirstMistake(made("json-errors-have-detail"), ("R2",)),
    FirstMistake(made("client-errors-are-500"), ("R4",)),
    FirstMistake(made("errors-with-status-200"), ("R1",)),
    FirstMistake(made("negative-header-length-slices"), ("H4",)),
    FirstMistake(SizeNotChecked, ("S1", "S2")),
    FirstMistake(made("binary-data-output-ignored"), ("M6", "O5")),
    FirstMistake(made("octet-stream-refused"), ("P12",)),
    FirstMistake(made("body-read-once"), ("C4",)),
    FirstMistake(made("binary-response-typed-json"), ("P4",)),
    FirstMistake(made("column-major-outputs"), ("D10",)),
    FirstMistake(HeaderAlwaysNeeded, ("D10", "D11", "M6")),
    FirstMistake(BoolAsNumber, ("D6",)),
    FirstMistake(ContentLengthOfJson, ("P6",)),
    FirstMistake(OtherNames, ("O10", "O13")),
    FirstMistake(HeaderInJsonAnswers, ("P9",)),
    FirstMistake(made("json-response-with-nan"), ("P9",)),
    FirstMistake(made("bytes-inputs-big-endian"), ("B1",), "reverser"),
    FirstMistake(
        made("bytes-inputs-big-endian", "bytes-outputs-big-endian"), ("B1", "B2"), "reverser"
    ),
    FirstMistake(NoVersions, ("O20", "V2")),
    FirstMistake(BigEndianHalves, ("D8",), HALVES),
    FirstMistake(NestedRefused, ("D10", "V1"), HALVES),
    FirstMistake(made("id-sticks"), ("C7",)),
)
