"""Which of a server's models play which roles of the contract, by their metadata and an echo."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from v2_conformance.judging.judge import canary_problem
from v2_conformance.judging.known_good import plain_case
from v2_conformance.judging.metadata import MAX_METADATA, entries_of, plain_body
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import Shape
from v2_conformance.runs.discovery import discover_server
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.models import ModelContract, TensorSpec, contract
from v2_conformance.wire.encode.deployment import Address, DeployedModel, model_path
from v2_conformance.wire.encode.requests import get_request, prepare
from v2_conformance.wire.response import Response
from v2_conformance.wire.transport import Connection, Head, Request, write_head

_MOST_MODELS = 300
_LONGEST_NAME = 200
_MOST_TRIED = 8
"""How many models that look right are asked to echo for one role."""


@dataclass(frozen=True)
class Matched:
    """The models of a server that play roles, and why no model plays the other roles.

    `names` are all models that the server was found to have. `listed` says whether it lists them.
    """

    server: str
    present: Mapping[str, DeployedModel]
    absent: Mapping[str, str]
    names: Sequence[str] = ()
    listed: bool = False


@dataclass(frozen=True)
class _Described:
    """A model and the tensors in its metadata: name, datatype, and the shape if one is stated."""

    name: str
    inputs: Sequence[tuple[str, str, Shape | None]] = field(default=())
    outputs: Sequence[tuple[str, str, Shape | None]] = field(default=())


def match_models(target: Target, names: Sequence[str] = ()) -> Matched:
    """Ask the server for its models, and ask each plausible model for a role to echo a request.

    `names` are models to try besides those that the server lists and those of the contract. Raises
    UnreachableError if it is not a V2 server.
    """
    server = discover_server(target)
    limits = replace(target.limits, response=MAX_METADATA)
    with closing(replace(target, limits=limits).transport().connection()) as connection:
        listed = _listed(connection, target.address)
        wanted = dict.fromkeys((*names, *listed, *(m.model for m in contract().values())))
        asked = [_described(connection, target.address, name) for name in wanted]
    models = [model for model in asked if model is not None]
    present: dict[str, DeployedModel] = {}
    absent: dict[str, str] = {}
    with closing(target.transport().connection()) as connection:
        taken: set[str] = set()
        for role, model in contract().items():
            player = _player(role, model, models, taken, connection, target.address)
            if isinstance(player, str):
                absent[role] = player
            else:
                present[role] = player
                taken.add(player.model)
    return Matched(server, present, absent, [model.name for model in models], bool(listed))


def _listed(connection: Connection, address: Address) -> list[str]:
    """Return the names of the models that a server lists, as Triton or as KServe does."""
    head = Head(
        "POST",
        f"{address.prefix}/v2/repository/index",
        (*address.fields, ("Content-Type", "application/json"), ("Content-Length", "2")),
    )
    index = Request(head, (b"{}",), (write_head(head) + b"{}",))
    for request in (index, get_request(address, "/v2/models")):
        document = _document(connection.exchange(request).response)
        listed = document.get("models") if isinstance(document, dict) else document
        entries = listed if isinstance(listed, list) else []
        names = [e.get("name") if isinstance(e, dict) else e for e in entries]
        good = [n for n in names if isinstance(n, str) and 0 < len(n) <= _LONGEST_NAME]
        if good:
            return list(dict.fromkeys(good))[:_MOST_MODELS]
    return []


def _described(connection: Connection, address: Address, name: str) -> _Described | None:
    """Return what a model's metadata says, None if the server has no such model."""
    try:
        path = model_path(name)
    except UnicodeEncodeError:  # a lone surrogate, which no URL can have
        return None
    document = _document(connection.exchange(get_request(address, path)).response)
    if not isinstance(document, dict):
        return None
    return _Described(name, _tensors(document.get("inputs")), _tensors(document.get("outputs")))


def _document(response: Response | None) -> Any:
    if response is None or response.status != 200:
        return None
    try:
        return json.loads(plain_body(response))  # an index is an array, which is not a V2 message
    except (ValueError, RecursionError, Finding):
        return None


def _tensors(value: object) -> list[tuple[str, str, Shape | None]]:
    tensors = []
    for entry in entries_of(value):
        dims = entry.get("shape")
        whole = isinstance(dims, list) and all(type(n) is int for n in dims)
        shape = tuple(dims) if whole and dims else None
        tensors.append((entry["name"], str(entry.get("datatype")), shape))
    return tensors


def _player(
    role: str,
    model: ModelContract,
    models: Sequence[_Described],
    taken: set[str],
    connection: Connection,
    address: Address,
) -> DeployedModel | str:
    """Return the binding of the first model that plays `role`, the contract's own first; or why no
    model does.

    Nothing shows whether a model batches: for such a role only the contract's own model is tried.
    """
    own_first = sorted(models, key=lambda m: m.name != model.model)
    tried: list[str] = []
    for described in own_first:
        own = described.name == model.model
        if model.batching and not own:
            continue
        if not own and quote(described.name, safe="") in taken:
            continue
        binding = _binding(role, model, described, own=own)
        if binding is None:
            continue
        if len(tried) == _MOST_TRIED:
            break
        tried.append(described.name)
        if _echoes(role, binding, connection, address):
            return binding
    if tried:
        names = ", ".join(printable(name, 60) for name in tried)
        return (
            f"{names} {'has' if len(tried) == 1 else 'have'} such tensors, but did not answer as "
            f"the role's model must"
        )
    if model.batching:
        return f"no model {model.model}, and metadata does not tell which model batches"
    return f"no model has the inputs {_shown(model.inputs)} and the outputs {_shown(model.outputs)}"


def _shown(specs: Sequence[TensorSpec]) -> str:
    return ", ".join(f"{spec.datatype} {list(spec.dims)}" for spec in specs)


def _binding(
    role: str, model: ModelContract, described: _Described, *, own: bool
) -> DeployedModel | None:
    """Return the names of a model's tensors in the role's order, None if the datatypes do not
    match.
    """
    name = quote(described.name, safe="")
    if own and not described.inputs and not described.outputs:
        inputs = tuple(spec.name for spec in model.inputs)
        return DeployedModel(role, name, inputs, tuple(spec.name for spec in model.outputs))
    inputs_found = _in_order(model.inputs, described.inputs, whole=True)
    outputs_found = _in_order(model.outputs, described.outputs, whole=False)
    if inputs_found is None or outputs_found is None:
        return None
    return DeployedModel(role, name, inputs_found, outputs_found)


def _in_order(
    specs: Sequence[TensorSpec], tensors: Sequence[tuple[str, str, Shape | None]], *, whole: bool
) -> tuple[str, ...] | None:
    """Return the first remaining tensor that fits each spec; None if a spec has none, or if some
    are left over and the match must be `whole`.
    """
    left = list(tensors)
    names = []
    for spec in specs:
        named = [t for t in left if t[0] == spec.name and _fits(spec, t)]
        fitting = named or [t for t in left if _fits(spec, t)]
        if not fitting:
            return None
        left.remove(fitting[0])
        names.append(fitting[0][0])
    return None if left and whole else tuple(names)


def _fits(spec: TensorSpec, tensor: tuple[str, str, Shape | None]) -> bool:
    _, datatype, shape = tensor
    if datatype != spec.datatype:
        return False
    if shape is None:
        return True
    same_rank = len(shape) == len(spec.dims)
    return same_rank and all(has in (-1, n) for n, has in zip(spec.dims, shape, strict=True))


def _echoes(role: str, binding: DeployedModel, connection: Connection, address: Address) -> bool:
    """Return True if the model echoes as the role's must, in binary form or else in JSON."""
    for form, values in (("binary", "counting"), ("json", "counting_in_json")):
        listed = form == "binary"
        case = plain_case(
            f"echo {role}", binding.contract, values=values, form=form, listed=listed, options={}
        )
        prepared = prepare(case, address, binding)
        exchange = connection.exchange(prepared.request, fresh=True)
        if canary_problem(prepared.expected, exchange) is None:
            return True
    return False


def tensors_differ(binding: DeployedModel) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return the members of a target file's entry whose names differ from the contract's."""
    model = contract()[binding.role]
    for key, names, specs in (
        ("inputs", binding.inputs, model.inputs),
        ("outputs", binding.outputs, model.outputs),
    ):
        if names != tuple(spec.name for spec in specs):
            yield key, names
