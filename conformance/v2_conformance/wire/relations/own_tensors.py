"""Sends cases with their own tensors to arbitrary models that accept them.

Special values, sizes and shapes need tensors of their own: a case about them is sent to a model
that has an input of the same datatype and a fitting shape. A plain request with the same tensors
goes first (`relation_cases.special_sets`), so that the model's answer to them is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.models import ModelContract, Sample, TensorSpec, contract
from v2_conformance.suite.relations import relation_of
from v2_conformance.wire.encode.inputs import SAMPLE, encode_inputs, input_entries
from v2_conformance.wire.relations.fit import PLAIN, changed_places, rest_form
from v2_conformance.wire.relations.sizes import in_rows, resized
from v2_conformance.wire.relations.unfit import UnfitError, need

_JSON = frozenset({"json", "nested", "neither"})


@dataclass(frozen=True)
class OwnTensors:
    """The entries of `inputs` of a case for a model, without their values, and its values."""

    entries: tuple[Mapping[str, Any], ...]
    values: tuple[Sample, ...]

    def inputs(self, model: ModelContract) -> list[dict[str, Any]]:
        """Return the entries with the model's special set that has these values.

        Raises UnfitError if the model has no answer to them.
        """
        need(self.values in model.special)
        number = model.special.index(self.values)
        return [{**entry, "values": SAMPLE, "special": number} for entry in self.entries]


def own_tensors(case: RequestCase, model: ModelContract) -> OwnTensors:
    """Return the case's own tensors as inputs of the model. Raises UnfitError and CaseFileError."""
    role = contract()[case.model]
    need(not case.request.get("raw") and not case.expect.get("ambiguous"))
    given = [
        {"tensor": position, **entry} for position, entry in enumerate(input_entries(case.request))
    ]
    need(given and {entry["tensor"] for entry in given} == set(range(len(role.inputs))))
    need(len(given) == len(role.inputs))
    need(all({"datatype", "elements", "blob", "name"}.isdisjoint(entry) for entry in given))
    need(max(changed_places(case.request), default=-1) < len(given))
    tensors = [(role.inputs[entry["tensor"]].datatype, entry.get("shape", ())) for entry in given]
    names = [spec.name for spec in role.inputs]
    encoded = [
        Sample(tuple(one.tensor.shape), bytes(one.tensor.blob))
        for one in encode_inputs(case.request, role, names)
    ]
    try:
        places = _places(tensors, model.inputs)
    except UnfitError:
        need(_may_be_reshaped(case, given))
        places, encoded = _reshaped(tensors[0][0], encoded[0], model)
        given = [{**given[0], "shape": list(encoded[0].shape)}]
    values = dict(zip(places, encoded, strict=True))
    sizes = {
        size
        for place, one in values.items()
        for dim, size in zip(model.inputs[place].dims, one.shape, strict=True)
        if dim == -1
    }
    need(len(sizes) <= 1)  # other inputs may have to agree
    variable = next(iter(sizes), None)
    kept = tuple(
        values[place] if place in values else resized(model.samples[0][place], spec, variable)
        for place, spec in enumerate(model.inputs)
    )
    entries = [
        {**{k: v for k, v in entry.items() if k != "values"}, "tensor": place}
        for entry, place in zip(given, places, strict=True)
    ]
    as_json = {entry.get("form", "binary") for entry in given} <= _JSON
    rest = [
        {
            "tensor": place,
            "shape": list(sample.shape),
            "form": rest_form(case, model.inputs[place], as_json),
        }
        for place, sample in enumerate(kept)
        if place not in values
    ]
    listed = [*entries, *rest]
    if len(entries) == 1 and "json" not in case.request:
        listed.sort(key=lambda entry: int(entry["tensor"]))  # another order is what M2 is about
    return OwnTensors(tuple(listed), kept)


def _may_be_reshaped(case: RequestCase, given: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if only the values of the case's tensor matter, in any shape."""
    relation = relation_of(case)
    of_values = relation is not None and relation.own_tensors == "only"
    of_values = of_values or case.expect.get("compare") == "nothing"
    return of_values and len(given) == 1 and given[0].keys() <= PLAIN and "json" not in case.request


def _reshaped(datatype: str, given: Sample, model: ModelContract) -> tuple[list[int], list[Sample]]:
    """Return the place of the first input of this datatype, and `given` in the shape of the model's
    sample, with as many rows as its elements need.
    """
    inputs = enumerate(model.inputs)
    place = next((place for place, spec in inputs if spec.datatype == datatype), None)
    if place is None:
        raise UnfitError
    sample = model.samples[0][place]
    return [place], [in_rows(given, sample, model.inputs[place])]


def _places(
    tensors: Sequence[tuple[str, Sequence[int]]], inputs: Sequence[TensorSpec]
) -> list[int]:
    """Return for each tensor another input that accepts it, the first possible."""
    found: list[int] = []
    for datatype, shape in tensors:
        fitting = (
            place
            for place, spec in enumerate(inputs)
            if place not in found and spec.datatype == datatype and _takes(spec, shape)
        )
        place = next(fitting, None)
        if place is None:
            raise UnfitError
        found.append(place)
    return found


def _takes(spec: TensorSpec, shape: Sequence[Any]) -> bool:
    return len(shape) == len(spec.dims) and all(
        type(size) is int and (size >= 0 if dim == -1 else size == dim)
        for dim, size in zip(spec.dims, shape, strict=True)
    )
