"""Faults that show only where two properties of a request meet (X).

Each stands for a server that does both by themselves, and has a path of its own for them together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from v2_conformance.reference.behaviour import Behaviour
from v2_mutants.faults.shared.meetings import (
    Blanks,
    Meets,
    OtherForm,
    Refuses,
    Seen,
    ShapeReversed,
)
from v2_mutants.registry import fault

_OF_TWO: Sequence[tuple[str, type[Meets], Callable[[Seen], bool], str]] = (
    ("empty-nested-data-reversed", ShapeReversed, lambda seen: seen.empty and seen.nested,
     "A tensor without elements that was sent as nested JSON comes back with reversed shape."),
    ("empty-in-gzip-as-json", OtherForm, lambda seen: seen.empty and seen.coding == "gzip",
     "A tensor without elements comes in the other form if the request is in gzip."),
    ("rank-3-in-deflate-reversed", ShapeReversed,
     lambda seen: seen.coding == "deflate" and seen.role.startswith("cube/"),
     "A tensor with three dimensions comes back with reversed shape if it came in deflate."),
    ("some-outputs-in-gzip-zeroed", Blanks, lambda seen: seen.accepted == "gzip" and seen.subset,
     "If only some outputs are requested in gzip, one of them is zeros."),
    # Profiles
    ("bf16-in-gzip-zeroed", Blanks, lambda seen: seen.coding == "gzip" and seen.has("BF16"),
     "The elements of a BF16 tensor are 0 if the request is in gzip."),
    ("bf16-by-default-as-json", OtherForm,
     lambda seen: seen.by_default is True and seen.has("BF16"),
     "A BF16 output is JSON although binary_data_output is true."),
    ("bf16-raw-refused", Refuses, lambda seen: seen.raw and seen.role == "identity/BF16",
     "A raw request is rejected if the model takes BF16."),
    ("raw-with-charset-refused", Refuses, lambda seen: seen.raw and "charset" in seen.type,
     "A raw request is rejected if its media type has a charset."),
    # Paths
    ("last-request-answered-in-deflate-zeroed", Blanks,
     lambda seen: seen.closes and seen.accepted == "deflate",
     "With Connection: close, a tensor whose answer is in deflate is zeros."),
    # What came before
    ("raw-after-json-as-json", OtherForm, lambda seen: seen.raw and seen.after == "json",
     "A raw request is answered in JSON if a request of JSON came before."),
    # Sizes
    ("page-in-deflate-zeroed", Blanks, lambda seen: seen.pages and seen.coding == "deflate",
     "The last input is zeros if it came in deflate and the body decodes to whole pages."),
)  # fmt: skip


def _fault_of(kind: type[Meets], meets: Callable[[Seen], bool]) -> type[Behaviour]:
    return type("_CrossingFault", (kind,), {"meets": lambda self, seen: meets(seen)})


for _name, _kind, _meets, _text in _OF_TWO:
    fault.several(_name, "X1", _text)(_fault_of(_kind, _meets))
