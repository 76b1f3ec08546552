"""Maps the tensors of a case to those of another model, with the model's samples as values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.models import ModelContract, TensorSpec, contract
from v2_conformance.suite.values.patterns import value_pattern
from v2_conformance.wire.encode.inputs import IN_JSON, SAMPLE, input_entries
from v2_conformance.wire.relations.sizes import batch_of_one
from v2_conformance.wire.relations.unfit import need

_NO_JSON = frozenset({"FP16", "BF16"})  # they need not have a JSON form
LARGE = 1 << 20
"""A declared size that is not a model's by chance."""

_MOST_CHUNKS = 2048
# Patterns that stand for any values of the datatype.
_ANY_VALUES = frozenset({"counting", "counting_in_json", "ones", "not_json", "ascii"})
PLAIN = frozenset({"tensor", "shape", "values", "form"})
"""Members of an entry of `inputs` that tampers with nothing."""


def input_datatypes(model: ModelContract) -> list[str]:
    return [spec.datatype for spec in model.inputs]


def has_json(spec: TensorSpec) -> bool:
    """Return True if every server has a JSON form of the tensor."""
    return spec.datatype not in _NO_JSON


def carries_json(own: TensorSpec, spec: TensorSpec) -> bool:
    """Return True if `own` can be in JSON where a case has `spec` in JSON. What a server may refuse
    in JSON is so in cases about its datatype alone, which let the server refuse it.
    """
    return has_json(own) if has_json(spec) else own.datatype == spec.datatype


@dataclass(frozen=True)
class Fit:
    """Mapping of a case's tensors to those of another model."""

    case: RequestCase
    model: ModelContract
    about_outputs: bool

    @property
    def role(self) -> ModelContract:
        """The model that the case was written for."""
        return contract()[self.case.model]

    def inputs(self) -> list[dict[str, Any]]:
        """Return the entries of `inputs` for the model."""
        entries = [
            {"tensor": position, **entry}
            for position, entry in enumerate(input_entries(self.case.request))
        ]
        if not entries:
            return []
        if self.case.request.get("raw"):
            return self._raw(entries)
        used = sorted({entry["tensor"] for entry in entries})
        left_out = len(self.role.inputs) - len(used)
        room = len(self.model.inputs) - left_out
        any_number = self.about_outputs or self.case.expects in ("reject", "survives")
        need(room >= 1 and (len(used) == 1 or room >= 2 or any_number))
        changed = changed_places(self.case.request)
        tampered = {
            entry["tensor"]
            for place, entry in enumerate(entries)
            if not entry.keys() <= PLAIN
            or entry.get("form") in ("both", "neither")
            or place <= max(changed, default=-1)
        }
        need(len(tampered) <= room)
        plain = [tensor for tensor in used if tensor not in tampered]
        kept = sorted([*tampered, *plain[: room - len(tampered)]])
        for entry in entries:  # what a left out one is about would be missing
            tensor, values = entry["tensor"], entry.get("values", "counting")
            spec = self.role.inputs[tensor]
            need(tensor in kept or any_values(values, self.case, spec, spec))
        places = {tensor: place for place, tensor in enumerate(kept)}
        datatypes = input_datatypes(self.model)
        datatype = self.role.inputs[kept[0]].datatype
        if len(kept) == 1 and datatype in datatypes:
            places = {kept[0]: datatypes.index(datatype)}
        in_json = {entry["tensor"] for entry in entries if entry.get("form") in IN_JSON}
        ranked = {entry["tensor"] for entry in entries if self._of_rank(entry)}
        places = _placed(places, self.role.inputs, self.model.inputs, in_json, ranked)
        made = [
            self._entry(entry, places[entry["tensor"]])
            for entry in entries
            if entry["tensor"] in places
        ]
        if left_out:
            return made
        without_blobs = {entry.get("form", "binary") for entry in entries} <= IN_JSON - {"both"}
        rest = [place for place in range(len(datatypes)) if place not in places.values()]
        for place in rest:
            form = rest_form(self.case, self.model.inputs[place], without_blobs)
            made.append(self._plain(place, form))
        return made

    def _plain(self, place: int, form: str) -> dict[str, Any]:
        shape = list(self.model.samples[0][place].shape)
        return {"tensor": place, "shape": shape, "values": SAMPLE, "form": form}

    def _entry(self, entry: Mapping[str, Any], place: int) -> dict[str, Any]:
        """Return an entry of `inputs` for the model's input `place`."""
        spec = self.role.inputs[entry["tensor"]]
        own, sample = self.model.inputs[place], self.model.samples[0][place]
        given = {k: v for k, v in entry.items() if k not in ("tensor", "values", "shape")}
        values = entry.get("values", "counting")
        self._check_values(entry, spec, own)
        need(sample.blob or entry.keys() <= PLAIN)
        if entry.get("form") in IN_JSON and self._answered:
            need(carries_json(own, spec))
        need(len(sample.shape) > 1 or not self._of_rank(entry))
        blob = entry.get("blob")
        cut = blob is not None and "BYTES" not in (spec.datatype, own.datatype)
        if cut:  # of another length than the tensor's, whatever is in it
            need(self.case.expects in ("reject", "survives") and "size" not in entry)
            need(len(bytes.fromhex(str(blob))) != len(sample.blob))
        elif blob is not None or not any_values(values, self.case, spec, own):
            return self._as_it_is(entry, spec, own, place)
        if "datatype" in entry:
            need(entry["datatype"] != own.datatype and spec.datatype != "BYTES")
        made = {"tensor": place, "shape": list(sample.shape), "values": SAMPLE, **given}
        if "elements" in entry or not fillable(entry["shape"]):
            made |= _counted(entry, sample.shape)
        if "value" in entry.get("size", {}):
            made["size"] = _size(entry, spec, sample.blob)
        return made

    def _of_rank(self, entry: Mapping[str, Any]) -> bool:
        """Return True if the case needs an input of two dimensions or more."""
        needed = self._answered or entry.get("form") == "nested"
        return len(entry["shape"]) > 1 and needed and not self.about_outputs

    def _check_values(self, entry: Mapping[str, Any], spec: TensorSpec, own: TensorSpec) -> None:
        """Raise UnfitError for a case whose datatype matters, because BYTES are not numbers."""
        if {"elements", "size", "blob"} & entry.keys():
            need((spec.datatype == "BYTES") == (own.datatype == "BYTES"))

    def _as_it_is(
        self, entry: Mapping[str, Any], spec: TensorSpec, own: TensorSpec, place: int
    ) -> dict[str, Any]:
        """Return an entry whose own values are wrong; only for a model of the same datatype and
        shape.
        """
        need(self.case.expects in ("reject", "survives") and spec.datatype == own.datatype)
        shape = entry["shape"]
        need(len(shape) == len(own.dims))
        need(all(want in (-1, got) for want, got in zip(own.dims, shape, strict=True)))
        return {**entry, "tensor": place}

    def _raw(self, entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the body of a raw request, which is one tensor without a description."""
        inputs, several = self.model.inputs, len(self.role.inputs) > 1
        need(len(entries) == 1)
        variable = inputs[0].dims.count(-1)
        if several:
            need(len(inputs) > 1 and self.case.expects == "reject")
        else:
            need(len(inputs) == 1 and inputs[0].datatype != "BYTES")
            need(self.role.does != "first_three" and not self.role.batching)
            need((self.role.inputs[0].dims.count(-1) > 1) == (variable > 1))
            need("blob" not in entries[0])
            plain = any_values(entries[0].get("values", "counting"), self.case, *self._firsts)
            need(plain and _filled(entries[0]) and self.case.expects == "success")
        made = self._plain(0, "binary")
        del made["form"]
        if not several and inputs[0].dims[:1] == (-1,):
            return [self._batch_of_one(made)]
        return [made]

    def _batch_of_one(self, made: dict[str, Any]) -> dict[str, Any]:
        """Return the input of a raw request whose first dimension may be the batch."""
        values = batch_of_one(self.model)
        if values == self.model.samples[0]:
            return made
        need(values in self.model.special)
        number = self.model.special.index(values)
        return {**made, "shape": list(values[0].shape), "special": number}

    @property
    def _answered(self) -> bool:
        """True if its answer has outputs that are checked."""
        return self.case.expects not in ("reject", "survives")

    @property
    def _firsts(self) -> tuple[TensorSpec, TensorSpec]:
        return self.role.inputs[0], self.model.inputs[0]

    def form(self, tensor: int | None) -> str:
        """Return the form of the answer's output `tensor`, "binary" if none is said."""
        forms = self.case.expect.get("outputs", {})
        return str(forms if isinstance(forms, str) else forms.get(str(tensor), "binary"))

    def outputs(self, given: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the entries of `outputs`, for the outputs of the model."""
        places = self._output_places(given)
        return [
            {**entry, "tensor": places[entry["tensor"]]} if "tensor" in entry else dict(entry)
            for entry in given
            if entry.get("tensor") in (None, *places)
        ]

    def _output_places(self, given: Sequence[Mapping[str, Any]]) -> dict[int, int]:
        """Return the place among the model's outputs of each listed one.

        A model that has fewer of them is asked for as many as it has, counted around, so that their
        order and forms still differ: 1, 2, 0 of three are 1, 0 of two, and 1, 2 are so as well.
        """
        listed = list(dict.fromkeys(entry["tensor"] for entry in given if "tensor" in entry))
        number = len(self.model.outputs)
        need(number > 0 or not listed)  # its metadata names none, and it has not answered yet
        first: dict[int, int] = {}
        for tensor in listed:
            first.setdefault(tensor % number, tensor)
        if self._answered and listed:
            # One output says nothing about several: there is no order, and none to leave out.
            need(number > 1 or len(self.role.outputs) == 1)
            need(len(first) > 1 or len(listed) == 1)
        places = {tensor: place for place, tensor in first.items()}
        in_json = {tensor for tensor in places if self.form(tensor) != "binary"}
        places = _placed(places, self.role.outputs, self.model.outputs, in_json)
        for tensor in in_json if self._answered else ():
            spec = self.role.outputs[min(tensor, len(self.role.outputs) - 1)]
            need(carries_json(self.model.outputs[places[tensor]], spec))
        return places

    def forms(self) -> dict[str, str]:
        """Return `expect.outputs` of the case, for the outputs of the model."""
        given = self.case.expect["outputs"]
        if asked := self.case.request.get("outputs"):
            return {
                str(place): self.form(tensor)
                for tensor, place in self._output_places(asked).items()
            }
        forms = {given} if isinstance(given, str) else set(given.values())
        need(len(forms) == 1 and (forms == {"binary"} or all(map(has_json, self.model.outputs))))
        return {str(place): next(iter(forms)) for place in range(len(self.model.outputs))}


def rest_form(case: RequestCase, own: TensorSpec, in_json: bool) -> str:
    """Return the form of an input that a case does not have: that of the others, or binary if it
    has no JSON form and the case says nothing of a body without blobs.
    """
    if not in_json:
        return "binary"
    need(has_json(own) or {"header_length", "content_type"}.isdisjoint(case.request))
    return "json" if has_json(own) else "binary"


def _placed(
    first: Mapping[int, int],
    specs: Sequence[TensorSpec],
    own: Sequence[TensorSpec],
    in_json: Collection[int],
    ranked: Collection[int] = (),
) -> dict[int, int]:
    """Return the `first` places of a case's tensors, or others that can carry them: those `in_json`
    go to tensors with a JSON form and leave the others those without, those `ranked` go to tensors
    of two dimensions or more.
    """
    places: dict[int, int] = {}
    for tensor, wanted in first.items():
        spec = specs[min(tensor, len(specs) - 1)]  # the only one may stand for all of the model
        free = [place for place in range(len(own)) if place not in places.values()]
        misfits = {
            place: (
                not carries_json(own[place], spec)
                if tensor in in_json
                else bool(in_json) and has_json(own[place]),
                tensor in ranked and len(own[place].dims) < 2,
                place != wanted,
            )
            for place in free
        }
        places[tensor] = min(free, key=misfits.__getitem__)
    return places


def any_values(values: object, case: RequestCase, spec: TensorSpec, own: TensorSpec) -> bool:
    """Return True if other values, of the input `own` instead of `spec`, would work as well."""
    if isinstance(values, str):
        return values in _ANY_VALUES
    # Of a request that must be rejected only the changes of its data matter.
    if case.expects in ("reject", "survives"):
        return True
    # A spelling is one of any numbers of a kind, or of any texts.
    kinds = (DATATYPES[spec.datatype].kind, DATATYPES[own.datatype].kind)
    return isinstance(values, list) and bool(case.variations) and kinds[0] == kinds[1]


def delivered(request: Mapping[str, Any], model: ModelContract) -> dict[str, Any]:
    """Return `delivery` of a case's request, if it has one, with chunks so long that the model's
    sample takes no more of them than servers accept (C3).
    """
    given = request.get("delivery")
    if not isinstance(given, dict) or not isinstance(given.get("chunks"), int):
        return {} if given is None else {"delivery": given}
    size = sum(len(sample.blob) for sample in model.samples[0])
    return {"delivery": {"chunks": max(given["chunks"], size // _MOST_CHUNKS)}}


def fillable(shape: Sequence[Any]) -> bool:
    """Return True if any tensor could have this shape."""
    return all(type(size) is int and 0 <= size <= LARGE for size in shape)


def _filled(entry: Mapping[str, Any]) -> bool:
    return fillable(entry["shape"]) and 0 not in entry["shape"] and "elements" not in entry


def _counted(entry: Mapping[str, Any], own: Sequence[int]) -> dict[str, Any]:
    """Return a shape that contradicts the number of elements, or that no tensor has."""
    shape, count = entry["shape"], prod(own)
    if not fillable(shape):
        wrong = [size for size in shape if not fillable([size])]
        need(len(shape) == 1 or len(own) == len(shape))
        changed = [wrong[0], *own[1:]] if len(shape) == 1 else list(shape)
        return {"shape": changed, "elements": count if entry.get("elements") else 0}
    extra = entry["elements"] - prod(shape)
    need(extra or "datatype" in entry)
    return {"shape": list(own), "elements": max(0, count + extra)}


def _size(entry: Mapping[str, Any], spec: TensorSpec, blob: bytes) -> dict[str, Any]:
    """Return the size to declare: as much more or less than the true one as in the case."""
    value = entry["size"]["value"]
    if isinstance(value, float):
        return {"value": len(blob) + value % 1}
    if isinstance(value, str) and value.isdecimal():
        return {"value": str(len(blob))}
    if type(value) is not int or value <= 0 or value >= LARGE:
        return {"value": value}
    count = prod(entry["shape"]) if "elements" not in entry else entry["elements"]
    true = len(value_pattern(str(entry.get("values", "counting")), spec.datatype, count))
    need(value != true)
    return {"add": value - true}


def changed_places(request: Mapping[str, Any]) -> list[int]:
    """Return the places of inputs that `json.change` names: inputs before them have to stay as
    well.
    """
    changes = request.get("json", {}).get("change")
    places = [str(change.get("at", "")) for change in changes] if isinstance(changes, list) else []
    found = (re.match(r"inputs\.(\d+)", place) for place in places)
    return [int(match[1]) for match in found if match]
