"""The factors of the crossing: their levels, which of these go together, and the case that they
make.

A row has one level of each factor. Its label is made of its own levels, without those that every
request has anyway, so that it stays the same when factors and levels are added.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.suite.models import ModelContract, TensorSpec, contract

Row = Mapping[str, str]
"""Factor to level."""

SIXTEEN_BIT = ("FP16", "BF16")
"""These never go as JSON: a server may refuse that (D12)."""

EVERY = "every"
"""The datatype of a request to the model that has all of them."""

EMPTY = "empty"
"""The size of a tensor without elements."""

ONE_OF_EACH_KIND = ("BOOL", "INT32", "FP64", "BYTES", EVERY)
"""Where the element's size hardly matters, the crossing has these datatypes only: tensors without
elements, each of which costs two known-good requests more, and requests without `outputs`."""

_OF_EACH_PROFILE = (*ONE_OF_EACH_KIND, "BF16")
"""For the same reason, only these meet long bodies, what came before, and the paths."""

RAW = "raw-in"
"""The form of a raw request, whose body is the tensor."""

_OTHERS_BEFORE: Mapping[str, Row] = {
    "after-json": {"form": "json-in", "outputs": "json-out", "size": "one"},
    "after-longer": {"outputs": "binary-by-default", "delivery": "chunks", "size": "many"},
    "after-refused": {"outputs": "binary-by-default"},
}
"""The request sent before, on the same connection and to the same model."""

AFTER_RAW = "after-raw"
"""The state after a raw request to another model."""

_MOST_ELEMENTS = 1001
_FEWER_ELEMENTS = 301  # of each of thirteen tensors
# Primes, so that the cuts are at no boundary.
_PIECE, _LARGE_PIECE, _LARGE_SLICE = 61, 997, 4001
_PAGE = 4096
_LONG = 70_001  # bytes of a blob: more than the 64 KiB that many servers keep in memory
_LONG_BYTES = 5003  # elements of BYTES, which take about as much


@cache
def factors() -> dict[str, tuple[str, ...]]:
    """Each factor with its levels. The first is what a request has unless it is crossed."""
    datatypes = [spec.datatype for spec in contract()["all_types"].inputs]
    return {
        "datatype": (*datatypes, EVERY, "BF16"),
        "model": ("identity", "matrix", "mixed", "all_types", "trio", "cube", "batched"),
        "form": ("binary-in", "json-in", "nested-in", "mixed-in", RAW),
        "outputs": (
            "binary-out",
            "json-out",
            "unlisted",
            "binary-by-default",
            "json-despite-default",
            "binary-despite-default",
            "subset",
        ),
        "delivery": ("whole", "slices", "chunks"),
        "spelling": ("plain", *SPELLINGS),
        "size": ("some", "one", "many", EMPTY, "page", "long"),
        "coding": ("uncoded", "gzip", "deflate"),
        "answer": ("any-answer", "answer-in-gzip", "answer-in-deflate"),
        "before": ("nothing-before", *_OTHERS_BEFORE, AFTER_RAW),
        "path": ("own-path", "versioned-path", "connection-close"),
    }


SPELLINGS = ("members-reversed", "model-name", "escaped-names", "media-type-with-charset")
"""Variations that fit every request with JSON, and that a server must understand."""

_WITHOUT_JSON = ("plain", "media-type-with-charset")
_PLAIN = ("plain", "own-path", "nothing-before")


def role_of(datatype: str, model: str) -> str | None:
    """The role of the contract that has a tensor of this datatype, None if there is none."""
    if datatype == EVERY or model == "all_types":
        return "all_types" if (datatype, model) == (EVERY, "all_types") else None
    role = f"{model}/{datatype}"
    if role in contract() and contract()[role].stands_in_for is None:
        return role
    several = contract().get(model)
    return model if several and any(s.datatype == datatype for s in several.inputs) else None


def _inputs(datatype: str, model: str) -> tuple[TensorSpec, ...]:
    role = role_of(datatype, model)
    return () if role is None else contract()[role].inputs


def _focus(specs: Sequence[TensorSpec], datatype: str) -> int:
    """The place of the tensor that a row is about."""
    return next((i for i, s in enumerate(specs) if s.datatype == datatype), len(specs) // 2)


def _form_fits(datatype: str, model: str, form: str) -> bool:
    inputs = _inputs(datatype, model)
    if not inputs or form == "binary-in":
        return bool(inputs)
    if form == RAW:
        return model == "identity" and datatype != "BYTES"  # W7
    if form == "mixed-in":
        return len(inputs) > 1
    if datatype in SIXTEEN_BIT:
        return False
    return form == "json-in" or len(inputs[_focus(inputs, datatype)].dims) > 1


def _outputs_fit(datatype: str, model: str, outputs: str) -> bool:
    if outputs == "subset":
        return len(_inputs(datatype, model)) > 1
    if outputs == "unlisted":
        kinds = {spec.datatype for spec in _inputs(datatype, model)}
        return datatype in ONE_OF_EACH_KIND and kinds.isdisjoint(SIXTEEN_BIT)
    return datatype not in SIXTEEN_BIT or outputs not in ("json-out", "json-despite-default")


def _size_fits(datatype: str, size: str) -> bool:
    if size == EMPTY:
        return datatype in ONE_OF_EACH_KIND
    few = {"page": _OF_EACH_PROFILE, "long": set(_OF_EACH_PROFILE) - {EVERY}}
    return size not in few or datatype in few[size]


def _before_fits(datatype: str, model: str, before: str) -> bool:
    if before == "nothing-before":
        return True
    other = {"datatype": datatype, "model": model, **_OTHERS_BEFORE.get(before, {})}
    return datatype in _OF_EACH_PROFILE and is_legal(other)


_RULES: Mapping[tuple[str, ...], Callable[..., bool]] = {
    ("datatype", "model"): lambda datatype, model: role_of(datatype, model) is not None,
    ("datatype", "model", "form"): _form_fits,
    ("datatype", "model", "outputs"): _outputs_fit,
    ("datatype", "size"): _size_fits,
    ("form", "outputs"): lambda form, outputs: form != RAW or outputs == "binary-out",
    ("form", "spelling"): lambda form, spelling: form != RAW or spelling in _WITHOUT_JSON,
    ("datatype", "model", "before"): _before_fits,
    ("datatype", "path"): lambda t, path: path == "own-path" or t in _OF_EACH_PROFILE,
}
"""Levels of these factors go together if this is true of them."""


def is_legal(row: Row) -> bool:
    """Return True if the rules allow the levels of a row, which may lack factors, together."""
    return all(
        holds(*(row[factor] for factor in of))
        for of, holds in _RULES.items()
        if row.keys() >= set(of)
    )


# --- labels ----------------------------------------------------------------------------------


def label(row: Row) -> str:
    """The row's levels that are not the first of their factor; the datatype always."""
    told = [row[name] for name, levels in factors().items() if row[name] != levels[0]]
    return ".".join(told if row["datatype"] in told else [row["datatype"], *told])


def row_of(label: str) -> dict[str, str]:
    """Return the row that has this label. Raises ValueError for an unknown level."""
    row = {factor: levels[0] for factor, levels in factors().items()}
    for level in label.split("."):
        factor = next((name for name, levels in factors().items() if level in levels), None)
        if factor is None:
            raise ValueError(f"no factor has the level {level}")
        row[factor] = level
    return row


# --- the case --------------------------------------------------------------------------------


def combination(row: Row) -> dict[str, Any]:
    """Return what the case files say of a row: what is sent, and what must come back."""
    role = role_of(row["datatype"], row["model"])
    assert role is not None, row
    model = contract()[role]
    focus = _focus(model.inputs, row["datatype"])
    answer, asked = _asked(row["outputs"], model, focus)
    inputs = [
        _input(row, model, index, focused=index == focus, comes_as=answer.get(index))
        for index in range(len(model.inputs))
    ]
    if row["form"] == RAW:
        request: dict[str, Any] = {"raw": True, "header_length": {"value": "0"}, "inputs": inputs}
    else:
        request = {**_id(row), "inputs": inputs, **asked}
        if row["size"] == "page":
            request["json"] = {"fill_to": _PAGE}
    large = row["size"] in ("many", "page", "long")
    if row["delivery"] == "slices":
        request["delivery"] = {"slices": _LARGE_SLICE if large else _PIECE}
    elif row["delivery"] == "chunks":
        blobs = [i for i, entry in enumerate(inputs) if "form" not in entry]
        cut: int | str = _LARGE_PIECE if large else _PIECE
        if any(model.inputs[i].datatype == "BYTES" for i in blobs):
            cut = "seam"  # a chunk that ends inside a length prefix is what B10 is about
        request["delivery"] = {"chunks": cut}
    if row["coding"] != "uncoded":
        request["encoding"] = row["coding"]
    if row["answer"] != "any-answer":
        request["accept_encoding"] = row["answer"].removeprefix("answer-in-")
    free = row["size"] == EMPTY or (row["form"] == RAW and row["coding"] != "uncoded")
    made = {
        "model": role,
        "request": request,
        "variations": [row[name] for name in ("spelling", "path") if row[name] not in _PLAIN],
        "outcome": "either" if free else "success",
        "answer": _in_short(answer, len(inputs)),
    }
    return made if row["before"] in _PLAIN else {**_first(row), **made}


def _id(row: Row) -> dict[str, str]:
    """An id for every second row, as the label decides: one that gets lost on some way shows."""
    return {"id": "crossed"} if zlib.crc32(label(row).encode()) % 2 else {}


def _first(row: Row) -> dict[str, Any]:
    """The request that is sent before that of the row, and its model."""
    if row["before"] == AFTER_RAW:
        raw = {"raw": True, "header_length": {"value": "0"}, "inputs": [{"shape": [4]}]}
        return {"first_model": "raw/fixed", "first": raw}
    usual = {name: levels[0] for name, levels in factors().items()}
    other = {"datatype": row["datatype"], "model": row["model"], **_OTHERS_BEFORE[row["before"]]}
    made = combination({**usual, **other})
    made["request"].pop("id", None)
    if row["before"] == "after-refused":
        made["request"]["inputs"][0]["name"] = "NO_SUCH_INPUT"
    return {"first_model": made["model"], "first": made["request"]}


def _in_short(answer: Mapping[int, str], tensors: int) -> str | dict[str, str]:
    """The forms of the outputs, as `expect` has them: one word for all if it is the same."""
    if len(answer) == tensors and len(set(answer.values())) == 1:
        return answer[0]
    return {str(index): form for index, form in answer.items()}


def _asked(outputs: str, model: ModelContract, focus: int) -> tuple[dict[int, str], dict[str, Any]]:
    """The form in which each output comes back, and the members of the request that say so."""
    every = range(len(model.outputs))
    blob = {i: spec.datatype in SIXTEEN_BIT for i, spec in enumerate(model.outputs)}

    def listed(flags: Mapping[int, bool | None], **default: bool) -> tuple[dict[int, str], Any]:
        entries = [
            {"tensor": i} if flag is None else {"tensor": i, "binary_data": flag}
            for i, flag in flags.items()
        ]
        members = {"parameters": dict(default)} if default else {}
        forms = {i: "binary" if flag else "json" for i, flag in flags.items()}
        return forms, {**members, "outputs": entries}

    if outputs == "unlisted":
        return dict.fromkeys(every, "json"), {}
    if outputs == "binary-by-default":
        return dict.fromkeys(every, "binary"), {"parameters": {"binary_data_output": True}}
    if outputs == "binary-out":
        return listed(dict.fromkeys(every, True))
    if outputs == "json-out":
        return listed({i: blob[i] for i in every})
    if outputs == "json-despite-default":
        return listed({i: i != focus for i in every}, binary_data_output=True)
    if outputs == "binary-despite-default":
        flags = {i: True if i == focus or blob[i] else None for i in every}
        return listed(flags, binary_data_output=False)
    some = [i for i in reversed(every) if (i - focus) % 2 == 0]
    return listed({i: i % 3 != 1 or i == focus or blob[i] for i in some})


def _input(
    row: Row, model: ModelContract, index: int, *, focused: bool, comes_as: str | None
) -> dict[str, Any]:
    spec = model.inputs[index]
    form = _form(row["form"], spec.datatype, index, focused=focused, flat=len(spec.dims) < 2)
    entry: dict[str, Any] = {"shape": _shape(row, model, index, focused=focused)}
    if form != "binary":
        entry["form"] = form
    exact = form == "binary" and comes_as != "json"
    if spec.datatype == "BYTES":
        entry["values"] = "unicode"  # other bytes are what B3, B4 and B14 are about
    elif row["size"] == "one":
        entry["values"] = "counting_in_json"  # the first of the extremes is 0
    else:
        entry["values"] = "extremes" if exact else "counting_in_json"
    return entry


def _form(form: str, datatype: str, index: int, *, focused: bool, flat: bool) -> str:
    if form in ("binary-in", RAW) or datatype in SIXTEEN_BIT:
        return "binary"
    if form == "mixed-in" and not focused and index % 2 == 0:
        return "binary"
    return "nested" if form == "nested-in" and not flat else "json"


def _shape(row: Row, model: ModelContract, index: int, *, focused: bool) -> list[int]:
    size = row["size"]
    empty = size == EMPTY and focused
    spec = model.inputs[index]
    rank = len(spec.dims)
    width = DATATYPES[spec.datatype].size
    long = 0
    if size == "long" and focused:
        long = _LONG_BYTES if width is None else _LONG // width
    if model.batching:  # all inputs have the same batch
        batch = {"one": 1, "many": 8}.get(size, 3)
        return [
            batch,
            0 if empty else {"one": 1, "many": 125}.get(size, long // batch or 2 + index),
        ]
    if long:
        return {1: [long], 2: [7, long // 7], 3: [7, 11, long // 77]}[rank]
    if size == "page" and row["form"] == RAW and width is not None:
        return [_PAGE // width]
    if empty:
        return [0, 2, 3][:rank] if rank != 2 else [2, 0]
    if size == "one":
        return [1] * rank
    if size == "many":
        elements = _FEWER_ELEMENTS if len(model.inputs) > 3 else _MOST_ELEMENTS
        return {1: [elements], 2: [7, 143], 3: [7, 11, 13]}[rank]
    return {1: [7 - index % 4], 2: [3, 5 - index], 3: [3, 2, 5]}[rank]
