"""Adapts cases of the suite to a model with unknown answers.

Whatever a model computes, its answers have to agree with each other: the same tensor as JSON and as
a blob, with or without listed outputs, in chunks and in any spelling. So a case of the suite is
sent to such a model with the model's own sample in place of the case's values, and must get the
model's answer to its plain request with that sample. What a case tampers with stays tampered with.

A case about special values, sizes or shapes goes with its own tensors instead, if the model has an
input that takes them and answered a plain request with them (`own_tensors`). A case is left out if
its malformed request might happen to be valid for this model. No others are left out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from math import prod
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.suite.cases import Case, RelationCase, RequestCase
from v2_conformance.suite.models import ROLE, ModelContract, Sample, contract
from v2_conformance.suite.relations import Relation, relation_of
from v2_conformance.suite.requirements import catalogue
from v2_conformance.suite.variations import variation
from v2_conformance.wire.encode.deployment import Address, DeployedModel, KnownModel
from v2_conformance.wire.encode.inputs import SAMPLE, input_entries
from v2_conformance.wire.encode.requests import check_prepared
from v2_conformance.wire.relations.changes import adapted, check_changes
from v2_conformance.wire.relations.fit import (
    PLAIN,
    Fit,
    carries_json,
    delivered,
    input_datatypes,
)
from v2_conformance.wire.relations.own_tensors import own_tensors
from v2_conformance.wire.relations.sizes import (
    MOST_BYTES,
    batch_of_one,
    grown_samples,
    large_samples,
)
from v2_conformance.wire.relations.unfit import UnfitError, need

AT = "@"
"""Between the id of a case and the model that it is sent to."""

_MOST_SETS = 128
_LARGE_SAMPLE = 8 * 1024  # bytes; a variation that needs a small request is not used beyond this
_ANYWHERE = Address("host")


def special_sets(
    cases: Sequence[Case], model: ModelContract, free: Collection[str]
) -> tuple[tuple[Sample, ...], ...]:
    """Return sets of values for the model's inputs that cases with their own values need: few and
    small.

    Only inputs that are `free` get other values than their sample: the user specified the others.
    """
    found: dict[tuple[Sample, ...], None] = {}
    room = MOST_BYTES
    grown: dict[int, None] = {}
    asked: list[RequestCase] = []
    for case in cases:
        if not isinstance(case, RequestCase) or _is_long(case):
            continue
        relation = relation_of(case)
        if relation is None:
            continue
        asked.append(case)
        grown |= dict.fromkeys(_sizes_in_company(case).values())
        if not (relation.own_tensors or transposed(case, model) is None):
            continue
        for one in (case, *case.others):
            try:
                values = own_tensors(one, model).values
            except (UnfitError, CaseFileError):
                continue
            size = sum(len(value.blob) for value in values)
            if values in found or not _changed(model, values) <= set(free):
                continue
            if size <= room and len(found) < _MOST_SETS:
                found[values] = None
                room -= size
    sizes: list[Callable[[ModelContract], tuple[Sample, ...]]]
    sizes = [partial(grown_samples, by=by) for by in sorted(grown)]
    if any(case.request.get("raw") for case in asked):
        sizes.append(batch_of_one)
    if any(case.expect.get("about_size") for case in asked) and room > MOST_BYTES // 2:
        sizes.append(large_samples)  # for no case about size has tensors of its own
    for of_size in sizes:
        with contextlib.suppress(UnfitError):
            values = of_size(model)
            if _changed(model, values) <= set(free):
                found[values] = None
    return tuple(found)


def _is_long(case: RequestCase) -> bool:
    """Return True if the case is about messages longer than those of most models can be."""
    return case.large or "unread_ms" in case.request


def _sizes_in_company(case: RequestCase) -> dict[str, int]:
    """Return, for each list of shapes of the case's successful requests, as text, how much larger
    to make the model's sample: requests of different sizes have to stay different. The case's own
    is the sample unchanged.
    """
    together = [one for one in (case, *case.others) if one.expects == "success"]
    shapes = dict.fromkeys(_shapes(one) for one in (case, *together))
    return {shape: by for by, shape in enumerate(shapes)}


def _shapes(case: RequestCase) -> str:
    return repr([entry.get("shape") for entry in input_entries(case.request)])


def _changed(model: ModelContract, values: Sequence[Sample]) -> set[str]:
    """Return the inputs whose values differ from the model's first sample."""
    pairs = zip(model.inputs, model.samples[0], values, strict=True)
    return {spec.name for spec, old, new in pairs if old != new}


def relation_cases(cases: Sequence[Case], models: Sequence[ModelContract]) -> list[RelationCase]:
    """Return every case that can be sent to one of `models`, under the id CASE@MODEL.

    Each model gets a case once, however many of the suite's datatypes it covers.
    """
    found: dict[str, RelationCase] = {}
    order = {id(case): number for number, case in enumerate(cases)}
    place: dict[str, int] = {}
    for number, model in enumerate(models):
        beside = [*models[number + 1 :], *models[:number]]
        same: set[tuple[str, bytes]] = set()
        for case in sorted(cases, key=lambda case: not _is_for(case, model)):
            made = transposed(case, model, beside)
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


def transposed(
    case: Case, model: ModelContract, beside: Sequence[ModelContract] = ()
) -> RelationCase | None:
    """Return `case` as it is sent to `model`, None if it cannot be.

    What it sends to other models goes to those `beside`, if they can get it, or else to `model`.
    """
    if not isinstance(case, RequestCase) or isinstance(case, RelationCase):
        return None
    relation = relation_of(case)
    if relation is None or _is_long(case) or case.next:
        return None
    several = len(case.roles) > 1 and beside
    for others in (beside, ()) if several else ((),):
        with contextlib.suppress(UnfitError, CaseFileError):
            return _in_company(case, model, others, relation)
    return None


def _in_company(
    case: RequestCase, model: ModelContract, beside: Sequence[ModelContract], relation: Relation
) -> RelationCase:
    """Return `case` with all its requests, as they are sent to `model` and those beside it."""
    sizes = _sizes_in_company(case)
    foreign = [role for role in case.roles if role != case.model]
    models = {case.model: model} | {
        role: beside[number % len(beside)] if beside else model
        for number, role in enumerate(foreign)
    }

    # Of all requests of a case: what a run draws for them depends on it.
    named = f"{_renamed(case.id, model)}{AT}{model.role.removeprefix(ROLE)}"

    def moved(one: RequestCase) -> RelationCase:
        to = models[one.model]
        made = _of_size(_transposed(one, to, relation), to, sizes.get(_shapes(one), 0))
        return replace(made, id=named)

    first = None if case.first is None else moved(case.first)
    members = tuple(map(moved, case.members))
    made = replace(moved(case), first=first, members=members)
    for one in (made, *made.others):
        # A place in the body may not be there.
        to = one.of if isinstance(one, RelationCase) else model
        check_prepared(one, _ANYWHERE, _unbound(to))
    return made


def _renamed(id: str, model: ModelContract) -> str:
    """Return the id of a case, with the model's datatype in place of the case's among
    its labels.
    """
    entry, bracket, labels = id.partition("[")
    own = input_datatypes(model)
    said = [
        own[0] if label in DATATYPES and label not in own else label
        for label in labels.removesuffix("]").split(",")
    ]
    return f"{entry}[{','.join(said)}]" if bracket else id


def _unbound(model: ModelContract) -> DeployedModel:
    inputs, outputs = (tuple(s.name for s in specs) for specs in (model.inputs, model.outputs))
    known = KnownModel(model)
    return DeployedModel(model.role, model.model, inputs, outputs, version="1", known=known)


def _is_for(case: Case, model: ModelContract) -> bool:
    """Return True if the case is sent to a model of the same datatype, so that it is preferred."""
    if not isinstance(case, RequestCase):
        return False
    return contract()[case.model].inputs[0].datatype in input_datatypes(model)


def _transposed(case: RequestCase, model: ModelContract, relation: Relation) -> RelationCase:
    # What would be exact is known only of the tensors that went in a plain request.
    exact = relation.own_tensors and "exact" in case.expect
    if _is_free(case) and "json" in case.expect["outputs"].values():
        return _with_what_no_json_holds(case, model, relation)
    if case.expect.get("about_size"):
        with contextlib.suppress(UnfitError, CaseFileError):
            return _with_own_tensors(case, model, relation)
        need(relation.own_tensors == "only")
        return _with_large_sample(case, model, relation)
    if relation.own_tensors == "only" or exact:
        return _with_own_tensors(case, model, relation)
    ways = (_with_own_tensors, _with_sample)
    first, second = ways if relation.own_tensors else ways[::-1]
    try:
        return first(case, model, relation)
    except (UnfitError, CaseFileError):
        return second(case, model, relation)


def _of_size(made: RelationCase, model: ModelContract, by: int) -> RelationCase:
    """Return `made` with the model's sample this much larger, if it answered that,
    else unchanged.
    """
    entries = made.request["inputs"]
    try:
        need(made.expects == "success" and not made.request.get("raw"))
        need(len({entry.get("tensor") for entry in entries}) == len(model.inputs))
        need(all(entry.keys() <= PLAIN and entry["values"] == SAMPLE for entry in entries))
        values = grown_samples(model, by)
        need(values in model.special)
        number = model.special.index(values)
        inputs = [
            {**entry, "shape": list(values[entry["tensor"]].shape), "special": number}
            for entry in entries
        ]
        larger = replace(made, request={**made.request, "inputs": inputs})
        _check_values_in_json(larger, model)
    except UnfitError:
        return made
    return larger


def _with_own_tensors(case: RequestCase, model: ModelContract, relation: Relation) -> RelationCase:
    need(model.special)
    inputs = own_tensors(case, model).inputs(model)
    case = _for_every_output(case, model)
    if relation.own_tensors == "only" and case.expects == "reject":
        # Nothing is wrong with the request, but JSON cannot hold the text that it asks for.
        need(_texts_that_no_json_holds(model, inputs[0]["special"]))
    return _with_inputs(case, model, relation, inputs, case.request.get("json"))


def _with_large_sample(case: RequestCase, model: ModelContract, relation: Relation) -> RelationCase:
    values = large_samples(model)
    need(values in model.special)
    inputs = _set_of_values(model, model.special.index(values))
    return _with_inputs(_for_every_output(case, model), model, relation, inputs, None)


def _set_of_values(model: ModelContract, number: int | None) -> list[dict[str, Any]]:
    """Return the inputs with special set `number`, None for the sample."""
    values = model.samples[0] if number is None else model.special[number]
    special = {} if number is None else {"special": number}
    return [
        {"tensor": place, "shape": list(one.shape), "values": SAMPLE, **special}
        for place, one in enumerate(values)
    ]


def _is_free(case: RequestCase) -> bool:
    """Return True if any answer in valid JSON will do."""
    return case.expects == "either" and case.expect.get("compare") == "nothing"


def _with_what_no_json_holds(
    case: RequestCase, model: ModelContract, relation: Relation
) -> RelationCase:
    """Return the case with values to which the model answers what JSON cannot express: the case's
    own, the sample, or any others.
    """
    asked = contract()[case.model].outputs[0]
    texts = asked.datatype == "BYTES"
    fitting = [
        number
        for number, place in model.not_in_json
        if (model.outputs[place].datatype == "BYTES") == texts
        and carries_json(model.outputs[place], asked)
    ]
    own: list[int | None] = []
    with contextlib.suppress(UnfitError, CaseFileError):
        values = own_tensors(case, model).values
        own += [number for number, one in enumerate(model.special) if one == values]
    number = next((one for one in (*own, None, *fitting) if one in fitting), None)
    need(number in fitting)
    inputs = _set_of_values(model, number)
    return _with_inputs(_for_every_output(case, model), model, relation, inputs, None)


def _texts_that_no_json_holds(model: ModelContract, special: int) -> bool:
    """Return True if the model answers a special set with BYTES that are not UTF-8."""
    places = [place for number, place in model.not_in_json if number == special]
    return any(model.outputs[place].datatype == "BYTES" for place in places)


def _for_every_output(case: RequestCase, model: ModelContract) -> RequestCase:
    """Return a case for the only output of its role for every output of another model that can be
    in its form, as each may show the values.
    """
    listed, specs = case.request.get("outputs", ()), contract()[case.model].outputs
    if len(specs) != 1 or len(listed) != 1 or listed[0].get("tensor") != 0:
        return case
    binary = Fit(case, model, about_outputs=True).form(0) == "binary"
    places = [
        place for place, own in enumerate(model.outputs) if binary or carries_json(own, specs[0])
    ]
    need(places)
    request = {**case.request, "outputs": [{**listed[0], "tensor": place} for place in places]}
    expect = dict(case.expect)
    if isinstance(expect.get("outputs"), dict):
        expect["outputs"] = {str(place): next(iter(expect["outputs"].values())) for place in places}
    return replace(case, request=request, expect=expect)


def _with_sample(case: RequestCase, model: ModelContract, relation: Relation) -> RelationCase:
    need(not case.expect.get("about_size"))
    # Of a tensor without elements nothing can be missing: what is tampered with may be valid.
    refused = case.expects in ("reject", "survives")
    need(not refused or any(sample.blob for sample in model.samples[0]))
    inputs = Fit(case, model, relation.about_outputs).inputs()
    json = None
    if "json" in case.request:
        json = adapted(case, inputs, model)
    elif _may_be_read_as_raw(case, model):
        # So that nothing but the header length can be wrong with a raw request.
        spec = model.inputs[0]
        row = prod(abs(size) for size in spec.dims) * (DATATYPES[spec.datatype].size or 1)
        json = {"fill_to": row}
    return _with_inputs(case, model, relation, inputs, json)


def _may_be_read_as_raw(case: RequestCase, model: ModelContract) -> bool:
    """Return True if a server that takes a header length that is not a number for 0 may make a
    tensor of the whole body, if its length fits.
    """
    given = case.request.get("header_length", {})
    value = given.get("value", "0") if isinstance(given, dict) else "0"
    no_number = "$" not in value and not (value.isascii() and value.isdecimal())
    dims = model.inputs[0].dims
    numbers = len(model.inputs) == 1 and DATATYPES[model.inputs[0].datatype].size is not None
    return no_number and numbers and dims.count(-1) == 1 and 0 not in dims


def _with_inputs(
    case: RequestCase,
    model: ModelContract,
    relation: Relation,
    inputs: Sequence[Mapping[str, Any]],
    json: Mapping[str, Any] | None,
) -> RelationCase:
    """Return the case with these entries `inputs` and changes `json` of its request."""
    about = set(catalogue()[case.requirement].datatypes)
    need(not about or about.intersection(input_datatypes(model)))
    need("bf16" not in case.profiles or "BF16" in model.datatypes)
    need("version" not in case.request)
    need(case.expect.get("compare") != "truth" and "one_of" not in case.expect)
    _fits_variations(case, model, inputs)
    fit = Fit(case, model, relation.about_outputs)
    request = {**case.request, "inputs": inputs, **delivered(case.request, model)}
    if "outputs" in request:
        request["outputs"] = fit.outputs(request["outputs"])
    expect = dict(case.expect)
    if case.expects in ("reject", "survives") and "exact" not in expect:
        expect.pop("outputs", None)
    elif "outputs" in expect:
        expect["outputs"] = fit.forms()
    if json is not None:
        request["json"] = json
        check_changes(case, request, model)
    names = (field.name for field in fields(case))
    made = RelationCase(
        **{name: getattr(case, name) for name in names if name not in ("first", "members")}
        | {"model": model.role, "request": request, "expect": expect},
        of=model,
        relation=relation.name,
    )
    if case.expects not in ("reject", "survives"):
        _check_values_in_json(made, model)
    return made


def _fits_variations(
    case: RequestCase, model: ModelContract, inputs: Sequence[Mapping[str, Any]]
) -> None:
    own = any("special" in entry for entry in inputs)
    small = own or sum(len(one.blob) for one in model.samples[0]) <= _LARGE_SAMPLE
    for name in case.variations:
        given = variation(name)
        need(own or given.kind != "size")
        need(small or "small" not in given.needs)
        numbers = DATATYPES[model.inputs[0].datatype].size is not None
        need(numbers or not {"float-data", "integer-data"} & set(given.needs))


def _check_values_in_json(made: RelationCase, model: ModelContract) -> None:
    """Raise UnfitError for a case whose outputs have to be in JSON if JSON cannot express them:
    infinities, NaN, and BYTES that are not text.
    """
    used = {entry.get("special") for entry in made.request["inputs"]} or {None}
    for key, form in made.expect.get("outputs", {}).items():
        none = {(number, int(key)) for number in used} & set(model.not_in_json)
        need(form == "binary" or _is_free(made) or not none)
