"""Adapts changes of a request's JSON to another model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from v2_conformance.protocol.datatypes import ElementError, from_json, leaves
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.models import ModelContract, TensorSpec, contract
from v2_conformance.wire.encode.inputs import input_entries
from v2_conformance.wire.relations.fit import LARGE, fillable
from v2_conformance.wire.relations.unfit import need

MOST_REPEATED = 4 << 20
"""Bytes of a sample, repeated in one request: more would fill the memory of both sides."""

_INDEX = re.compile(r"(inputs|outputs)\.(\d+)")


def adapted(
    case: RequestCase, inputs: Sequence[Mapping[str, Any]], model: ModelContract
) -> Mapping[str, Any]:
    """Return `json` of a request, with changed dimensions as far from the model's own as from the
    case's.
    """
    given: Mapping[str, Any] = case.request["json"]
    need("text" not in given or not _has_no_inputs(given["text"]))
    if not isinstance(given.get("change"), list):
        return given
    entries = input_entries(case.request)
    role = contract()[case.model]
    changes = []
    for change in given["change"]:
        typed = re.fullmatch(r"inputs\.(\d+)\.datatype", str(change.get("at", "")))
        if typed and "to" in change:
            number = int(typed[1])
            need(number < min(len(entries), len(inputs)))
            was = role.inputs[entries[number].get("tensor", number)].datatype
            own_type = model.inputs[inputs[number]["tensor"]].datatype
            if change["to"] == was.lower():
                change = {**change, "to": own_type.lower()}
        found = re.fullmatch(r"inputs\.(\d+)\.shape(?:\.(\d+))?", str(change.get("at", "")))
        if found and "to" in change:
            number = int(found[1])
            need(number < min(len(entries), len(inputs)))
            was = entries[number]["shape"]
            own = model.samples[0][inputs[number]["tensor"]].shape
            change = {**change, "to": _shape_changed(change["to"], found[2], was, own)}
        changes.append(change)
    return {**given, "change": changes}


def _has_no_inputs(text: str) -> bool:
    """Return True if it is a request without inputs, which is valid for a model that needs none."""
    try:
        document = json.loads(text)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("inputs") == []


def _shape_changed(to: Any, axis: str | None, was: Sequence[Any], own: Sequence[int]) -> Any:
    """Return a changed dimension, or shape, as far from the model's own as it was
    from the case's.
    """
    if axis is not None:
        place = int(axis)
        return _dimension(to, was[place], own[place]) if place < min(len(was), len(own)) else to
    if not isinstance(to, list) or len(to) != len(was) or len(was) not in (1, len(own)):
        return to
    changed = [_dimension(*sizes) for sizes in zip(to, was, own, strict=False)]
    return [*changed, *own[len(changed) :]]


def _dimension(to: Any, was: int, own: int) -> Any:
    if to == str(was):
        return str(own)
    if isinstance(to, float):
        return own + (to - was)
    if type(to) is int and (to == -was or abs(to - was) >= LARGE):
        return -own if to == -was else own + (to - was)
    return to


def check_changes(case: RequestCase, request: Mapping[str, Any], model: ModelContract) -> None:
    """Raise UnfitError for a change whose place is missing, or that could make another valid
    request.
    """
    changes = request["json"].get("change")
    if not isinstance(changes, list):
        return
    role = contract()[case.model]
    for change in changes:
        at = str(change.get("at", ""))
        for kind, number in _INDEX.findall(at):
            need(int(number) < len(request.get(kind, ())))
        # No metadata says which inputs a model can do without: it may be all of them.
        left_out = "remove" in change and re.fullmatch(r"inputs\.\d+", at)
        need(not left_out or len(changes) > 1)
        # The dimensions of a shape may be many; what they say of the data is as long as it was.
        whole = "repeat" in change and ".shape" not in at
        for place in _places(at, request) if whole else ():
            need(change["repeat"] * len(model.samples[0][place].blob) <= MOST_REPEATED)
        if all("special" in entry for entry in request["inputs"]):
            continue  # they were made for these tensors
        need(case.expects in ("reject", "survives") or ".data" not in at)
        need(case.expects in ("reject", "survives") or at)
        for place in _places(at, request):
            own, sample = model.inputs[place], model.samples[0][place]
            datatypes = [one.datatype for one in role.inputs]
            same = own.datatype in datatypes
            spec = role.inputs[datatypes.index(own.datatype)] if same else role.inputs[0]
            if ".shape" in at:
                _check_shape(at, change, sample.shape, own)
            elif ".data." in at or at.endswith(".data"):
                _check_data(at, change, spec, own, _shape_of(case, at), sample.shape)
            elif at.endswith(".datatype"):
                need(change.get("to") != own.datatype)
            elif at.endswith(".binary_data_size"):
                need(change.get("to") != len(sample.blob))


def _places(at: str, request: Mapping[str, Any]) -> Iterator[int]:
    found = re.match(r"inputs\.(\d+)", at)
    if found:
        yield int(request["inputs"][int(found[1])]["tensor"])


def _check_shape(at: str, change: Mapping[str, Any], own: Sequence[int], spec: TensorSpec) -> None:
    """Raise UnfitError if the changed shape is another one with as many elements."""
    if "to" not in change:
        return
    shape: list[Any] = list(own)
    to, last = change["to"], at.rpartition(".")[2]
    if last == "shape":
        need(not isinstance(to, list) or to != shape)
        shape = to if isinstance(to, list) else []
        if not isinstance(to, list):
            return
    else:
        need(int(last) <= len(shape))
        shape[int(last) : int(last) + 1] = [to]
    if fillable(shape):
        need(prod(shape) != prod(own) or len(shape) != len(spec.dims))


def _shape_of(case: RequestCase, at: str) -> Sequence[Any]:
    """Return the shape that the case itself has for the input at this place."""
    found = re.match(r"inputs\.(\d+)", at)
    entries = input_entries(case.request)
    need(found and int(found[1]) < len(entries))
    shape: Sequence[Any] = entries[int(found[1]) if found else 0]["shape"]
    need(fillable(shape))
    return shape


def _check_data(
    at: str,
    change: Mapping[str, Any],
    spec: TensorSpec,
    own: TensorSpec,
    was: Sequence[Any],
    shape: Sequence[int],
) -> None:
    """Raise UnfitError unless the changed data is as wrong for this model's `shape` as it is for
    the case's own, `was`: too few elements stay too few, and one value is not a whole tensor."""
    text = "BYTES" in (spec.datatype, own.datatype)
    if at.endswith(".data") and isinstance(change.get("to"), list):
        need(spec.datatype == own.datatype or ("INT" in spec.datatype and not text))
        count = len(list(leaves(change["to"])))
        need(_order(count, prod(was)) in (0, _order(count, prod(shape))))
        need(not _is_valid(change["to"], own.datatype, shape))
        return
    need(spec.datatype == own.datatype)
    if at.endswith(".data") and "to" in change:
        need((prod(was) == 1) == (prod(shape) == 1))
    found = re.search(r"\.data\.(\d+)", at)
    if found:
        need(int(found[1]) < prod(shape) or "to" not in change)


def _order(one: int, other: int) -> int:
    return (one > other) - (one < other)


def _is_valid(data: object, datatype: str, shape: Sequence[int]) -> bool:
    try:
        from_json(datatype, shape, data)
    except ElementError:
        return False
    return True
