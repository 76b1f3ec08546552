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
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.suite.cases import Case, RelationCase, RequestCase
from v2_conformance.suite.models import ROLE, ModelContract, Sample, contract
from v2_conformance.suite.relations import Relation, relation_of
from v2_conformance.wire.encode.deployment import Address, DeployedModel, KnownModel
from v2_conformance.wire.encode.inputs import input_entries
from v2_conformance.wire.encode.requests import prepare
from v2_conformance.wire.relations.fit import (
    input_datatypes,
)
from v2_conformance.wire.relations.own_tensors import own_tensors
from v2_conformance.wire.relations.requests import request_to
from v2_conformance.wire.relations.sizes import (
    MOST_BYTES,
    batch_of_one,
    grown_samples,
    large_samples,
)
from v2_conformance.wire.relations.unfit import UnfitError

AT = "@"
"""Between the id of a case and the model that it is sent to."""

_MOST_SETS = 128
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
    if relation is None or _is_long(case):
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
        made = request_to(one, to, relation, sizes.get(_shapes(one), 0))
        return replace(made, id=named)

    first = None if case.first is None else moved(case.first)
    members, behind = (tuple(map(moved, more)) for more in (case.members, case.next))
    made = replace(moved(case), first=first, members=members, next=behind)
    for one in (made, *made.others):
        # A place in the body may not be there.
        to = one.of if isinstance(one, RelationCase) else model
        prepare(one, _ANYWHERE, _unbound(to))
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
