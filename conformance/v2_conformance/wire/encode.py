"""Case + names of the target's models → the bytes of one request, and what must come back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol import content_codings as compression
from v2_conformance.protocol.datatypes import (
    Buffer,
    element_count,
    from_json,
    from_values,
    to_json,
    to_values,
)
from v2_conformance.protocol.message import (
    HEADER_LENGTH,
    JSON_TYPE,
    OCTET_STREAM,
    Part,
    Tensor,
    compose,
    dump_json,
)
from v2_conformance.suite.cases import Case
from v2_conformance.suite.models import ModelContract, contract
from v2_conformance.suite.value_patterns import pattern

_LENGTH = re.compile(r"\$\{(length|blobs|body)([+-]\d+)?\}")
_INPUT_FORMS = ("binary", "json", "nested", "both", "neither")
_OUTPUT_FORMS = ("binary", "json", "any")
# Long enough for a server to be woken by each piece on loopback, short enough for many of them.
SLICE_PAUSE_S = 0.005


@dataclass(frozen=True)
class Binding:
    """What the target calls the model in a role, and its tensors, in the contract's order."""

    role: str
    model: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Address:
    """The parts of a request that belong to the target: Host, path prefix, extra header fields."""

    host: str
    prefix: str = ""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Expected:
    """An output that must come back: its exact tensor, in `form` binary, json or any."""

    tensor: Tensor
    form: str


@dataclass(frozen=True)
class Prepared:
    """A request ready for the wire: `pieces`, one write each.

    `parts` are ranges of the body, before any content coding. `codings` are those that the
    response may have.
    """

    pieces: tuple[Buffer, ...]
    pause_s: float = 0.0
    parts: tuple[Part, ...] = ()
    expected: tuple[Expected, ...] = ()
    request_id: str | None = None
    codings: frozenset[str] = compression.acceptable(None)


@dataclass(frozen=True)
class _Input:
    entry: dict[str, Any]
    tensor: Tensor
    index: int
    blob: Buffer | None = field(default=None)


def prepare(case: Case, address: Address, binding: Binding | None, *, variant: int = 0) -> Prepared:
    """The request of `case`. Raises CaseFileError where the case cannot be encoded.

    Variants of a case (C6) have the same shapes and other values.
    """
    if binding is None:
        return Prepared(pieces=(_head("GET", address, case.get, ()),))
    try:
        return _prepare(case, address, binding, variant)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise CaseFileError(f"{case.id}: cannot be encoded: {error!r}") from error


def _prepare(case: Case, address: Address, binding: Binding, variant: int) -> Prepared:
    request, model = case.request, contract()[case.model]
    entries = [{**entry, "skip": variant} for entry in input_entries(request)]
    inputs = [_input(i, entry, model, binding) for i, entry in enumerate(entries)]
    document = b"" if request.get("raw") else _document(request, inputs, binding)
    blobs = [(item.tensor.name, item.blob) for item in inputs if item.blob is not None]
    fields = _fields(
        request, len(document), sum(len(blob) for _, blob in blobs), binary=bool(blobs)
    )
    delivery = request.get("delivery", "whole")
    chunked = isinstance(delivery, Mapping) and "chunks" in delivery
    change = request.get("body", {})
    extra = _extra(change.get("append", ""))
    length = (
        len(document) + sum(len(blob) for _, blob in blobs) + len(extra) - change.get("drop", 0)
    )
    if length < 0:
        raise ValueError("more is dropped than there is")
    coded: bytes | None = None
    if "encoding" in request:
        plain, _ = compose(b"", document, [*blobs, ("", extra)])
        coded = compression.stream(request["encoding"], plain[:length], request.get("encoded", {}))
    size = str(length if coded is None else len(coded))
    fields.append(("Transfer-Encoding", "chunked") if chunked else ("Content-Length", size))
    path = request.get("path", f"/v2/models/{binding.model}/infer")
    head = _head("POST", address, path, fields)
    wire, parts = compose(head, document, [*blobs, ("", extra)] if extra else blobs)
    if extra:
        parts = (*parts[:-1], replace(parts[-1], kind="slack"))
    if change.get("drop"):
        wire = wire[: len(head) + length]
        parts = tuple(replace(p, end=min(p.end, length)) for p in parts if p.start < length)
    sent = wire if coded is None else head + coded
    pieces = _pieces(sent, len(head), parts, delivery)
    body = memoryview(wire)[len(head) :]
    return Prepared(
        pieces=pieces,
        pause_s=SLICE_PAUSE_S if len(pieces) > 1 and not chunked else 0.0,
        parts=parts,
        expected=_expected(case, model, binding, inputs, parts, body),
        request_id=request.get("id"),
        codings=compression.acceptable(request.get("accept_encoding")),
    )


def input_entries(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The entries of `inputs`, the short form for several tensors written out."""
    inputs = request["inputs"]
    if not isinstance(inputs, Mapping):
        return list(inputs)
    changed = {int(key): change for key, change in inputs.get("except", {}).items()}
    return [{"tensor": t, **inputs["each"], **changed.get(t, {})} for t in inputs["tensors"]]


def _input(
    position: int, entry: Mapping[str, Any], model: ModelContract, binding: Binding
) -> _Input:
    """One entry of `inputs`: its JSON object, its true value, and the blob to send, if any."""
    index = entry.get("tensor", position)
    datatype = entry.get("datatype", model.inputs[index].datatype)
    shape = entry["shape"]
    blob = _blob(entry, model.inputs[index].datatype, shape)
    tensor = Tensor(entry.get("name", binding.inputs[index]), datatype, tuple(shape), blob)
    form = entry.get("form", "binary")
    if form not in _INPUT_FORMS:
        raise ValueError(f"an input has the form {form!r}, not one of {', '.join(_INPUT_FORMS)}")
    document: dict[str, Any] = {"name": tensor.name, "shape": shape, "datatype": datatype}
    parameters = dict(entry.get("parameters", {}))
    sent: Buffer | None = None
    if form in ("binary", "both"):
        sent = bytes.fromhex(entry["blob"]) if "blob" in entry else blob
        parameters["binary_data_size"] = _size(entry.get("size", {"add": 0}), len(sent))
    if parameters:
        document["parameters"] = parameters
    if form in ("json", "nested", "both"):
        document["data"] = to_json(datatype, shape, blob, nested=form == "nested")
    return _Input(document, tensor, index, sent)


def _blob(entry: Mapping[str, Any], datatype: str, shape: Sequence[Any]) -> bytes:
    values = entry.get("values", "counting")
    if isinstance(values, Mapping):
        return bytes.fromhex(values["hex"])
    if isinstance(values, list):
        return from_json(datatype, (len(values),), values)
    count = entry.get("elements", element_count(shape))
    return pattern(values, datatype, count, skip=entry.get("skip", 0))


def _extra(append: str | int) -> bytes:
    """Bytes that no tensor declares; none of them could be taken for JSON or for padding."""
    return b"\xa5" * append if isinstance(append, int) else bytes.fromhex(append)


def _size(change: Mapping[str, Any], true: int) -> Any:
    if "value" in change:
        return change["value"]
    return true * change["times"] if "times" in change else true + change["add"]


def _document(request: Mapping[str, Any], inputs: Sequence[_Input], binding: Binding) -> bytes:
    text = request.get("json", {})
    if "text" in text:
        return str(text["text"]).encode()
    document: dict[str, Any] = {}
    if "id" in request:
        document["id"] = request["id"]
    if "parameters" in request:
        document["parameters"] = request["parameters"]
    document["inputs"] = [item.entry for item in inputs]
    if "outputs" in request:
        document["outputs"] = [_output(entry, binding) for entry in request["outputs"]]
    if "indent" not in text:
        body = dump_json(document)
    else:
        body = json.dumps(document, ensure_ascii=False, indent=text["indent"]).encode()
    return str(text.get("before", "")).encode() + body + str(text.get("after", "")).encode()


def _output(entry: Mapping[str, Any], binding: Binding) -> dict[str, Any]:
    name = entry["name"] if "name" in entry else binding.outputs[entry["tensor"]]
    output: dict[str, Any] = {"name": name}
    parameters = dict(entry.get("parameters", {}))
    if "binary_data" in entry:
        parameters["binary_data"] = entry["binary_data"]
    if parameters:
        output["parameters"] = parameters
    return output


def _fields(
    request: Mapping[str, Any], length: int, blobs: int, *, binary: bool
) -> list[tuple[str, str]]:
    """Content-Type, the header length as the case wants it, and the case's own fields.

    Both are sent as soon as an input is in binary form, even when its blob has no bytes: no
    document says that they may be left out then, so a server may count on them.
    """
    fields: list[tuple[str, str]] = []
    content_type = request.get("content_type", OCTET_STREAM if binary else JSON_TYPE)
    if content_type is not None:
        fields.append(("Content-Type", content_type))
    change = request.get("header_length", {} if binary else "absent")
    if change != "absent":
        name = change.get("name", HEADER_LENGTH)
        for value in change.get("values", [change.get("value", "${length}")]):
            fields.append((name, _lengths(value, length, blobs)))
    for member, name in (("encoding", "Content-Encoding"), ("accept_encoding", "Accept-Encoding")):
        if member in request:
            fields.append((name, request[member]))
    fields += request.get("headers", {}).items()
    return fields


def _lengths(text: str, length: int, blobs: int) -> str:
    known = {"length": length, "blobs": blobs, "body": length + blobs}
    return _LENGTH.sub(lambda m: str(known[m[1]] + int(m[2] or 0)), text)


def _head(method: str, address: Address, path: str, fields: Sequence[tuple[str, str]]) -> bytes:
    lines = [f"{method} {address.prefix}{path} HTTP/1.1", f"Host: {address.host}"]
    lines += [f"{name}: {value}" for name, value in (*address.headers, *fields)]
    return "\r\n".join([*lines, "", ""]).encode()


def _pieces(
    wire: bytes, start: int, parts: Sequence[Part], delivery: str | Mapping[str, Any]
) -> tuple[Buffer, ...]:
    """The request's writes: all at once, in slices, or the head and then HTTP chunks."""
    if delivery == "whole" or not isinstance(delivery, Mapping):
        return (wire,)
    kind, how = next(iter(delivery.items()))
    view = memoryview(wire)
    body = view[start:]
    cuts = [0, *_cuts(how, parts, len(body)), len(body)]
    slices = [body[a:b] for a, b in pairwise(cuts) if b > a]
    if kind == "slices":
        return (view[:start], *slices)
    chunks = [b"%x\r\n%b\r\n" % (len(piece), bytes(piece)) for piece in slices]
    return (bytes(view[:start]), *chunks, b"0\r\n\r\n")


def _cuts(how: Any, parts: Sequence[Part], length: int) -> list[int]:
    if how == "one":
        return []
    if how == "seam":
        return [parts[0].end]
    if isinstance(how, int):
        return list(range(how, length, how))
    blobs = [part for part in parts if part.kind == "blob"]
    return sorted(blobs[cut["blob"]].start + cut["at"] for cut in how)


def _expected(
    case: Case,
    model: ModelContract,
    binding: Binding,
    inputs: Sequence[_Input],
    parts: Sequence[Part],
    body: memoryview,
) -> tuple[Expected, ...]:
    """The outputs that must come back; what went out in binary shares the request's memory."""
    wanted = case.expect.get("outputs", {})
    values = {item.index: item.tensor for item in inputs}
    ranges = {part.name: body[part.start : part.end] for part in parts if part.kind == "blob"}
    expected = []
    if isinstance(wanted, str):
        wanted = dict.fromkeys(sorted(values), wanted)
    for key, form in wanted.items():
        if form not in _OUTPUT_FORMS:
            raise ValueError(f"an output has the form {form!r}")
        index = int(key)
        if model.does == "first_three":
            tensor = _first_three(values[0], index)
        else:
            tensor = values[index]
            sent = ranges.get(tensor.name)
            if sent is not None and len(sent) == len(tensor.blob):
                tensor = replace(tensor, blob=sent)
        expected.append(Expected(replace(tensor, name=binding.outputs[index]), form))
    return tuple(expected)


def _first_three(tensor: Tensor, index: int) -> Tensor:
    values = to_values("FP32", tensor.blob)[:3]
    signed = values if index == 0 else [-value for value in values]
    return Tensor("", "FP32", (3, 1), from_values("FP32", signed))
