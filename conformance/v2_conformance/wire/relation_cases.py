"""Cases of the suite for a model whose answers nobody knows.

Whatever a model computes, its answers have to agree with each other: the same tensor as JSON and as
a blob, with or without listed outputs, in chunks and in any spelling. So a case of the suite is
sent to such a model with the model's own sample in place of the case's values, and what must come
back is what the model answered to its plain request with that sample. What a case tampers with
stays tampered with.

A case about special values, special shapes or many bytes cannot be sent so; nor can one whose
request might by chance be a right one for this model. Nothing else is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.suite.cases import Case, RelationCase, RequestCase
from v2_conformance.suite.models import ModelContract, TensorSpec, contract
from v2_conformance.suite.relations import ROLE, Relation, relation_of
from v2_conformance.suite.requirements import catalogue
from v2_conformance.suite.value_patterns import value_pattern
from v2_conformance.suite.variations import variation
from v2_conformance.wire.encode import Address, Binding, Known, prepare
from v2_conformance.wire.encode_inputs import SAMPLE, input_entries

AT = "@"
"""Between the id of a case and the model that it is sent to."""

# Patterns that stand for any values of the datatype.
_ANY_VALUES = frozenset({"counting", "counting_in_json", "ones", "not_json", "ascii"})
_NO_JSON = frozenset({"FP16", "BF16"})
_PLAIN = frozenset({"tensor", "shape", "values", "form"})
_INDEX = re.compile(r"(inputs|outputs)\.(\d+)")
_LARGE_SAMPLE = 8 * 1024  # bytes; a variation that needs a small request does not go with more
_LARGE = 1 << 20  # a declared size that is no model's by chance


_ANYWHERE = Address("host")


class _UnfitError(Exception):
    """The case cannot be sent to the model."""


def relation_cases(cases: Sequence[Case], models: Sequence[ModelContract]) -> list[RelationCase]:
    """Every case that can be sent to one of `models`, under the id CASE@MODEL.

    Each model gets a case once, however many of the suite's datatypes it is there for.
    """
    found: dict[str, RelationCase] = {}
    order = {id(case): number for number, case in enumerate(cases)}
    place: dict[str, int] = {}
    for model in models:
        same: set[tuple[str, bytes]] = set()
        for case in sorted(cases, key=lambda case: not _is_for(case, model)):
            made = transposed(case, model)
            if made is None:
                continue
            told = {"request": made.request, "expect": made.expect, "with": made.variations}
            others = [(one.model, one.request) for one in made.others]
            key = (case.template, repr((told, others)).encode())
            if key not in same:
                same.add(key)
                if made.id not in found:
                    found[made.id], place[made.id] = made, order[id(case)]
    last: dict[tuple[str, str], str] = {}
    ordered = sorted(found.values(), key=lambda made: place[made.id])
    for made in ordered:
        if made.negative and not made.dangerous:
            last[made.requirement, made.model] = made.id
    return [
        replace(made, last_negative=last.get((made.requirement, made.model), made.id) == made.id)
        for made in ordered
    ]


def transposed(case: Case, model: ModelContract) -> RelationCase | None:
    """`case` as it is sent to `model`, None if it cannot be."""
    if not isinstance(case, RequestCase) or isinstance(case, RelationCase):
        return None
    relation = relation_of(case)
    if relation is None or case.large:
        return None
    try:
        made = _transposed(case, model, relation)
        first = None if case.first is None else _transposed(case.first, model, relation)
        members = tuple(_transposed(member, model, relation) for member in case.members)
        named = f"{_renamed(case.id, model)}{AT}{model.role.removeprefix(ROLE)}"
        made = replace(made, id=named, first=first, members=members)
        for one in (made, *made.others):
            prepare(one, _ANYWHERE, _unbound(model))  # a place in the body may not be there
        return made
    except (_UnfitError, CaseFileError):
        return None


def _renamed(id: str, model: ModelContract) -> str:
    """The id of a case, with the model's datatype in place of the case's among its labels."""
    entry, bracket, labels = id.partition("[")
    own = _input_datatypes(model)
    said = [
        own[0] if label in DATATYPES and label not in own else label
        for label in labels.removesuffix("]").split(",")
    ]
    return f"{entry}[{','.join(said)}]" if bracket else id


def _unbound(model: ModelContract) -> Binding:
    inputs, outputs = (tuple(s.name for s in specs) for specs in (model.inputs, model.outputs))
    return Binding(model.role, model.model, inputs, outputs, known=Known(model))


def _is_for(case: Case, model: ModelContract) -> bool:
    """Whether the case is sent to a model of the same datatype: it is then the one to take."""
    if not isinstance(case, RequestCase):
        return False
    return contract()[case.model].inputs[0].datatype in _input_datatypes(model)


def _input_datatypes(model: ModelContract) -> list[str]:
    return [spec.datatype for spec in model.inputs]


def _transposed(case: RequestCase, model: ModelContract, relation: Relation) -> RelationCase:
    role = contract()[case.model]
    about = set(catalogue()[case.requirement].datatypes)
    _need(not about or about.intersection(_input_datatypes(model)))
    _need(case.profile != "bf16" or "BF16" in model.datatypes)
    _need("version" not in case.request and not case.expect.get("about_size"))
    _need(case.expect.get("compare") != "truth")
    _fits_variations(case, model)
    fit = _Fit(case, role, model, relation.about_outputs)
    request = dict(case.request)
    request["inputs"] = fit.inputs()
    if "outputs" in request:
        request["outputs"] = fit.outputs(request["outputs"])
    expect = dict(case.expect)
    if case.expects in ("reject", "survives"):
        expect.pop("outputs", None)
    elif "outputs" in expect:
        expect["outputs"] = fit.forms(request)
    if "json" in request:
        request["json"] = _adapted(case, request, model)
        _check_changes(case, request, model)
    made = RelationCase(
        **{name: getattr(case, name) for name in vars(case) if name not in ("first", "members")}
        | {"model": model.role, "request": request, "expect": expect},
        of=model,
        relation=relation.name,
    )
    if case.expects not in ("reject", "survives"):
        _check_json_forms(made, model)
    return made


def _need(holds: object) -> None:
    if not holds:
        raise _UnfitError


def _fits_variations(case: RequestCase, model: ModelContract) -> None:
    small = sum(len(one.blob) for one in model.samples[0]) <= _LARGE_SAMPLE
    for name in case.variations:
        given = variation(name)
        _need(given.kind != "size")
        _need(small or "small" not in given.needs)
        numbers = DATATYPES[model.inputs[0].datatype].size is not None
        _need(numbers or not {"float-data", "integer-data"} & set(given.needs))


@dataclass(frozen=True)
class _Fit:
    """How the tensors of a case are those of another model."""

    case: RequestCase
    role: ModelContract
    model: ModelContract
    about_outputs: bool

    def inputs(self) -> list[dict[str, Any]]:
        """The entries of `inputs` for the model."""
        entries = [
            {"tensor": position, **entry}
            for position, entry in enumerate(input_entries(self.case.request))
        ]
        if self.case.request.get("raw"):
            return self._raw(entries)
        if not entries:
            return []
        used = sorted({entry["tensor"] for entry in entries})
        left_out = len(self.role.inputs) - len(used)
        room = len(self.model.inputs) - left_out
        any_number = self.about_outputs or self.case.expects in ("reject", "survives")
        _need(room >= 1 and (len(used) == 1 or room >= 2 or any_number))
        changed = _changed_places(self.case.request)
        tampered = {
            entry["tensor"]
            for place, entry in enumerate(entries)
            if not entry.keys() <= _PLAIN
            or entry.get("form") in ("both", "neither")
            or place <= max(changed, default=-1)
        }
        _need(len(tampered) <= room)
        plain = [tensor for tensor in used if tensor not in tampered]
        kept = sorted([*tampered, *plain[: room - len(tampered)]])
        places = {tensor: place for place, tensor in enumerate(kept)}
        datatypes = _input_datatypes(self.model)
        datatype = self.role.inputs[kept[0]].datatype
        if len(kept) == 1 and datatype in datatypes:
            places = {kept[0]: datatypes.index(datatype)}
        made = [
            self._entry(entry, places[entry["tensor"]])
            for entry in entries
            if entry["tensor"] in places
        ]
        if left_out:
            return made
        json = {entry.get("form", "binary") for entry in entries} <= {"json", "nested"}
        rest = [place for place in range(len(datatypes)) if place not in places.values()]
        return [*made, *(self._plain(place, "json" if json else "binary") for place in rest)]

    def _plain(self, place: int, form: str) -> dict[str, Any]:
        shape = list(self.model.samples[0][place].shape)
        return {"tensor": place, "shape": shape, "values": SAMPLE, "form": form}

    def _entry(self, entry: Mapping[str, Any], place: int) -> dict[str, Any]:
        """An entry of `inputs` for the model's input `place`."""
        spec = self.role.inputs[entry["tensor"]]
        own, sample = self.model.inputs[place], self.model.samples[0][place]
        given = {k: v for k, v in entry.items() if k not in ("tensor", "values", "shape")}
        values = entry.get("values", "counting")
        self._check_values(entry, spec, own)
        refused = self.case.expects in ("reject", "survives") and entry.get("form") != "nested"
        if len(entry["shape"]) > 1 and not refused:
            _need(len(sample.shape) > 1)
        blob = entry.get("blob")
        cut = blob is not None and "BYTES" not in (spec.datatype, own.datatype)
        if cut:  # of another length than the tensor's, whatever is in it
            _need(self.case.expects in ("reject", "survives") and "size" not in entry)
            _need(len(bytes.fromhex(str(blob))) != len(sample.blob))
        elif blob is not None or not _any_values(values, self.case, spec, own):
            return self._as_it_is(entry, spec, own, place)
        if "datatype" in entry:
            _need(entry["datatype"] != own.datatype and spec.datatype != "BYTES")
        made = {"tensor": place, "shape": list(sample.shape), "values": SAMPLE, **given}
        if "elements" in entry or not _fillable(entry["shape"]):
            made |= _counted(entry, sample.shape)
        if "value" in entry.get("size", {}):
            made["size"] = _size(entry, spec, sample.blob)
        return made

    def _check_values(self, entry: Mapping[str, Any], spec: TensorSpec, own: TensorSpec) -> None:
        """A case whose datatype matters, because BYTES are not numbers."""
        if {"elements", "size", "blob"} & entry.keys():
            _need((spec.datatype == "BYTES") == (own.datatype == "BYTES"))

    def _as_it_is(
        self, entry: Mapping[str, Any], spec: TensorSpec, own: TensorSpec, place: int
    ) -> dict[str, Any]:
        """An entry whose own values are wrong; only for a model of the same datatype and shape."""
        _need(self.case.expects in ("reject", "survives") and spec.datatype == own.datatype)
        shape = entry["shape"]
        _need(len(shape) == len(own.dims))
        _need(all(want in (-1, got) for want, got in zip(own.dims, shape, strict=True)))
        return {**entry, "tensor": place}

    def _raw(self, entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The body of a raw request, which is one tensor without a description."""
        inputs, several = self.model.inputs, len(self.role.inputs) > 1
        _need(len(entries) == 1)
        variable = inputs[0].dims.count(-1)
        if several:
            _need(len(inputs) > 1 and self.case.expects == "reject")
        else:
            _need(len(inputs) == 1 and inputs[0].datatype != "BYTES")
            _need(self.role.does != "first_three" and not self.role.batching)
            _need((self.role.inputs[0].dims.count(-1) > 1) == (variable > 1))
            _need("blob" not in entries[0])
            plain = _any_values(entries[0].get("values", "counting"), self.case, *self._firsts)
            _need(plain and _filled(entries[0]) and self.case.expects == "success")
        made = self._plain(0, "binary")
        del made["form"]
        return [made]

    @property
    def _answered(self) -> bool:
        """Whether its answer has outputs that are looked at."""
        return self.case.expects not in ("reject", "survives")

    @property
    def _firsts(self) -> tuple[TensorSpec, TensorSpec]:
        return self.role.inputs[0], self.model.inputs[0]

    def outputs(self, given: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The entries of `outputs`, for the outputs of the model."""
        listed = sorted({entry["tensor"] for entry in given if "tensor" in entry})
        if self.case.expects in ("reject", "survives"):
            listed = listed[: len(self.model.outputs)]
            given = [e for e in given if "tensor" not in e or e["tensor"] in listed]
        fewer = bool(listed) and len(listed) < len(self.role.outputs)
        _need(len(listed) + (fewer and bool(self._answered)) <= len(self.model.outputs))
        places = {tensor: place for place, tensor in enumerate(listed)}
        return [
            {**entry, "tensor": places[entry["tensor"]]} if "tensor" in entry else dict(entry)
            for entry in given
        ]

    def forms(self, request: Mapping[str, Any]) -> dict[str, str]:
        """`expect.outputs` of the case, for the outputs of the model."""
        given = self.case.expect["outputs"]
        every = range(len(self.model.outputs))
        asked = self.case.request.get("outputs")
        if asked:
            old = [entry.get("tensor") for entry in asked]
            new = [entry.get("tensor") for entry in request["outputs"]]
            if isinstance(given, str):
                return {str(place): given for place in new}
            pairs = zip(old, new, strict=True)
            return {str(place): given[str(tensor)] for tensor, place in pairs}
        forms = {given} if isinstance(given, str) else set(given.values())
        _need(len(forms) == 1)
        return {str(place): next(iter(forms)) for place in every}


def _any_values(values: object, case: RequestCase, spec: TensorSpec, own: TensorSpec) -> bool:
    """Whether other values, of the input `own` instead of `spec`, would do as well."""
    if isinstance(values, str):
        return values in _ANY_VALUES
    # Of a request that must be refused only what is changed of its data matters.
    if case.expects in ("reject", "survives"):
        return True
    # A spelling is one of any numbers of a kind, or of any texts.
    kinds = (DATATYPES[spec.datatype].kind, DATATYPES[own.datatype].kind)
    return isinstance(values, list) and bool(case.variations) and kinds[0] == kinds[1]


def _fillable(shape: Sequence[Any]) -> bool:
    """Whether it is a shape that any tensor could have."""
    return all(type(size) is int and 0 <= size <= _LARGE for size in shape)


def _filled(entry: Mapping[str, Any]) -> bool:
    return _fillable(entry["shape"]) and 0 not in entry["shape"] and "elements" not in entry


def _counted(entry: Mapping[str, Any], own: Sequence[int]) -> dict[str, Any]:
    """A shape that contradicts the number of elements, or that no tensor has."""
    shape, count = entry["shape"], prod(own)
    if not _fillable(shape):
        wrong = [size for size in shape if not _fillable([size])]
        _need(len(shape) == 1 or len(own) == len(shape))
        changed = [wrong[0], *own[1:]] if len(shape) == 1 else list(shape)
        return {"shape": changed, "elements": count if entry.get("elements") else 0}
    extra = entry["elements"] - prod(shape)
    _need(extra or "datatype" in entry)
    return {"shape": list(own), "elements": max(0, count + extra)}


def _size(entry: Mapping[str, Any], spec: TensorSpec, blob: bytes) -> dict[str, Any]:
    """The size to declare: as much more or less than the true one as in the case."""
    value = entry["size"]["value"]
    if isinstance(value, float):
        return {"value": len(blob) + value % 1}
    if isinstance(value, str) and value.isdecimal():
        return {"value": str(len(blob))}
    if type(value) is not int or value <= 0 or value >= _LARGE:
        return {"value": value}
    count = prod(entry["shape"]) if "elements" not in entry else entry["elements"]
    true = len(value_pattern(str(entry.get("values", "counting")), spec.datatype, count))
    _need(value != true)
    return {"add": value - true}


def _check_json_forms(made: RelationCase, model: ModelContract) -> None:
    """A case whose tensors have to be in JSON, which FP16 and BF16 need not have."""
    for entry in made.request["inputs"]:
        form = entry.get("form", "binary")
        if form in ("json", "nested", "both"):
            _need(model.inputs[entry["tensor"]].datatype not in _NO_JSON)
    for key, form in made.expect.get("outputs", {}).items():
        if form != "binary":
            _need(model.outputs[int(key)].datatype not in _NO_JSON)


def _changed_places(request: Mapping[str, Any]) -> list[int]:
    """The places of inputs that `json.change` names: those before them have to stay, too."""
    changes = request.get("json", {}).get("change")
    places = [str(change.get("at", "")) for change in changes] if isinstance(changes, list) else []
    found = (re.match(r"inputs\.(\d+)", place) for place in places)
    return [int(match[1]) for match in found if match]


def _adapted(
    case: RequestCase, request: Mapping[str, Any], model: ModelContract
) -> Mapping[str, Any]:
    """`json` of a request, whose changes of a dimension are as far from the model's own one."""
    given: Mapping[str, Any] = request["json"]
    if not isinstance(given.get("change"), list):
        return given
    entries = input_entries(case.request)
    changes = []
    for change in given["change"]:
        found = re.fullmatch(r"inputs\.(\d+)\.shape(?:\.(\d+))?", str(change.get("at", "")))
        if found and "to" in change:
            number = int(found[1])
            _need(number < min(len(entries), len(request["inputs"])))
            was = entries[number]["shape"]
            own = model.samples[0][request["inputs"][number]["tensor"]].shape
            change = {**change, "to": _shape_changed(change["to"], found[2], was, own)}
        changes.append(change)
    return {**given, "change": changes}


def _shape_changed(to: Any, axis: str | None, was: Sequence[Any], own: Sequence[int]) -> Any:
    """A changed dimension, or shape, as far from the model's own as it was from the case's."""
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
    if type(to) is int and (to == -was or abs(to - was) >= _LARGE):
        return -own if to == -was else own + (to - was)
    return to


def _check_changes(case: RequestCase, request: Mapping[str, Any], model: ModelContract) -> None:
    """A change of the JSON whose place is not there, or that could make another right request."""
    changes = request["json"].get("change")
    if not isinstance(changes, list):
        return
    role = contract()[case.model]
    for change in changes:
        at = str(change.get("at", ""))
        for kind, number in _INDEX.findall(at):
            _need(int(number) < len(request.get(kind, ())))
        _need(case.expects in ("reject", "survives") or ".data" not in at)
        _need(case.expects in ("reject", "survives") or at)
        for place in _places(at, request):
            own, sample = model.inputs[place], model.samples[0][place]
            datatypes = [one.datatype for one in role.inputs]
            same = own.datatype in datatypes
            spec = role.inputs[datatypes.index(own.datatype)] if same else role.inputs[0]
            if ".shape" in at:
                _check_shape(at, change, sample.shape, own)
            elif ".data." in at or at.endswith(".data"):
                _check_data(at, change, spec, own, sample.shape)
            elif at.endswith(".datatype"):
                _need(change.get("to") != own.datatype)
            elif at.endswith(".binary_data_size"):
                _need(change.get("to") != len(sample.blob))


def _places(at: str, request: Mapping[str, Any]) -> Iterator[int]:
    found = re.match(r"inputs\.(\d+)", at)
    if found:
        yield int(request["inputs"][int(found[1])]["tensor"])


def _check_shape(at: str, change: Mapping[str, Any], own: Sequence[int], spec: TensorSpec) -> None:
    """That the changed shape is not another one of as many elements."""
    if "to" not in change:
        return
    shape: list[Any] = list(own)
    to, last = change["to"], at.rpartition(".")[2]
    if last == "shape":
        _need(not isinstance(to, list) or to != shape)
        shape = to if isinstance(to, list) else []
        if not isinstance(to, list):
            return
    else:
        _need(int(last) <= len(shape))
        shape[int(last) : int(last) + 1] = [to]
    if _fillable(shape):
        _need(prod(shape) != prod(own) or len(shape) != len(spec.dims))


def _check_data(
    at: str, change: Mapping[str, Any], spec: TensorSpec, own: TensorSpec, shape: Sequence[int]
) -> None:
    """That the changed data is as wrong for this model as for the case's own."""
    text = "BYTES" in (spec.datatype, own.datatype)
    whole = at.endswith(".data")
    if whole and isinstance(change.get("to"), list):
        _need(spec.datatype == own.datatype or ("INT" in spec.datatype and not text))
        _need(len(change["to"]) != prod(shape) or spec.datatype == own.datatype)
        flat = not any(isinstance(item, list) for item in change["to"])
        _need((flat and len(change["to"]) != prod(shape)) or len(shape) > 1)
        return
    _need(spec.datatype == own.datatype)
    found = re.search(r"\.data\.(\d+)", at)
    if found:
        _need(int(found[1]) < prod(shape) or "to" not in change)
