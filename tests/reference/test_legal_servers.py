"""Servers that differ from the reference server in a way that the documents allow: nothing fails.

Each is a small behaviour. The suite's cases must neither fail nor warn, but for those that are
about what the server does not do and that are no MUST.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from support.runs import chosen, made, outcomes, results, said, target_of
from v2_conformance.protocol.datatypes import (
    Buffer,
    ElementError,
    Shape,
    blob_size,
    check_blob,
    decode_bytes,
    to_values,
)
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH, OPT_IN_PROFILES
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.shared.blobs import has_blobs
from v2_conformance.reference.faults.shared.deliveries import is_chunked
from v2_conformance.reference.http_messages import Blobs, Headers, Rejected, Request, Response
from v2_conformance.reference.request_reader import (
    BINARY_DATA_SIZE,
    InferenceRequest,
    JsonObject,
    RequestInput,
)
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import generated_case, suite_cases
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_conformance.suite.outcomes import Outcome

Start = Callable[[type[Behaviour]], ReferenceServer]

# Many pieces or bytes; only servers that treat these differently meet them.
SLOW = ("C2/", "C3/", "C4/", "C6/", "L1/", "M7/", "Z5/")


@dataclass(frozen=True)
class Legal:
    """A server, the starts of ids of slow cases that it meets too, and what does not pass.

    `unsupported` are requirements, or starts of ids, all of whose cases are unsupported. `warns`
    are the starts of ids of the cases that fail, at level SHOULD.
    """

    server: type[Behaviour]
    also: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    warns: tuple[str, ...] = ()
    profiles: tuple[str, ...] = field(default=OPT_IN_PROFILES)


class NeedsContentLength(Behaviour):
    """As some servers and gateways: a body in chunks is answered with 411."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if is_chunked(request):
            raise Rejected("Content-Length is required", 411)
        return super().infer(model, request)


class NeedsContentLengthAndSaysSoInHtml(NeedsContentLength):
    """As a gateway does it: it knows nothing of the protocol's error bodies, and closes."""

    def handle(self, request: Request) -> Response:
        if not is_chunked(request):
            return super().handle(request)
        page = b"<html><h1>411 Length Required</h1></html>"
        return Response(411, (("Content-Type", "text/html"),), (page,), keep_open=False)


class LimitsBodies(Behaviour):
    """No body of more than 64 KiB, as it comes over the wire."""

    def handle(self, request: Request) -> Response:
        if len(request.body) > 2**16:
            page = b"<html><h1>413 Request Entity Too Large</h1></html>"
            return Response(413, (("Content-Type", "text/html"),), (page,), keep_open=False)
        return super().handle(request)


class LimitsDecodedBodies(Behaviour):
    """No body that decodes to more than 64 KiB."""

    def decode_request(self, request: Request) -> Request:
        decoded = super().decode_request(request)
        if len(decoded.body) > 2**16:
            raise Rejected("the body is too large", 413)
        return decoded


class TypesOfItsOwn(Behaviour):
    """Media types that say what the bodies are, in other words than the examples."""

    def json_content_type(self) -> str:
        return "Application/vnd.example.response+JSON; charset=utf-8"

    def binary_content_type(self) -> str:
        return "application/vnd.example.tensors"

    def error_content_type(self) -> str:
        return "application/problem+json"


class OpenVinoLike(Behaviour):
    """A binary output has an empty `data`, and an error the header length of its whole body."""

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        return entry | {"data": []} if binary else entry

    def error(self, status: int, message: str, headers: Headers = ()) -> Response:
        made = super().error(status, message, headers)
        return replace(made, headers=(*made.headers, (HEADER_LENGTH, str(made.size))))


class NullsInResponses(Behaviour):
    """Members that have nothing to say are null."""

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        return entry | {"data": None} if binary else entry | {"parameters": None}


class AsTheExamples(Behaviour):
    """Responses have no `model_name`, as in all examples."""

    def response_document(
        self, model: ModelContract, inference: InferenceRequest, entries: list[JsonObject]
    ) -> JsonObject:
        document = super().response_document(model, inference, entries)
        return {name: document[name] for name in document if not name.startswith("model_")}


class NoEmptyTensors(Behaviour):
    """Tensors without elements are rejected, whatever their form."""

    def input_shape(self, spec: TensorSpec, shape: object) -> Shape:
        found = super().input_shape(spec, shape)
        if 0 in found:
            raise Rejected("a tensor without elements")
        return found


class IgnoresHeaderLengthWithoutBlobs(Behaviour):
    """As KServe: the header length of a JSON-only request is not looked at."""

    def header_length(self, request: Request) -> int | None:
        if has_blobs(request) or request.values(HEADER_LENGTH) == ["0"]:
            return super().header_length(request)
        return None


class RejectsWhatItNeedNotTake(Behaviour):
    """Redundant header lengths, unknown parameters, and a request's parameter on an input."""

    def split_body(self, request: Request, length: int | None) -> tuple[memoryview, Blobs]:
        if length is not None and not has_blobs(request):
            raise Rejected("a header length without blobs")
        return super().split_body(request, length)

    def declared_size(self, entry: RequestInput) -> int | None:
        if set(entry.parameters) - {BINARY_DATA_SIZE}:
            raise Rejected("an unknown parameter")
        return super().declared_size(entry)


class DataBeforeBlobs(Behaviour):
    """With both `data` and a size, the data is used and the blob is skipped."""

    def check_one_source(self, entry: RequestInput, size: int | None) -> None:
        if size is None or not entry.has_data:
            super().check_one_source(entry, size)

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        if not entry.has_data:
            return super().slice_blob(entry, blobs, offset, size)
        return memoryview(self.json_blob(entry))

    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        if offset <= len(blobs.view):
            super().check_all_read(blobs, offset)


class CutsByShape(Behaviour):
    """A size beyond the body is no mistake if the body has what the shape needs."""

    def check_size(self, entry: RequestInput, size: int) -> None:
        if size != 20:
            super().check_size(entry, size)

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        native = blob_size(entry.spec.datatype, entry.shape)
        if native is not None and offset + native == len(blobs.view):
            return blobs.view[offset:]
        return super().slice_blob(entry, blobs, offset, size)

    def next_offset(self, entry: RequestInput, offset: int, size: int) -> int:
        native = blob_size(entry.spec.datatype, entry.shape)
        return offset + (size if native is None else native)


class NumbersAreDoubles(Behaviour):
    """A parser of doubles: integers that no double holds are rejected, in and out."""

    def json_blob(self, entry: RequestInput) -> Buffer:
        return self._only_doubles(entry.spec.datatype, super().json_blob(entry))

    def output_data(self, tensor: Tensor) -> Any:
        self._only_doubles(tensor.datatype, tensor.blob)
        return super().output_data(tensor)

    def _only_doubles(self, datatype: str, blob: Buffer) -> Buffer:
        values = to_values(datatype, blob) if datatype in ("INT64", "UINT64") else []
        if any(abs(value) > 2**53 for value in values):
            raise Rejected("a number that no double holds")
        return blob


class NumbersInOtherWords(Behaviour):
    """Whole numbers have a fraction, and negative zeros have none."""

    def dump_document(self, document: JsonObject) -> bytes:
        text = super().dump_document(document).decode()
        return re.sub(r'"data":\[[^\]"]*\]', self._respelled, text).encode()

    def _respelled(self, data: re.Match[str]) -> str:
        with_fractions = re.sub(r"(?<![\d.e+-])(-?\d{2,})(?=[,\]])", r"\1.0", data[0])
        return re.sub(r"-0\.0(?=[,\]])", "-0", with_fractions)


class FloatsInSixDigits(Behaviour):
    """Floats in JSON have six significant digits, as printf writes them."""

    def output_data(self, tensor: Tensor) -> Any:
        data = super().output_data(tensor)
        if tensor.datatype not in ("FP32", "FP64"):
            return data
        return [float(f"{value:.6g}") for value in data]


class Base64Strings(Behaviour):
    """Elements that are not UTF-8 come in base64, in JSON that is valid."""

    def output_data(self, tensor: Tensor) -> Any:
        try:
            return super().output_data(tensor)
        except ElementError:
            if tensor.datatype != "BYTES":
                raise
            return [base64.b64encode(element).decode() for element in decode_bytes(tensor.blob)]


class ReadsDisputesTheOtherWay(Behaviour):
    """Listed outputs without `binary_data` are JSON, and raw BYTES begin with their length."""

    def binary_flag(self, parameters: JsonObject, default: bool) -> bool:
        return super().binary_flag(parameters, False)

    def raw_bytes_tensor(self, dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
        check_blob("BYTES", (1,), body)
        return (1,) * len(dims), body


class RawBytesOfAnyShape(Behaviour):
    """A raw request for BYTES of any shape is one element."""

    def raw_bytes_tensor(self, dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
        shape, blob = super().raw_bytes_tensor((1,), body)
        return shape * len(dims), blob


class NoHalvesInJson(Behaviour):
    """FP16 and BF16 have no JSON form, as Triton and KServe have it."""

    def output_data(self, tensor: Tensor) -> Any:
        if tensor.datatype in ("FP16", "BF16"):
            raise Rejected("16-bit floats have no JSON form")
        return super().output_data(tensor)

    def binary_flag(self, parameters: JsonObject, default: bool) -> bool:
        return super().binary_flag(parameters, False)


class NeverEncodes(Behaviour):
    """Requests may be compressed; responses never are."""

    def response_coding(self, request: Request) -> str | None:
        return None


class EncodesUnasked(Behaviour):
    """Without Accept-Encoding, responses are in gzip."""

    def response_coding(self, request: Request) -> str | None:
        return super().response_coding(request) if request.values("Accept-Encoding") else "gzip"


class IgnoresGzipTrailers(Behaviour):
    """The trailer of a gzip stream is not looked at (RFC 1952, section 2.3.1.2)."""

    def damaged_stream(self, coding: str, data: Buffer, problem: str) -> bytes:
        if coding != "gzip" or bytes(data[:3]) != b"\x1f\x8b\x08":
            return super().damaged_stream(coding, data, problem)
        stream = zlib.decompressobj(-zlib.MAX_WBITS)  # its header has ten bytes
        try:
            decoded = stream.decompress(data[10:])
        except zlib.error:
            return super().damaged_stream(coding, data, problem)
        return decoded if stream.eof else super().damaged_stream(coding, data, problem)


class Pedantic(Behaviour):
    """White space around the JSON object is not counted, so it is rejected."""

    def parse_document(self, text: memoryview) -> JsonObject:
        if bytes(text).strip() != bytes(text):
            raise Rejected("white space around the object")
        return super().parse_document(text)


FLOAT_CORNERS = tuple(
    f"D11/json-and-binary-agree[{datatype},binary-to-json,finite_extremes]"
    for datatype in ("FP32", "FP64")
)
SIZES = ("elements-1001", "bytes-65537", "mebibyte")
VARIED = ("json", "text", "raw", "codings-and-chunks")
IN_CHUNKS = (
    "B10/cut-inside-a-prefix[chunks", "C1/", "C2/", "C3/", "C5/rejected-in-chunks",
    "C5/kept-connection-after-success[chunks]", "H5/beyond-body-in-chunks",
    "H5/beyond-body-with-blobs-in-chunks", "S3/too-short-in-chunks",
    "S4/bytes-after-the-last-blob-in-chunks", "W3/variable-dimension-in-pieces[chunks]",
    "Z1/compressed-in-chunks", "V2/request-in-any-spelling[chunk",
    "V2/json-request-in-any-spelling[chunk", "V3/any-delivery[one-chunk", "V3/any-delivery[chunk",
    *(f"V3/codings-and-chunks-of-any-size[{size},chunks" for size in SIZES),
)  # fmt: skip
LARGE = (
    "B12/element-of-a-megabyte", "B12/long-element", "B12/many-elements",
    "P6/content-length-is-exact[100000]", "P14/no-content-type-with-a-long-body",
    "S1/size-decides-bytes-tensor[long_element]",
    *(f"V3/{kind}-of-any-size[{size}" for kind in VARIED for size in SIZES[1:]),
)  # fmt: skip
# To an unknown model, of which a server that looks at the body later says 404.
LARGE_FOR_NOBODY = ("C5/rejected-before-the-end-of-the-body",)
LEGAL = [
    Legal(NeedsContentLength, also=("C2/", "C3/", "M7/"), unsupported=IN_CHUNKS),
    Legal(NeedsContentLengthAndSaysSoInHtml, also=("C2/", "C3/"), unsupported=IN_CHUNKS),
    Legal(
        LimitsBodies,
        also=("L1/", "Z5/"),
        unsupported=(*LARGE, *LARGE_FOR_NOBODY),
        warns=("L1/",),
    ),
    Legal(LimitsDecodedBodies, also=("L1/", "Z5/"), unsupported=LARGE, warns=("L1/",)),
    Legal(TypesOfItsOwn),
    Legal(OpenVinoLike),
    Legal(NullsInResponses),
    Legal(AsTheExamples, warns=("O20/model-name-sent",)),
    Legal(NoEmptyTensors, also=("M7/",), warns=("E1/",)),
    Legal(IgnoresHeaderLengthWithoutBlobs),
    Legal(RejectsWhatItNeedNotTake),
    Legal(DataBeforeBlobs, warns=("S5/contradiction",)),
    Legal(CutsByShape, warns=("S2/size-against-shape-and-body[20]",)),
    Legal(NumbersAreDoubles, also=("M7/",)),
    Legal(NumbersInOtherWords, also=("M7/",)),
    Legal(FloatsInSixDigits, also=("M7/",), warns=FLOAT_CORNERS),
    Legal(Base64Strings, warns=("B14/not-utf8-as-json",)),
    Legal(ReadsDisputesTheOtherWay),
    Legal(RawBytesOfAnyShape),
    Legal(NoHalvesInJson, also=("M7/",)),
    Legal(NeverEncodes, unsupported=("Z2/",)),
    Legal(EncodesUnasked),
    Legal(IgnoresGzipTrailers),
    Legal(Pedantic, also=("M7/",), warns=tuple(
        f"P11/white-space-in-json[{pad}" for pad in ("leading", "trailing", "both")
    )),
]  # fmt: skip


def cases_for(legal: Legal) -> Sequence[Case]:
    return [
        case
        for case in suite_cases()
        if not case.id.startswith(SLOW) or case.id.startswith(legal.also or ("no case",))
    ]


def test_what_a_server_declines_is_judged_again_from_its_bytes(
    start: Start, tmp_path: Path
) -> None:
    for server in (NeedsContentLength, LimitsBodies):
        cases = [*chosen("C1/", "B12/"), generated_case()]
        found, words = said(made(tmp_path, target_of(start(server).url), cases))
        assert (found.exit_code, "the verdict holds" in words) == (0, True), words


@pytest.mark.parametrize("legal", LEGAL, ids=lambda legal: legal.server.__name__)
def test_a_legal_server_fails_nothing(legal: Legal, start: Start) -> None:
    cases = cases_for(legal)
    found = results(target_of(start(legal.server).url, *legal.profiles), cases)
    expected = {
        case.id: Outcome.UNSUPPORTED
        if case.id.startswith(legal.unsupported or ("no case",))
        else Outcome.FAIL
        if case.id.startswith(legal.warns or ("no case",))
        else Outcome.PASS
        for case in cases
    }
    seen = {id: outcome for id, outcome in outcomes(found).items() if outcome != Outcome.DISPUTED}
    wrong = {
        id: found[id].message or outcome for id, outcome in seen.items() if outcome != expected[id]
    }
    assert wrong == {}
    assert all(found[id].case.level == "SHOULD" for id in seen if seen[id] is Outcome.FAIL)
