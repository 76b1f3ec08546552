"""Faults that show only where two properties of a request meet (X).

Each stands for a server that does both by themselves, and has a path of its own for them together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from v2_conformance.protocol.datatypes import element_count
from v2_conformance.reference.behaviour import Behaviour
from v2_mutants.faults.shared.meetings import (
    Blanks,
    Meets,
    ModelOrder,
    OtherForm,
    Refuses,
    Seen,
    ShapeReversed,
)
from v2_mutants.registry import fault

_OF_TWO: Sequence[tuple[str, type[Meets], Callable[[Seen], bool], str]] = (
    ("bytes-in-chunks-lose-their-bytes", Blanks, lambda seen: seen.chunked and seen.has("BYTES"),
     "The elements of a BYTES tensor have no bytes if the request is in chunks."),
    ("int16-in-pieces-zeroed", Blanks, lambda seen: seen.in_pieces and seen.has("INT16"),
     "The elements of an INT16 tensor are 0 if the request arrives in pieces."),
    ("uint32-of-1000-elements-zeroed", Blanks, lambda seen: seen.large and seen.has("UINT32"),
     "The elements of a UINT32 tensor are 0 if there are more than 1,000."),
    ("fp32-by-default-as-json", OtherForm,
     lambda seen: seen.by_default is True and not seen.outputs and seen.has("FP32"),
     "An FP32 output is JSON although binary_data_output is true."),
    ("uint8-with-reversed-members-refused", Refuses,
     lambda seen: seen.has("UINT8") and seen.reversed_members,
     "A request with a UINT8 tensor is rejected if its shape comes before its name."),
    ("fp16-in-pieces-zeroed", Blanks, lambda seen: seen.in_pieces and seen.has("FP16"),
     "The last input is zeros if a request with an FP16 tensor arrives in pieces."),
    ("uint64-with-model-name-zeroed", Blanks,
     lambda seen: seen.has("UINT64") and "model_name" in seen.document,
     "The elements of a UINT64 tensor are 0 if the request has a model_name."),
    ("rank-3-in-pieces-zeroed", Blanks,
     lambda seen: seen.in_pieces and seen.role.startswith("cube/"),
     "The elements of a tensor with three dimensions are 0 if the request arrives in pieces."),
    ("rank-3-by-default-reversed", ShapeReversed,
     lambda seen: seen.by_default is True and seen.role.startswith("cube/"),
     "A tensor with three dimensions comes back with reversed shape if binary_data_output is "
     "true."),
    ("rank-2-despite-default-reversed", ShapeReversed,
     lambda seen: seen.by_default is False and seen.role.startswith("matrix/"),
     "A matrix comes back with reversed shape if binary_data_output is false."),
    ("second-input-of-a-full-batch-lost", Blanks,
     lambda seen: seen.role == "batched" and seen.shapes[0][0] > 4,
     "The elements of the second input are empty if the batch has more than four items."),
    ("batch-as-json-refused", Refuses,
     lambda seen: seen.role == "batched" and len(seen.in_json) == len(seen.inputs),
     "A batch is rejected if all of its inputs are JSON."),
    ("three-inputs-as-json-in-chunks-refused", Refuses,
     lambda seen: seen.chunked and seen.role == "trio",
     "A request with three inputs of different datatypes is rejected if it is in chunks."),
    ("nested-data-in-chunks-refused", Refuses, lambda seen: seen.nested and seen.chunked,
     "Nested JSON data is rejected in a request that comes in chunks."),
    ("nested-data-answered-by-default-reversed", ShapeReversed,
     lambda seen: seen.nested and seen.by_default is True,
     "A tensor sent as nested JSON comes back with reversed shape if binary_data_output is true."),
    ("mixed-inputs-with-escaped-names-zeroed", Blanks,
     lambda seen: seen.mixed and b"\\u00" in seen.text,
     "The last input is zeros if blobs and JSON data are mixed and names are escaped."),
    ("override-in-pieces-ignored", OtherForm,
     lambda seen: seen.in_pieces and seen.by_default is True and False in seen.flags(),
     "If the request arrives in pieces, outputs do not have the form that binary_data says."),
    ("override-with-charset-ignored", OtherForm,
     lambda seen: seen.by_default is False and True in seen.flags() and "charset" in seen.type,
     "If the media type has a charset, outputs do not have the form that binary_data says."),
    ("some-outputs-in-pieces-mixed-up", ModelOrder, lambda seen: seen.subset and seen.in_pieces,
     "If the request arrives in pieces, the blobs of some of the outputs are in the model's "
     "order."),
    ("some-outputs-of-many-elements-zeroed", Blanks,
     lambda seen: seen.subset and any(element_count(shape) > 300 for shape in seen.shapes),
     "If only some outputs are requested of a large request, one of them is zeros."),
    ("empty-nested-data-reversed", ShapeReversed, lambda seen: seen.empty and seen.nested,
     "A tensor without elements that was sent as nested JSON comes back with reversed shape."),
    ("empty-in-chunks-as-json", OtherForm, lambda seen: seen.empty and seen.chunked,
     "A tensor without elements comes in the other form if the request is in chunks."),
    ("empty-in-gzip-as-json", OtherForm, lambda seen: seen.empty and seen.coding == "gzip",
     "A tensor without elements comes in the other form if the request is in gzip."),
    ("rank-3-in-deflate-reversed", ShapeReversed,
     lambda seen: seen.coding == "deflate" and seen.role.startswith("cube/"),
     "A tensor with three dimensions comes back with reversed shape if it came in deflate."),
    ("override-in-gzip-ignored", OtherForm,
     lambda seen: seen.coding == "gzip" and seen.by_default is False and True in seen.flags(),
     "If the request is in gzip, outputs do not have the form that binary_data says."),
    ("mixed-inputs-in-deflate-zeroed", Blanks,
     lambda seen: seen.coding == "deflate" and seen.mixed,
     "The last input is zeros if blobs and JSON data are mixed and the request is in deflate."),
    ("bool-answered-in-deflate-zeroed", Blanks,
     lambda seen: seen.accepted == "deflate" and seen.has("BOOL"),
     "The elements of a BOOL tensor are false if the answer is in deflate."),
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
    ("bf16-over-64-kib-zeroed", Blanks, lambda seen: seen.over_64_kib and seen.has("BF16"),
     "The elements of a BF16 tensor are 0 if the body has more than 64 KiB."),
    ("bf16-raw-refused", Refuses, lambda seen: seen.raw and seen.role == "identity/BF16",
     "A raw request is rejected if the model takes BF16."),
    ("raw-in-gzip-zeroed", Blanks, lambda seen: seen.raw and seen.coding == "gzip",
     "A raw tensor is zeros if the request is in gzip."),
    ("raw-answered-in-gzip-as-json", OtherForm, lambda seen: seen.raw and seen.accepted == "gzip",
     "A raw request is answered in JSON if the answer is in gzip."),
    ("raw-with-charset-refused", Refuses, lambda seen: seen.raw and "charset" in seen.type,
     "A raw request is rejected if its media type has a charset."),
    ("raw-in-slices-over-64-kib-zeroed", Blanks,
     lambda seen: seen.raw and seen.in_pieces and seen.over_64_kib,
     "A raw tensor of more than 64 KiB is zeros if it arrives in pieces."),
    ("raw-on-a-versioned-path-as-json", OtherForm, lambda seen: seen.raw and seen.versioned,
     "A raw request is answered in JSON if the path has the model's version."),
    # Paths
    ("flags-on-a-versioned-path-ignored", OtherForm,
     lambda seen: seen.versioned and seen.by_default is True and not seen.outputs,
     "binary_data_output is ignored if the path has the model's version."),
    ("coding-on-a-versioned-path-ignored", Refuses,
     lambda seen: seen.versioned and seen.coding != "",
     "A request in a coding is rejected if the path has the model's version."),
    ("matrix-on-a-versioned-path-reversed", ShapeReversed,
     lambda seen: seen.versioned and seen.role.startswith("matrix/"),
     "A matrix comes back with reversed shape if the path has the model's version."),
    ("some-outputs-of-a-version-zeroed", Blanks,
     lambda seen: seen.versioned and seen.subset,
     "If only some outputs are requested of a version, one of them is zeros."),
    ("last-request-answered-in-deflate-zeroed", Blanks,
     lambda seen: seen.closes and seen.accepted == "deflate",
     "With Connection: close, a tensor whose answer is in deflate is zeros."),
    ("last-request-in-pieces-zeroed", Blanks, lambda seen: seen.closes and seen.in_pieces,
     "With Connection: close, the last input is zeros if the request arrives in pieces."),
    # What came before
    ("matrix-after-a-refused-request-reversed", ShapeReversed,
     lambda seen: seen.after == "refused" and seen.role.startswith("matrix/"),
     "A matrix comes back with reversed shape if the request before was refused."),
    ("raw-after-json-as-json", OtherForm, lambda seen: seen.raw and seen.after == "json",
     "A raw request is answered in JSON if a request of JSON came before."),
    # Sizes
    ("nested-data-over-64-kib-refused", Refuses, lambda seen: seen.nested and seen.over_64_kib,
     "Nested JSON data of more than 64 KiB is rejected."),
    ("page-in-deflate-zeroed", Blanks, lambda seen: seen.pages and seen.coding == "deflate",
     "The last input is zeros if it came in deflate and the body decodes to whole pages."),
)  # fmt: skip


_OF_THREE: Sequence[tuple[str, type[Meets], Callable[[Seen], bool], str]] = (
    ("rank-3-in-chunks-by-default-reversed", ShapeReversed,
     lambda seen: seen.chunked and seen.by_default is True and seen.role == "cube/FP64",
     "An FP64 tensor with three dimensions comes back with reversed shape if the request is in "
     "chunks and binary_data_output is true."),
    ("bool-in-gzip-despite-default-as-blob", OtherForm,
     lambda seen: seen.coding == "gzip" and seen.by_default is True and seen.has("BOOL")
     and bool(seen.outputs),
     "If the request is in gzip, a BOOL output does not have the form that binary_data says."),
    ("mixed-inputs-answered-in-gzip-despite-default-zeroed", Blanks,
     lambda seen: seen.accepted == "gzip" and seen.by_default is False and seen.mixed,
     "The last input is zeros if blobs and JSON data are mixed, binary_data_output is false and "
     "the answer is in gzip."),
)  # fmt: skip


def _fault_of(kind: type[Meets], meets: Callable[[Seen], bool]) -> type[Behaviour]:
    return type("_CrossingFault", (kind,), {"meets": lambda self, seen: meets(seen)})


for _requirement, _faults in (("X1", _OF_TWO), ("X2", _OF_THREE)):
    for _name, _kind, _meets, _text in _faults:
        fault.several(_name, _requirement, _text)(_fault_of(_kind, _meets))
