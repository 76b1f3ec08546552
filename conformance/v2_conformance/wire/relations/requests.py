"""Sends one request of a case to a model with unknown answers: with the model's own sample in place
of the case's values, or with special values, sizes or shapes that the model answered plainly.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from math import prod
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.suite.cases import RelationCase, RequestCase
from v2_conformance.suite.models import ModelContract, contract
from v2_conformance.suite.relations import Relation
from v2_conformance.suite.requirements import catalogue
from v2_conformance.suite.variations import variation
from v2_conformance.wire.encode.inputs import SAMPLE
from v2_conformance.wire.relations.changes import adapted, check_changes
from v2_conformance.wire.relations.fit import (
    PLAIN,
    Fit,
    carries_json,
    delivered,
    input_datatypes,
)
from v2_conformance.wire.relations.own_tensors import own_tensors
from v2_conformance.wire.relations.sizes import grown_samples, large_samples
from v2_conformance.wire.relations.unfit import UnfitError, need

_LARGE_SAMPLE = 8 * 1024  # bytes; a variation that needs a small request is not used beyond this


def request_to(
    case: RequestCase, model: ModelContract, relation: Relation, by: int
) -> RelationCase:
    """Return the request of `case` as it is sent to `model`, with the sample grown by `by` if the
    model answered that. Raises UnfitError or CaseFileError if it cannot be sent to it.
    """
    return _of_size(_transposed(case, model, relation), model, by)


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
        **{name: getattr(case, name) for name in names if name not in ("first", "members", "next")}
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
