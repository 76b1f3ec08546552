"""Hypothesis strategies for well-formed requests, in the form of generated_requests.yaml.

A request is planned, encoded and judged like one from that file. Only what a MUST requires is
generated, so that a correct server passes all of it. Left out are what the documents dispute (O6)
or leave open, tensors without elements (E1), NaNs (D4), white space around the JSON (P11), and as
JSON 16-bit floats (D12), integers beyond 2^53 (D15) and floats of many digits (D11), and unknown
parameters, which are a SHOULD (S14).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    decode_bytes,
    element_count,
    encode_bytes,
    from_values,
    to_values,
)
from v2_conformance.suite.models import ModelContract, TensorSpec, contract
from v2_conformance.suite.values.patterns import value_pattern

Entry = dict[str, Any]

# How many elements of a tensor are drawn; the rest follow a pattern. Each costs time.
_MOST_DRAWN = 6
_MOST_DRAWN_OF_MANY = 2
# No integer beyond it is one that every parser must keep apart (RFC 8259, section 6).
_LARGEST_EXACT = 2**53 - 1
_DIMENSIONS = st.integers(1, 4) | st.integers(1, 64)
_IDS = st.text("abcxyzABCXYZ0123456789-", min_size=1, max_size=40)  # limits on others are V4's
# Quotes, escapes, controls, the limits of every length of UTF-8, and all kinds of line breaks.
_CORNER_CHARACTERS = 'a0 "\\/{}[],:\t\n\r\x01\x1f\x7f\x80\x85é߿ࠀ日\u2028\ufeff\uffff🙂\U0010ffff'
# Not st.characters, which would compute a table of all of Unicode first. `$` starts an axis in a
# case file.
_CHARACTERS = st.integers(0x20, 0x10FFFF).map(chr)
_CHARACTERS = _CHARACTERS.filter(lambda c: c != "$" and not "\ud800" <= c <= "\udfff")
_TEXTS = st.lists(st.sampled_from(_CORNER_CHARACTERS) | _CHARACTERS, max_size=12).map("".join)


def requests(roles: Sequence[str]) -> st.SearchStrategy[Entry]:
    """Return requests, each to the model in one of `roles`, with the answer that must come."""
    several = [role for role in roles if len(contract()[role].inputs) > 1]
    single = [role for role in roles if role not in several]
    # Half of the requests go to the few models with several inputs, where most can go wrong.
    chosen = st.one_of([st.sampled_from(some) for some in (single, several) if some])
    return chosen.flatmap(_request)


@st.composite
def _request(draw: st.DrawFn, role: str) -> Entry:
    model = contract()[role]
    inputs: list[Entry] = []
    representable: dict[int, bool] = {}
    most = _MOST_DRAWN if len(model.inputs) < 4 else _MOST_DRAWN_OF_MANY
    for index in draw(st.permutations(range(len(model.inputs)))):
        entry, representable[index] = draw(_input(model.inputs[index], most))
        inputs.append({"tensor": index, **entry} if len(model.inputs) > 1 else entry)
    request, forms = draw(_outputs(model, representable))
    if draw(st.booleans()):
        request["id"] = draw(_IDS)
    request["inputs"] = inputs
    if draw(st.integers(0, 3)) == 3:
        request["json"] = {"indent": draw(st.integers(0, 4))}
    delivery = draw(_delivery(inputs))
    if delivery != "whole":
        request["delivery"] = delivery
    answer = {str(index): form for index, form in forms.items()}
    return {"model": role, "request": request, "answer": answer}


@st.composite
def _input(draw: st.DrawFn, spec: TensorSpec, most: int) -> tuple[Entry, bool]:
    """One input, and whether a server must be able to read and write its values as JSON."""
    shape = [draw(_DIMENSIONS) if n == -1 else n for n in spec.dims]
    kind = DATATYPES[spec.datatype].kind
    representable = kind in ("bool", "int")
    if spec.datatype in ("INT64", "UINT64", "FP32", "FP64", "BYTES"):
        representable = draw(st.booleans())
    forms = ["binary", "json", *(["nested"] if len(shape) > 1 else [])]
    form = draw(st.sampled_from(forms)) if representable else "binary"
    entry: Entry = {"shape": shape}
    if form != "binary":
        entry["form"] = form
    count = element_count(shape)
    start = draw(_elements(spec.datatype, representable, min(count, most)))
    blob = _blob(spec.datatype, count, start, representable)
    return {**entry, "values": {"hex": blob.hex()}}, representable


def _blob(datatype: str, count: int, start: Sequence[bytes], representable: bool) -> bytes:
    """`count` elements that begin with `start`. The rest all differ, so that a shift shows."""
    rest = value_pattern("counting_in_json" if representable else "counting", datatype, count)
    size = DATATYPES[datatype].size
    if size is None:
        return encode_bytes([*start, *decode_bytes(rest)[len(start) :]])
    return b"".join(start) + rest[size * len(start) :]


@cache
def _elements(datatype: str, representable: bool, most: int) -> st.SearchStrategy[list[bytes]]:
    return st.lists(_element(datatype, representable), min_size=1, max_size=most)


@cache
def _element(datatype: str, representable: bool) -> st.SearchStrategy[bytes]:
    spec = DATATYPES[datatype]
    if spec.kind == "bool":
        return st.sampled_from([b"\x00", b"\x01"])
    if spec.size is None:
        if representable:
            return _TEXTS.map(str.encode) | st.sampled_from([b"\x00", b"nul\x00", b"\x00x"])
        awkward = [b"\xff\xfe", b"\xc3", b"\x00\x00", b"tail\x00", b"\xed\xa0\x80", b"x" * 258]
        return st.sampled_from(awkward) | st.binary(max_size=12)
    if representable and (spec.kind == "float" or spec.size == 8):
        return _plain_number(datatype)
    corners = value_pattern("extremes", datatype, 14)
    listed = [corners[i : i + spec.size] for i in range(0, len(corners), spec.size)]
    free = st.binary(min_size=spec.size, max_size=spec.size)
    if spec.kind == "float":
        free = free.filter(lambda data: not math.isnan(to_values(datatype, data)[0]))
    return st.sampled_from(listed) | free


def _plain_number(datatype: str) -> st.SearchStrategy[bytes]:
    """A number that every server must carry: an integer below 2^53, a float of few digits."""
    if DATATYPES[datatype].kind == "float":
        fractions = st.integers(-159, 159).map(lambda n: n / 16)
        numbers = fractions | st.integers(-99_999, 99_999).map(float)
        return numbers.map(lambda value: from_values(datatype, [value]))
    least = 0 if datatype == "UINT64" else -_LARGEST_EXACT
    corners = [0, 1, 2**31, 2**32 + 1, _LARGEST_EXACT, least]
    integers = st.sampled_from(corners) | st.integers(least, _LARGEST_EXACT)
    return integers.map(lambda value: from_values(datatype, [value]))


@st.composite
def _outputs(
    draw: st.DrawFn, model: ModelContract, representable: dict[int, bool]
) -> tuple[Entry, dict[int, str]]:
    default = draw(st.sampled_from([None, True, False]))
    request: Entry = {} if default is None else {"parameters": {"binary_data_output": default}}
    tensors = range(len(model.outputs))
    if (default or all(representable.values())) and draw(st.booleans()):  # none is listed
        return request, dict.fromkeys(tensors, "binary" if default else "json")
    listed = draw(st.permutations(tensors))[: draw(st.integers(1, len(tensors)))]
    forms = {}
    request["outputs"] = []
    for tensor in listed:
        flags: list[bool | None] = [True]
        if representable[tensor]:
            # The documents dispute what no flag means with binary_data_output true (O6).
            flags += [False] if default else [False, None]
        flag = draw(st.sampled_from(flags))
        request["outputs"].append(
            {"tensor": tensor, **({} if flag is None else {"binary_data": flag})}
        )
        forms[tensor] = "binary" if flag else "json"
    return request, forms


@st.composite
def _delivery(draw: st.DrawFn, inputs: Sequence[Entry]) -> Any:
    """Return how the request is sent, in few pieces: the sender waits between slices."""
    kind = draw(st.sampled_from(["whole", "whole", "slices", "chunks"]))
    if kind == "whole":
        return kind
    lengths = [len(entry["values"]["hex"]) // 2 for entry in inputs]
    blobs = [n for n, entry in zip(lengths, inputs, strict=True) if "form" not in entry]
    cut = draw(st.sampled_from(["one", "seam", "size", *(["blob"] if any(blobs) else [])]))
    if cut == "blob":
        blob = draw(st.sampled_from([i for i, n in enumerate(blobs) if n]))
        return {kind: [{"blob": blob, "at": draw(st.integers(0, min(blobs[blob], 16)))}]}
    if cut == "size":
        about = 80 * len(inputs) + 2 * sum(lengths)
        return {kind: about // draw(st.integers(1, 6 if kind == "slices" else 40)) + 1}
    return {kind: cut}
