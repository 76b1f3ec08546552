"""Variations: other legal ways to say what a request says. The answer must not change.

They are data, read from cases/variations.yaml. A variation changes members of a case's `request`,
or how the request is written: `wire` knows how each `operation` is done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import ceil, prod
from typing import Any, Literal

import msgspec

from v2_conformance.errors import CaseFileError
from v2_conformance.own_files import own_document
from v2_conformance.protocol.datatypes import DATATYPES, FLOATS
from v2_conformance.suite.models import ModelContract
from v2_conformance.suite.requirements import Blocks, Citation, Level
from v2_conformance.terminal_safe_text import did_you_mean

Kind = Literal["json", "http", "delivery", "coding", "size", "id"]

_FILE = "variations.yaml"
# Operations that can be applied twice.
_ADDITIVE = ("", "escape", "fields", "members")
_JSON_FORMS = ("json", "nested", "both")
# About as many bytes as a BYTES element of the pattern `counting` takes in JSON and in a blob.
_BYTES_OF_TEXT = 12
# Limits for two requests that leave in one write, whatever a server reads at once.
_SMALL, _FEW = 500, 20


@dataclass(frozen=True)
class Variation:
    """One way to say the same.

    `does` says what it changes, `why` what goes wrong with it and `cite` where it is allowed.
    `request` has the members that it gives to a case's request. `operation` names what is done
    when the request is written, with its `parameters`; "" for nothing. `needs` names what a request
    must have, and `excludes` operations that do not go with it.

    `level` is the level of a case that is sent in this way, if its own is not lower, and `blocks`
    what its failure blocks, None for what that of the case in other ways blocks. With `either`,
    a server may also reject it. With `canary`, a known-good request follows on the same connection.
    `declined_by` are statuses with which a server may refuse the variation of any request.
    """

    name: str
    kind: Kind
    does: str
    why: str
    cite: Citation
    request: Mapping[str, Any] = field(default_factory=dict, hash=False)
    operation: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    level: Level = "MUST"
    blocks: Blocks | None = None
    either: bool = False
    canary: bool = False
    declined_by: tuple[int, ...] = ()

    @property
    def definition(self) -> Mapping[str, Any]:
        """The members that decide its bytes, and how the answer is judged."""
        deciding = ("request", "operation", "parameters", "level", "either", "declined_by")
        return {name: getattr(self, name) for name in deciding}


@cache
def variations() -> dict[str, Variation]:
    """Return every variation by name, in the order of the file."""
    return {entry["name"]: _variation(entry) for entry in own_document(_FILE)["variations"]}


def variation(name: str) -> Variation:
    """Return the variation `name`. Raises CaseFileError if there is none."""
    known = variations()
    if name in known:
        return known[name]
    hint = did_you_mean(name, known, "`v2-conformance list variations` lists every variation")
    raise CaseFileError(f"unknown variation {name!r}: {hint}")


def _variation(entry: Mapping[str, Any]) -> Variation:
    operation, parameters = next(iter(entry.get("operation", {"": {}}).items()))
    words = {key: " ".join(entry[key].split()) for key in ("does", "why")}
    changed = {**words, "operation": operation, "parameters": parameters}
    return msgspec.convert({**entry, **changed}, Variation)


def apply(
    given: Variation,
    request: Mapping[str, Any],
    model: ModelContract,
    before: Sequence[Variation],
    traits: Collection[str],
) -> Mapping[str, Any]:
    """Return the `request` of a case with these `traits` after this variation and those `before`
    it. Raises CaseFileError if the variation does not fit."""
    changes = dict(given.request)
    if given.operation == "chunks" and _chunked(request):
        changes.pop("delivery", None)  # the request already says where to cut
    taken = next((name for name in changes if request.get(name, "whole") != "whole"), None)
    problem = _misfit(given, {*_traits(request, model), *traits}, before)
    if problem is None and taken is not None:
        problem = f"the request has `{taken}` already"
    if problem is not None:
        raise CaseFileError(f"the variation {given.name} does not fit: {problem}")
    changed = {**request, **changes}
    if given.operation == "nested_data":
        inputs = _entries(changed["inputs"])
        nested = [{**one, "form": "nested"} if one.get("form") == "json" else one for one in inputs]
        return changed | {"inputs": nested}
    if given.operation == "size":
        inputs = _entries(changed["inputs"])
        sized = [{**one, "shape": [_count(one, model, given.parameters)]} for one in inputs]
        return changed | {"inputs": sized}
    return changed


def _misfit(given: Variation, present: Collection[str], before: Sequence[Variation]) -> str | None:
    missing = next((need for need in given.needs if need not in present), None)
    if missing is not None:
        return f"it needs {missing}"
    for other in before:
        same = given.operation not in _ADDITIVE and given.operation == other.operation
        if same or given.operation in other.excludes or other.operation in given.excludes:
            return f"it cannot be combined with {other.name}"
    return None


def _traits(request: Mapping[str, Any], model: ModelContract) -> Iterator[str]:
    inputs = _entries(request.get("inputs"))
    # No variation could write such a text.
    own_text = {"text", "change", "indent"} & request.get("json", {}).keys()
    json = not request.get("raw") and not own_text
    in_json = [entry for entry in inputs if entry.get("form", "binary") in _JSON_FORMS]
    kinds = {_datatype(entry, model) for entry in in_json} if json else set()
    checks = {
        "json": json,
        "data": bool(kinds),
        "float-data": not kinds.isdisjoint(FLOATS),
        "integer-data": any("INT" in kind for kind in kinds),
        "rank-2-data": any(
            entry.get("form") == "json" and len(_shape(entry)) > 1 for entry in in_json
        ),
        "blob": any(entry.get("form", "binary") in ("binary", "both") for entry in inputs),
        "filled-vectors": bool(inputs) and all(map(_is_filled_vector, inputs)),
        "own-path": "path" not in request,
        "content-type": request.get("content_type", "") is not None,
        "content-length": not _chunked(request),
        "one-write": "slices" not in request.get("delivery", ""),
        "small": all(map(_is_small, inputs)) and len(inputs) <= _FEW,
    }
    return (name for name, there in checks.items() if there)


def _entries(inputs: Any) -> list[dict[str, Any]]:
    if isinstance(inputs, dict):
        listed = [
            {"tensor": tensor, **inputs["each"], **inputs.get("except", {}).get(str(tensor), {})}
            for tensor in inputs["tensors"]
        ]
    else:
        listed = [entry for entry in inputs or () if isinstance(entry, dict)]
    return [{"tensor": position, **entry} for position, entry in enumerate(listed)]


def _datatype(entry: Mapping[str, Any], model: ModelContract) -> str:
    index = entry["tensor"]
    return model.inputs[index].datatype if index in range(len(model.inputs)) else ""


def _chunked(request: Mapping[str, Any]) -> bool:
    return "chunks" in request.get("delivery", "")


def _is_small(entry: Mapping[str, Any]) -> bool:
    sizes = [size for size in _shape(entry) if type(size) is int]
    large = entry.get("values") in ("long_element", "element_of_65000", "element_of_70000")
    return prod(sizes) <= _SMALL and not large


def _is_filled_vector(entry: Mapping[str, Any]) -> bool:
    tampered = {"elements", "size", "blob", "hex"} & entry.keys()
    pattern = isinstance(entry.get("values", ""), str)
    shape = _shape(entry)
    return not tampered and pattern and len(shape) == 1 and type(shape[0]) is int


def _shape(entry: Mapping[str, Any]) -> Sequence[Any]:
    shape = entry.get("shape")
    return shape if isinstance(shape, list) else ()


def _count(entry: Mapping[str, Any], model: ModelContract, parameters: Mapping[str, Any]) -> int:
    if "elements" in parameters:
        return int(parameters["elements"])
    size = DATATYPES[_datatype(entry, model)].size or _BYTES_OF_TEXT
    return ceil(int(parameters["bytes"]) / size)
