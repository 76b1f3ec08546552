"""The cases of cases/relations.yaml as they are sent to models with unknown answers.

Nobody knows what an arbitrary model computes, so no answer is right by itself. But the extension
only says how tensors travel: the same values in another form, order, delivery or spelling must get
the answer that the model gave to its plain request with these values. So an entry has no tensors,
only how they are sent (`inputs: json`), and is filled in for each model with its sample or a set of
`values` that it answered. That notices whatever depends on the way; only models with known answers
show what a server does to every answer alike.

What is malformed must be so for every model. It follows from the values (`values`: one element more
than the shape has), or it concerns the message alone. A case is left out if the model lacks what it
is about, or if its malformed request could be valid.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import HALVES
from v2_conformance.suite.case_files import case_of
from v2_conformance.suite.cases import Case, GetCase, ObservedCase, RelationCase, RequestCase
from v2_conformance.suite.models import ROLE, ModelContract, Sample
from v2_conformance.suite.relations import AnyModelCase, any_model_cases, value_sets
from v2_conformance.wire.encode.deployment import Address, DeployedModel
from v2_conformance.wire.encode.inputs import IN_JSON, SAMPLE
from v2_conformance.wire.encode.requests import prepare
from v2_conformance.wire.relations.values import UnfitError, filled, need, values_of

AT = "@"
"""Between the id of a case and the model that it is sent to."""

_SMALL = 8 * 1024  # bytes of a sample; a case in many pieces is not sent beyond this
_REPEATED = 8 << 20  # bytes of samples in one message of JSON
_MOST_CHUNKS = 2048  # fewer than the contract's cases have that must succeed
_ANY: Mapping[str, Any] = {"outcome": "survives"}
# Forms of inputs and of outputs, in turn, by the word of an entry. An output has its flag, too.
_INPUTS: Mapping[str, Sequence[str]] = {
    "mixed": ("binary", "json"),
    "json-binary": ("json", "binary"),
    "nested-binary": ("nested", "binary"),
}
_OUTPUTS: Mapping[str, Sequence[tuple[bool | None, str]]] = {
    "binary": ((True, "binary"),),
    "json": ((False, "json"),),
    "unflagged": ((None, "json"),),
    "any": ((None, "any"),),
    "mixed": ((True, "binary"), (False, "json")),
    "json-binary": ((False, "json"), (True, "binary")),
    "unflagged-binary": ((None, "json"), (True, "binary")),
}
_UNLISTED = "unlisted-"


def relation_plan(models: Sequence[ModelContract], cases: Sequence[Case]) -> list[Case]:
    """Return the cases of a run about `models`: those for any model, and of the suite's `cases`
    those about the server alone, and about all exchanges."""
    about_server = [case for case in cases if isinstance(case, GetCase)]
    observed = [case for case in cases if isinstance(case, ObservedCase)]
    return [*about_server, *relation_cases(models), *observed]


def relation_cases(models: Sequence[ModelContract]) -> list[RelationCase]:
    """Return every case that can be sent to one of `models`, under the id CASE@MODEL."""
    made = []
    for case in any_model_cases():
        for number, model in enumerate(models):
            with contextlib.suppress(UnfitError, CaseFileError):
                made.append(related(case, model, models[(number + 1) % len(models)]))
    last = {
        (one.requirement, one.model): one.id for one in made if one.negative and not one.dangerous
    }
    return [
        replace(one, last_negative=last.get((one.requirement, one.model), one.id) == one.id)
        for one in made
    ]


def related(case: AnyModelCase, model: ModelContract, other: ModelContract) -> RelationCase:
    """Return a case as it is sent to `model`, and in part to an `other`. Raises UnfitError and
    CaseFileError if it cannot be sent to it."""
    models = {"own": model, "other": other}
    given = case.entry
    entry = {**given, "model": model.role, **_sent(given, given.get("expect", {}), model)}
    for name, expect in (("first", _ANY), ("members", given.get("expect", {})), ("next", {})):
        listed = given.get(name, [])
        made = []
        for one in [listed] if isinstance(listed, dict) else listed:
            to = models[one.get("model", "own")]
            made.append({**one, "model": to.role, **_sent(one, one.get("expect", expect), to)})
        if made:
            entry[name] = made[0] if isinstance(listed, dict) else made
    labels = f"{case.labels}{AT}{model.role.removeprefix(ROLE)}"
    by_role = {one.role: one for one in models.values()}
    plain = case_of(case.requirement, entry, labels, by_role)
    assert isinstance(plain, RequestCase)
    return _as_relation(plain, by_role)


def _as_relation(case: RequestCase, models: Mapping[str, ModelContract]) -> RelationCase:
    """Return the case with its other requests, each with the model that it is for. Raises
    CaseFileError if one of them cannot be made."""
    members = {field.name: getattr(case, field.name) for field in fields(case)}
    for name in ("members", "next"):
        members[name] = tuple(_as_relation(one, models) for one in members[name])
    if case.first is not None:
        members["first"] = _as_relation(case.first, models)
    model = models[case.model]
    made = RelationCase(**members, of=model)
    # A place in the body may not be there, a value may have no JSON. Spelling it takes long.
    plainly = replace(made, variations=())
    deployed = DeployedModel(model.role, model.model, (), (), version="1").of(model)
    parts = prepare(plainly, Address("host"), deployed).parts
    match case.request.get("delivery"):
        case {"chunks": int(size)} if parts and not case.dangerous:
            delivery = {"chunks": max(size, -(-parts[-1].end // _MOST_CHUNKS))}
            return replace(made, request={**case.request, "delivery": delivery})
    return made


def _sent(
    given: Mapping[str, Any], expect: Mapping[str, Any], model: ModelContract
) -> dict[str, Any]:
    """Return `request` and `expect` of an entry, or of another request in it, for a model."""
    values, special = _values(given.get("values", SAMPLE), model)
    request = filled(given.get("request", {}), model, values)
    size = sum(len(value.blob) for value in values)
    changes = request.get("json", {}).get("change", ())
    need(all(c.get("repeat", 0) * size <= _REPEATED for c in changes if c["at"] == "inputs.0"))
    expect = {"outcome": "success", **expect}
    answered = expect["outcome"] not in ("reject", "survives")
    need(answered or any(value.blob for value in values))  # nothing can be missing from no elements
    needs = given.get("needs", ())
    specs = model.inputs
    fitting = {
        "small": size <= _SMALL,
        "halves": any(spec.datatype in HALVES for spec in (*specs, *model.outputs)),
        "beyond-json": any(number == special for number, _ in model.not_in_json),
        "two-inputs": len(specs) > 1,
        "open-shape": len(specs) == 1 and specs[0].dims.count(-1) > 1,
    }
    need(all(fitting[name] for name in needs))
    strict = answered and "halves" not in needs
    if request.get("raw") and {"two-inputs", "open-shape"}.isdisjoint(needs):
        need(model.takes_raw and len(specs) == 1)
        need(specs[0].datatype != "BYTES" and specs[0].dims.count(-1) <= 1)
        need(specs[0].dims[:1] != (-1,) or values[0].shape[0] == 1)  # it may be the batch
    inputs = request.get("inputs", "binary")
    if not isinstance(inputs, list):
        request["inputs"] = _inputs(inputs, model, values, special, strict=strict)
    listed, forms = _outputs(request.pop("outputs", "binary"), model, strict=strict)
    if listed is not None and not request.get("raw"):
        request["outputs"] = listed
    if not answered and "exact" not in expect:
        return {"request": request, "expect": expect}
    form = expect.get("outputs")
    forms = forms if form is None else dict.fromkeys(forms, form)
    in_json = [place for place, form in forms.items() if form != "binary"]
    need(not in_json or (special, None) not in model.not_in_json)
    beyond = [place for place in in_json if (special, place) in model.not_in_json]
    need(bool(beyond) is (expect.get("compare") == "nothing"))
    expect["outputs"] = {str(place): form for place, form in forms.items()}
    return {"request": request, "expect": expect}


def _values(name: str, model: ModelContract) -> tuple[Sequence[Sample], int | None]:
    """Return the values of a set and its number, None for the sample's. Raises
    UnfitError if the model did not answer them."""
    if name == SAMPLE:
        return model.samples[0], None
    values = values_of(value_sets()[name], model)
    if values == model.samples[0]:
        return values, None
    need(values in model.special)
    return values, model.special.index(values)


def _inputs(
    given: str | Mapping[str, Any],
    model: ModelContract,
    values: Sequence[Sample],
    special: int | None,
    *,
    strict: bool,
) -> list[dict[str, Any]]:
    """Return the entries of all inputs: all in one form, or `each` with exceptions by place. What
    need not have a JSON form is binary in a `strict` request."""
    spec: Mapping[str, Any] = {"each": {"form": given}} if isinstance(given, str) else given
    each = spec.get("each", {})
    places = list(range(len(model.inputs)))
    if spec.get("order") == "reversed":
        need(len(places) > 1)
        places.reverse()
    word = each.get("form", "binary")
    forms = _INPUTS.get(word, (word,))
    made = []
    for number, place in enumerate(places):
        own = {**each, "form": forms[number % len(forms)], **spec.get(str(place), {})}
        if strict and own["form"] in IN_JSON and model.inputs[place].datatype in HALVES:
            need(len(forms) > 1)
            own["form"] = "binary"
        shape = {"tensor": place, "shape": list(values[place].shape), "values": SAMPLE}
        number_of_set = {} if special is None else {"special": special}
        made.append({**shape, **number_of_set, **own})
    need(len(forms) == 1 or len({one["form"] for one in made}) > 1)
    return made


def _outputs(
    given: str | Mapping[str, Any], model: ModelContract, *, strict: bool
) -> tuple[Sequence[dict[str, Any]] | None, dict[int, str]]:
    spec: Mapping[str, Any] = {"form": given} if isinstance(given, str) else given
    word: str = spec["form"]
    places = list(range(len(model.outputs)))
    chosen = {"reversed": places[::-1], "first": places[:1], "last": places[-1:]}
    chosen["ends"] = [places[-1], places[0]] if len(places) > 2 else places[:0]
    way = str(spec.get("order", spec.get("only")))
    if way in chosen:
        places = chosen[way]
        need(places and len(model.outputs) > 1)
    lacking = [place for place in places if model.outputs[place].datatype in HALVES]
    if word.startswith(_UNLISTED):
        form = word.removeprefix(_UNLISTED)
        need(form == "binary" or not (lacking and strict))
        return spec.get("extra"), dict.fromkeys(places, form)
    ways = _OUTPUTS[word]
    need(len(ways) == 1 or len(places) > 1)
    listed, forms = [], {}
    for number, place in enumerate(places):
        flag, forms[place] = ways[number % len(ways)]
        if strict and place in lacking and forms[place] != "binary":
            need(len(ways) > 1)
            flag, forms[place] = True, "binary"
        flagged = {} if flag is None else {"binary_data": flag}
        listed.append({"tensor": place, **flagged, **spec.get("each", {})})
    return [*listed, *spec.get("extra", ())], forms
