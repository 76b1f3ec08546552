"""Faults that show only where two properties of a request meet (X).

Each stands for a server that does both by themselves, and has a path of its own for them together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from v2_conformance.protocol.datatypes import DATATYPES, decode_bytes, encode_bytes
from v2_conformance.protocol.message import Tensor, parse_json
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import (
    BINARY_DATA,
    BINARY_DATA_OUTPUT,
    InferenceRequest,
    JsonObject,
)
from v2_conformance.suite.models import ModelContract

_SEVERAL = 1000  # elements of a tensor that no short buffer holds


@dataclass(frozen=True)
class _Seen:
    """A request as far as a fault looks at it: how it came, and its JSON."""

    role: str
    coding: str
    accepted: str
    chunked: bool
    in_pieces: bool
    type: str
    text: bytes
    document: JsonObject

    @property
    def inputs(self) -> Sequence[Mapping[str, Any]]:
        listed = self.document.get("inputs")
        return [item for item in listed if isinstance(item, dict)] if listed else []

    @property
    def outputs(self) -> Sequence[Mapping[str, Any]]:
        return self.document.get("outputs") or []

    @property
    def by_default(self) -> bool | None:
        found: bool | None = self.document.get("parameters", {}).get(BINARY_DATA_OUTPUT)
        return found

    @property
    def shapes(self) -> Sequence[Sequence[int]]:
        return [item["shape"] for item in self.inputs]

    @property
    def in_json(self) -> Sequence[Mapping[str, Any]]:
        return [item for item in self.inputs if "data" in item]

    @property
    def nested(self) -> bool:
        return any(isinstance(one, list) for item in self.in_json for one in item["data"][:1])

    @property
    def mixed(self) -> bool:
        return 0 < len(self.in_json) < len(self.inputs)

    @property
    def large(self) -> bool:
        return any(_elements(shape) > _SEVERAL for shape in self.shapes)

    @property
    def empty(self) -> bool:
        return any(_elements(shape) == 0 for shape in self.shapes)

    @property
    def subset(self) -> bool:
        return 0 < len(self.outputs) < len(self.inputs)

    def has(self, datatype: str) -> bool:
        """Whether an input has the datatype, and not all others do as well."""
        return len(self.inputs) < 4 and any(item["datatype"] == datatype for item in self.inputs)

    def flags(self) -> list[object]:
        """`binary_data` of each requested output, None if it has none."""
        return [item.get("parameters", {}).get(BINARY_DATA) for item in self.outputs]


class _Meets(Behaviour):
    """Goes wrong if a request is as `meets` says; a subclass says how."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._here = threading.local()  # each connection has a thread of its own

    def meets(self, seen: _Seen) -> bool:
        """Whether the two properties meet in this request."""
        raise NotImplementedError

    def infer(self, model: ModelContract, request: Request) -> Response:
        seen = self._look(model, request)
        self._here.wrong = seen is not None and self.meets(seen)
        return super().infer(model, request)

    @property
    def wrong(self) -> bool:
        """Whether the request in hand is one that goes wrong."""
        return getattr(self._here, "wrong", False)

    def _look(self, model: ModelContract, request: Request) -> _Seen | None:
        decoded = self.decode_request(request)
        length = self.header_length(decoded)
        if length == 0:
            return None
        text, _ = self.split_body(decoded, length)
        document = parse_json(text)
        self.request_inputs(model, document)  # raises for what every server refuses
        return _Seen(
            role=model.role,
            coding=",".join(request.values("content-encoding")),
            accepted=",".join(request.values("accept-encoding")),
            chunked=bool(request.values("transfer-encoding")),
            in_pieces=bool(request.segment_cuts),
            type=",".join(request.values("content-type")),
            text=bytes(text),
            document=document,
        )


class _Refuses(_Meets):
    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        if self.wrong:
            raise Rejected("this combination is not implemented")
        return super().read_request(model, request, length)


class _Blanks(_Meets):
    """The last tensor of the request has zeros, or elements without bytes."""

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        found = super().read_request(model, request, length)
        if not self.wrong:
            return found
        wanted = {output.name.replace("OUTPUT", "INPUT") for output in found.outputs}
        last = [name for name in found.inputs if name in wanted][-1]
        return replace(found, inputs={**found.inputs, last: _blank(found.inputs[last])})


class _OtherForm(_Meets):
    """Every output that is not of a 16-bit float comes in the other form."""

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        found = super().read_request(model, request, length)
        if not self.wrong:
            return found
        return replace(found, outputs=tuple(replace(o, binary=not o.binary) for o in found.outputs))


class _ShapeReversed(_Meets):
    """The dimensions of every output are in reverse order."""

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        return entry | {"shape": entry["shape"][::-1]} if self.wrong else entry


class _ModelOrder(_Meets):
    """The blobs come in the model's order, whatever the order of the outputs in the JSON."""

    def response_blob_order(self, model: ModelContract, outputs: Sequence[Any]) -> Sequence[Any]:
        if not self.wrong:
            return super().response_blob_order(model, outputs)
        names = [spec.name for spec in model.outputs]
        return sorted(outputs, key=lambda output: names.index(output.name))


def _elements(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _blank(tensor: Tensor) -> Tensor:
    if DATATYPES[tensor.datatype].size is not None:
        return replace(tensor, blob=bytes(len(tensor.blob)))
    return replace(tensor, blob=encode_bytes([b""] * len(decode_bytes(tensor.blob))))


def _reversed_members(seen: _Seen) -> bool:
    """Whether an input has its name after its shape."""
    return any(list(item).index("name") > list(item).index("shape") for item in seen.inputs)


_FAULTS: Sequence[tuple[str, type[_Meets], Callable[[_Seen], bool], str]] = (
    # Datatype
    (
        "bytes-in-chunks-lose-their-bytes",
        _Blanks,
        lambda seen: seen.chunked and seen.has("BYTES"),
        "The elements of a BYTES tensor have no bytes if the request is in chunks.",
    ),
    (
        "int16-in-pieces-zeroed",
        _Blanks,
        lambda seen: seen.in_pieces and seen.has("INT16"),
        "The elements of an INT16 tensor are 0 if the request arrives in pieces.",
    ),
    (
        "uint32-of-1000-elements-zeroed",
        _Blanks,
        lambda seen: seen.large and seen.has("UINT32"),
        "The elements of a UINT32 tensor are 0 if there are more than 1,000.",
    ),
    (
        "fp32-by-default-as-json",
        _OtherForm,
        lambda seen: seen.by_default is True and not seen.outputs and seen.has("FP32"),
        "An FP32 output is JSON although binary_data_output is true.",
    ),
    (
        "uint8-with-reversed-members-refused",
        _Refuses,
        lambda seen: seen.has("UINT8") and _reversed_members(seen),
        "A request with a UINT8 tensor is rejected if its shape comes before its name.",
    ),
    (
        "fp16-in-pieces-zeroed",
        _Blanks,
        lambda seen: seen.in_pieces and seen.has("FP16"),
        "The last input is zeros if a request with an FP16 tensor arrives in pieces.",
    ),
    (
        "uint64-with-model-name-refused",
        _Refuses,
        lambda seen: seen.has("UINT64") and "model_name" in seen.document,
        "A request with a UINT64 tensor is rejected if it has a model_name.",
    ),
    # Number of tensors, rank, batch
    (
        "rank-3-in-pieces-zeroed",
        _Blanks,
        lambda seen: seen.in_pieces and seen.role.startswith("cube/"),
        "The elements of a tensor with three dimensions are 0 if the request arrives in pieces.",
    ),
    (
        "rank-3-by-default-reversed",
        _ShapeReversed,
        lambda seen: seen.by_default is True and seen.role.startswith("cube/"),
        "A tensor with three dimensions comes back with reversed shape if binary_data_output is "
        "true.",
    ),
    (
        "rank-2-despite-default-reversed",
        _ShapeReversed,
        lambda seen: seen.by_default is False and seen.role.startswith("matrix/"),
        "A matrix comes back with reversed shape if binary_data_output is false.",
    ),
    (
        "second-input-of-a-full-batch-lost",
        _Blanks,
        lambda seen: seen.role == "batched" and seen.shapes[0][0] > 4,
        "The elements of the second input are empty if the batch has more than four items.",
    ),
    (
        "batch-as-json-refused",
        _Refuses,
        lambda seen: seen.role == "batched" and len(seen.in_json) == len(seen.inputs),
        "A batch is rejected if all of its inputs are JSON.",
    ),
    (
        "three-inputs-as-json-in-chunks-refused",
        _Refuses,
        lambda seen: seen.chunked and seen.role == "trio",
        "A request with three inputs of different datatypes is rejected if it is in chunks.",
    ),
    # Form of the inputs
    (
        "nested-data-in-chunks-refused",
        _Refuses,
        lambda seen: seen.nested and seen.chunked,
        "Nested JSON data is rejected in a request that comes in chunks.",
    ),
    (
        "nested-data-answered-by-default-reversed",
        _ShapeReversed,
        lambda seen: seen.nested and seen.by_default is True,
        "A tensor sent as nested JSON comes back with reversed shape if binary_data_output is "
        "true.",
    ),
    (
        "mixed-inputs-with-escaped-names-zeroed",
        _Blanks,
        lambda seen: seen.mixed and b"\\u00" in seen.text,
        "The last input is zeros if blobs and JSON data are mixed and names are escaped.",
    ),
    # Output selection
    (
        "override-in-pieces-ignored",
        _OtherForm,
        lambda seen: seen.in_pieces and seen.by_default is True and False in seen.flags(),
        "If the request arrives in pieces, outputs do not have the form that binary_data says.",
    ),
    (
        "override-with-charset-ignored",
        _OtherForm,
        lambda seen: seen.by_default is False and True in seen.flags() and "charset" in seen.type,
        "If the media type has a charset, outputs do not have the form that binary_data says.",
    ),
    (
        "some-outputs-in-pieces-mixed-up",
        _ModelOrder,
        lambda seen: seen.subset and seen.in_pieces,
        "If the request arrives in pieces, the blobs of some of the outputs are in the model's "
        "order.",
    ),
    (
        "some-outputs-of-many-elements-zeroed",
        _Blanks,
        lambda seen: seen.subset and any(_elements(shape) > 300 for shape in seen.shapes),
        "If only some outputs are requested of a large request, one of them is zeros.",
    ),
    # Zero elements
    (
        "empty-nested-data-reversed",
        _ShapeReversed,
        lambda seen: seen.empty and seen.nested,
        "A tensor without elements that was sent as nested JSON comes back with reversed shape.",
    ),
    (
        "empty-in-chunks-as-json",
        _OtherForm,
        lambda seen: seen.empty and seen.chunked,
        "A tensor without elements comes in the other form if the request is in chunks.",
    ),
    # Codings
    (
        "empty-in-gzip-as-json",
        _OtherForm,
        lambda seen: seen.empty and seen.coding == "gzip",
        "A tensor without elements comes in the other form if the request is in gzip.",
    ),
    (
        "rank-3-in-deflate-reversed",
        _ShapeReversed,
        lambda seen: seen.coding == "deflate" and seen.role.startswith("cube/"),
        "A tensor with three dimensions comes back with reversed shape if it came in deflate.",
    ),
    (
        "override-in-gzip-ignored",
        _OtherForm,
        lambda seen: seen.coding == "gzip" and seen.by_default is False and True in seen.flags(),
        "If the request is in gzip, outputs do not have the form that binary_data says.",
    ),
    (
        "mixed-inputs-in-deflate-zeroed",
        _Blanks,
        lambda seen: seen.coding == "deflate" and seen.mixed,
        "The last input is zeros if blobs and JSON data are mixed and the request is in deflate.",
    ),
    (
        "bool-answered-in-deflate-zeroed",
        _Blanks,
        lambda seen: seen.accepted == "deflate" and seen.has("BOOL"),
        "The elements of a BOOL tensor are false if the answer is in deflate.",
    ),
    (
        "some-outputs-in-gzip-zeroed",
        _Blanks,
        lambda seen: seen.accepted == "gzip" and seen.subset,
        "If only some outputs are requested in gzip, one of them is zeros.",
    ),
)


_OF_THREE: Sequence[tuple[str, type[_Meets], Callable[[_Seen], bool], str]] = (
    (
        "rank-3-in-chunks-by-default-reversed",
        _ShapeReversed,
        lambda seen: seen.chunked and seen.by_default is True and seen.role == "cube/FP64",
        "An FP64 tensor with three dimensions comes back with reversed shape if the request is in "
        "chunks and binary_data_output is true.",
    ),
    (
        "bool-in-gzip-despite-default-as-blob",
        _OtherForm,
        lambda seen: (
            seen.coding == "gzip"
            and seen.by_default is True
            and seen.has("BOOL")
            and bool(seen.outputs)
        ),
        "If the request is in gzip, a BOOL output does not have the form that binary_data says.",
    ),
    (
        "mixed-inputs-answered-in-gzip-despite-default-zeroed",
        _Blanks,
        lambda seen: seen.accepted == "gzip" and seen.by_default is False and seen.mixed,
        "The last input is zeros if blobs and JSON data are mixed, binary_data_output is false and "
        "the answer is in gzip.",
    ),
)


def _fault_of(kind: type[_Meets], meets: Callable[[_Seen], bool]) -> type[Behaviour]:
    return type("_CrossingFault", (kind,), {"meets": lambda self, seen: meets(seen)})


for _requirement, _faults in (("X1", _FAULTS), ("X2", _OF_THREE)):
    for _name, _kind, _meets, _text in _faults:
        fault(_name, breaks=_requirement, text=_text)(_fault_of(_kind, _meets))
