"""Faults that show only where two properties of a request meet (X).

Each stands for a server that does both by themselves, and has a path of its own for them together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from v2_conformance.protocol.datatypes import DATATYPES, decode_bytes, element_count, encode_bytes
from v2_conformance.protocol.message import Tensor, parse_json
from v2_conformance.protocol.names import BINARY_DATA_OUTPUT
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared import is_versioned
from v2_mutants.registry import fault


@dataclass(frozen=True)
class Seen:
    """A request as far as a fault looks at it: how it came, and its JSON."""

    role: str
    coding: str
    accepted: str
    chunked: bool
    type: str
    document: JsonObject
    size: int
    versioned: bool
    closes: bool
    after: str
    """The last request on this connection: "raw", "refused", "json", "blobs", or nothing yet."""

    @property
    def pages(self) -> bool:
        """True if the decoded body fills its last page."""
        return self.size % 4096 == 0

    @property
    def raw(self) -> bool:
        """True if all of the body is the tensor."""
        return not self.document

    @property
    def inputs(self) -> Sequence[Mapping[str, Any]]:
        """The entries of `inputs`, as far as they are objects."""
        listed = self.document.get("inputs")
        return [item for item in listed if isinstance(item, dict)] if listed else []

    @property
    def outputs(self) -> Sequence[Mapping[str, Any]]:
        """The entries of `outputs`."""
        return self.document.get("outputs") or []

    @property
    def by_default(self) -> bool | None:
        """The request's `binary_data_output`, None if it has none."""
        result: bool | None = self.document.get("parameters", {}).get(BINARY_DATA_OUTPUT)
        return result

    @property
    def shapes(self) -> Sequence[Sequence[int]]:
        """The shape of each input."""
        return [item["shape"] for item in self.inputs]

    @property
    def in_json(self) -> Sequence[Mapping[str, Any]]:
        """The inputs that are sent as JSON."""
        return [item for item in self.inputs if "data" in item]

    @property
    def mixed(self) -> bool:
        """True if some inputs are JSON and others blobs."""
        return 0 < len(self.in_json) < len(self.inputs)

    @property
    def nested(self) -> bool:
        """True if an input is sent as nested lists."""
        return any(isinstance(one, list) for item in self.in_json for one in item["data"][:1])

    @property
    def empty(self) -> bool:
        """True if an input has no elements."""
        return any(element_count(shape) == 0 for shape in self.shapes)

    @property
    def subset(self) -> bool:
        """True if fewer outputs are requested than there are inputs."""
        return 0 < len(self.outputs) < len(self.inputs)

    def has(self, datatype: str) -> bool:
        """Return True if an input has the datatype, and not all others do as well."""
        return len(self.inputs) < 4 and any(item["datatype"] == datatype for item in self.inputs)


class Meets(Behavior):
    """Goes wrong if a request is as `meets` says; a subclass says how."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._here = threading.local()  # each connection has a thread of its own

    def meets(self, seen: Seen) -> bool:
        """Return True if the two properties meet in this request."""
        raise NotImplementedError

    def infer(self, model: ModelContract, request: Request) -> Response:
        after = getattr(self._here, "after", "")
        self._here.after = "refused"
        seen = self._look(model, request, after)
        self._here.wrong = self.meets(seen)
        response = super().infer(model, request)
        in_json = len(seen.in_json) == len(seen.inputs)
        self._here.after = "raw" if seen.raw else "json" if in_json else "blobs"
        return response

    @property
    def wrong(self) -> bool:
        """True if the request in hand is one that goes wrong."""
        return getattr(self._here, "wrong", False)

    def read_raw(self, model: ModelContract, body: memoryview) -> InferenceRequest:
        return self.read(super().read_raw(model, body))

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        return self.read(super().read_request(model, request, length))

    def read(self, root: InferenceRequest) -> InferenceRequest:
        """Return what the server reads instead of what was `root`."""
        return root

    def _look(self, model: ModelContract, request: Request, after: str) -> Seen:
        decoded = self.decode_request(request)
        length = self.header_length(decoded)
        text, document = memoryview(b""), {}
        if length != 0:
            text, _ = self.split_body(decoded, length)
            document = parse_json(text)
            self.request_inputs(model, document)  # raises for what every server refuses
        return Seen(
            role=model.role,
            coding=",".join(request.values("content-encoding")),
            accepted=",".join(request.values("accept-encoding")),
            chunked=bool(request.values("transfer-encoding")),
            type=",".join(request.values("content-type")),
            document=document,
            size=len(decoded.body),
            versioned=is_versioned(request),
            closes="close" in request.values("connection"),
            after=after,
        )


class Refuses(Meets):
    """The request is refused."""

    def read(self, root: InferenceRequest) -> InferenceRequest:
        if self.wrong:
            raise Rejected("this combination is not implemented")
        return root


class Blanks(Meets):
    """The last tensor of the request has zeros, or elements without bytes."""

    def read(self, root: InferenceRequest) -> InferenceRequest:
        if not self.wrong:
            return root
        wanted = {output.name.replace("OUTPUT", "INPUT") for output in root.outputs}
        last = [name for name in root.inputs if name in wanted][-1]
        return replace(root, inputs={**root.inputs, last: _blank(root.inputs[last])})


class OtherForm(Meets):
    """Every output that is not of a 16-bit float comes in the other form."""

    def read(self, root: InferenceRequest) -> InferenceRequest:
        if not self.wrong:
            return root
        return replace(root, outputs=tuple(replace(o, binary=not o.binary) for o in root.outputs))


class ShapeReversed(Meets):
    """The dimensions of every output are in reverse order."""

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        return entry | {"shape": entry["shape"][::-1]} if self.wrong else entry


def _blank(tensor: Tensor) -> Tensor:
    if DATATYPES[tensor.datatype].size is not None:
        return structs.replace(tensor, blob=bytes(len(tensor.blob)))
    return structs.replace(tensor, blob=encode_bytes([b""] * len(decode_bytes(tensor.blob))))


_OF_TWO: Sequence[tuple[str, type[Meets], Callable[[Seen], bool], str]] = (
    ("empty-nested-data-reversed", ShapeReversed, lambda seen: seen.empty and seen.nested,
     "A tensor without elements that was sent as nested JSON comes back with reversed shape."),
    ("rank-3-in-deflate-reversed", ShapeReversed,
     lambda seen: seen.coding == "deflate" and seen.role.startswith("cube/"),
     "A tensor with three dimensions comes back with reversed shape if it came in deflate."),
    ("mixed-inputs-in-deflate-zeroed", Blanks,
     lambda seen: seen.coding == "deflate" and seen.mixed,
     "The last input is zeros if blobs and JSON data are mixed and the request is in deflate."),
    ("some-outputs-in-gzip-zeroed", Blanks, lambda seen: seen.accepted == "gzip" and seen.subset,
     "If only some outputs are requested in gzip, one of them is zeros."),
    # Profiles
    ("bf16-in-gzip-zeroed", Blanks, lambda seen: seen.coding == "gzip" and seen.has("BF16"),
     "The elements of a BF16 tensor are 0 if the request is in gzip."),
    ("bf16-answered-in-gzip-zeroed", Blanks,
     lambda seen: seen.accepted == "gzip" and seen.has("BF16"),
     "The elements of a BF16 tensor are 0 if the answer is in gzip."),
    ("bf16-by-default-as-json", OtherForm,
     lambda seen: seen.by_default is True and seen.has("BF16"),
     "A BF16 output is JSON although binary_data_output is true."),
    ("bf16-raw-refused", Refuses, lambda seen: seen.raw and seen.role == "identity/BF16",
     "A raw request is rejected if the model takes BF16."),
    ("raw-with-charset-refused", Refuses, lambda seen: seen.raw and "charset" in seen.type,
     "A raw request is rejected if its media type has a charset."),
    # Paths
    ("coding-on-a-versioned-path-ignored", Refuses,
     lambda seen: seen.versioned and seen.coding != "",
     "A request in a coding is rejected if the path has the model's version."),
    ("some-outputs-of-a-version-zeroed", Blanks,
     lambda seen: seen.versioned and seen.subset,
     "If only some outputs are requested of a version, one of them is zeros."),
    ("last-request-answered-in-deflate-zeroed", Blanks,
     lambda seen: seen.closes and seen.accepted == "deflate",
     "With Connection: close, a tensor whose answer is in deflate is zeros."),
    # What came before
    ("matrix-after-a-refused-request-reversed", ShapeReversed,
     lambda seen: seen.after == "refused" and seen.role.startswith("matrix/"),
     "A matrix comes back with reversed shape if the request before was refused."),
    ("raw-after-json-as-json", OtherForm, lambda seen: seen.raw and seen.after == "json",
     "A raw request is answered in JSON if a request of JSON came before."),
    # Sizes
    ("page-in-deflate-zeroed", Blanks, lambda seen: seen.pages and seen.coding == "deflate",
     "The last input is zeros if it came in deflate and the body decodes to whole pages."),
)  # fmt: skip


def _fault_of(kind: type[Meets], meets: Callable[[Seen], bool]) -> type[Behavior]:
    return type("_CrossingFault", (kind,), {"meets": lambda self, seen: meets(seen)})


for _name, _kind, _meets, _text in _OF_TWO:
    fault.several(_name, "X1", _text)(_fault_of(_kind, _meets))
