"""Which of a server's models play which roles of the contract, by their metadata and an echo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from v2_conformance.conversations.discovery import SERVER
from v2_conformance.errors import UsageError
from v2_conformance.judging.judge import canary_problem
from v2_conformance.judging.known_good import plain_case
from v2_conformance.judging.metadata import entries_of
from v2_conformance.runs.discovery import MetadataClient, server_name_of
from v2_conformance.runs.learning import index
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.models import ModelContract, TensorSpec, contract
from v2_conformance.wire.encode.deployment import Address, DeployedModel, model_path
from v2_conformance.wire.encode.requests import get_request, prepare
from v2_conformance.wire.transport import Connection

_MOST_TRIED = 8
"""How many models that look right are asked to echo for one role."""

Metadata = Mapping[str, Any]


@dataclass(frozen=True)
class Matched:
    """The models of a `server` by role; why other roles have none; `listed`: it lists models."""

    server: str
    present: Mapping[str, DeployedModel]
    absent: Mapping[str, str]
    listed: bool = False


def match_models(target: Target, names: Sequence[str] = ()) -> Matched:
    """Ask the server for its models, and ask each plausible model for a role to echo a request.

    `names` are models to try besides those that the server lists and those of the contract. Raises
    UnreachableError if it is not a V2 server, UsageError if it does not describe one of `names`.
    """
    with closing(MetadataClient(target)) as client:
        server = server_name_of(target, client.get(SERVER))
        listed = index(client) or []
        wanted = dict.fromkeys((*names, *listed, *(m.model for m in contract().values())))
        asked = {name: _metadata(client, name) for name in wanted}
    models = {name: metadata for name, metadata in asked.items() if isinstance(metadata, dict)}
    unknown = next((name for name in names if name not in models), None)
    if unknown is not None:
        raise UsageError(f"the server has no metadata of a model {unknown[:60]!a}: check --model")
    present: dict[str, DeployedModel] = {}
    absent: dict[str, str] = {}
    with closing(target.connection()) as connection:
        for role, model in contract().items():
            taken = {binding.model for binding in present.values()}
            player = _player(role, model, models, taken, connection, target.address)
            if isinstance(player, str):
                absent[role] = player
            else:
                present[role] = player
    return Matched(f"{server.name} {server.version}", present, absent, bool(listed))


def _metadata(client: MetadataClient, name: str) -> Any:
    try:
        return client.document(get_request(client.address, model_path(name)))
    except UnicodeEncodeError:  # a lone surrogate, which no URL can have
        return None


def _player(
    role: str,
    model: ModelContract,
    models: Mapping[str, Metadata],
    taken: set[str],
    connection: Connection,
    address: Address,
) -> DeployedModel | str:
    """Return the binding of the first model that plays `role`, the contract's own first; or why no
    model does.

    Nothing shows whether a model batches: for such a role only the contract's own model is tried.
    """
    tried: list[str] = []
    for name in sorted(models, key=lambda name: name != model.model):
        own = name == model.model
        if not own and (model.batching or quote(name, safe="") in taken):
            continue
        binding = _binding(role, model, name, models[name], own=own)
        if binding is None:
            continue
        if len(tried) == _MOST_TRIED:
            break
        tried.append(name)
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
    role: str, model: ModelContract, name: str, metadata: Metadata, *, own: bool
) -> DeployedModel | None:
    """Return the names of a model's tensors in the role's order, None if datatypes differ."""
    inputs, outputs = (entries_of(metadata.get(key)) for key in ("inputs", "outputs"))
    if own and not inputs and not outputs:
        ordered: tuple[Any, ...] = tuple(
            tuple(spec.name for spec in specs) for specs in (model.inputs, model.outputs)
        )
    else:
        ordered = (_in_order(model.inputs, inputs), _in_order(model.outputs, outputs))
    if None in ordered or (inputs and len(inputs) > len(model.inputs)):
        return None  # an input that nothing is sent for
    return DeployedModel(role, quote(name, safe=""), *ordered)


def _in_order(specs: Sequence[TensorSpec], tensors: Sequence[Metadata]) -> tuple[str, ...] | None:
    """Return the first remaining tensor that fits each spec; None if a spec has none."""
    left = list(tensors)
    names = []
    for spec in specs:
        fitting = [tensor for tensor in left if _fits(spec, tensor)]
        if not fitting:
            return None
        best = next((tensor for tensor in fitting if tensor["name"] == spec.name), fitting[0])
        left.remove(best)
        names.append(best["name"])
    return tuple(names)


def _fits(spec: TensorSpec, tensor: Metadata) -> bool:
    dims = tensor.get("shape")
    if str(tensor.get("datatype")) != spec.datatype:
        return False
    if not isinstance(dims, list) or not dims or not all(type(n) is int for n in dims):
        return True  # no shape is stated
    return replace(spec, dims=tuple(dims)).takes(spec.dims)


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
