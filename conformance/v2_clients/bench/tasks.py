"""Makes a scenario's task for the client, with the true value of every tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from v2_clients.bench.messages import Task, TaskInput, TaskOutput, TaskRequest
from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import DATATYPES, from_values, to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.models import ModelContract, TensorSpec, contract
from v2_conformance.wire.encode.inputs import check_tensor, encode_one, input_entries

USUAL_TIMEOUT_S = 10.0
"""Seconds that a client has for a scenario."""

MOST_OUTPUT = 32 * 1024 * 1024
"""Bytes that a client may print for a scenario."""

_OF_THE_TASK = ("form", "layout", "from", "parameters")


@dataclass(frozen=True)
class Asked:
    """One request of a scenario.

    `request` is what the task has of it. `inputs` are the true tensors that must be sent, with
    `index`, the place of each among the model's inputs. `outputs` are the identity's: the same
    tensors by the index of the output.
    """

    request: TaskRequest
    model: ModelContract
    inputs: tuple[Tensor, ...]
    index: tuple[int, ...]

    @property
    def outputs(self) -> dict[int, Tensor]:
        """The answers of an identity model, by the place of the output."""
        specs = self.model.outputs
        return {
            place: Tensor(specs[place].name, tensor.datatype, tensor.shape, tensor.blob)
            for place, tensor in zip(self.index, self.inputs, strict=True)
        }


def asked_of(case: ClientCase) -> tuple[Asked, ...]:
    """Return what each request of a scenario asks for. Each is to a model of its own, so that its
    URL says which one came, whatever a client leaves out; but a name that the scenario gives stays,
    since a client may keep something for each model. Raises CaseFileError, which names the
    scenario.
    """
    results: list[Asked] = []
    for number, request in enumerate(case.requests):
        try:
            one = _asked(request)
        except CaseFileError as error:
            raise CaseFileError(f"{case.id}: request {number}: {error}") from error
        names = {asked.request.model for asked in results}
        if one.request.model in names and "called" not in request:
            own = msgspec.structs.replace(one.request, model=f"{one.request.model}_{number + 1}")
            one = replace(one, request=own)
        results.append(one)
    return tuple(results)


def task_of(
    case: ClientCase, url: str, *, timeout_s: float = USUAL_TIMEOUT_S, asked: Sequence[Asked] = ()
) -> Task:
    """Return the task of a scenario whose server is at `url`; `asked` avoids making it again."""
    seconds = timeout_s if case.timeout_s is None else min(timeout_s, case.timeout_s)
    requests = tuple(one.request for one in asked or asked_of(case))
    return Task(scenario=case.id, url=url, timeout_s=seconds, requests=requests)


def model_of(request: Mapping[str, Any]) -> ModelContract:
    """Return the model of a request: the contract's, or one made of its inputs. Raises
    CaseFileError.
    """
    role = request["model"]
    if role in contract():
        return contract()[role]
    inputs = []
    for entry in input_entries(request):
        if not {"name", "datatype", "shape"} <= entry.keys() or entry["datatype"] not in DATATYPES:
            raise CaseFileError("an input of a model of its own needs `name`, `datatype`, `shape`")
        dims = (-1,) * len(entry["shape"])
        inputs.append(TensorSpec(entry["name"], entry["datatype"], dims))
    outputs = tuple(
        TensorSpec(f"OUTPUT{place}", spec.datatype, spec.dims) for place, spec in enumerate(inputs)
    )
    return ModelContract(
        role=role,
        model=role,
        does="identity",
        inputs=tuple(inputs),
        outputs=outputs,
        profile="client",
        batching=False,
        optional=False,
    )


def _asked(request: Mapping[str, Any]) -> Asked:
    model = model_of(request)
    inputs, tensors, index = [], [], []
    for position, entry in enumerate(input_entries(request)):
        place = entry.get("tensor", position)
        if place >= len(model.inputs):
            raise CaseFileError(f"`inputs[{position}]`: the model has no input {place}")
        made, tensor = _input(entry, model, place)
        inputs.append(made)
        tensors.append(tensor)
        index.append(place)
    task = TaskRequest(
        model=request.get("called", model.model),
        version=request.get("version"),
        id=request.get("id"),
        parameters=dict(request.get("parameters", {})),
        headers=dict(request.get("headers", {})),
        request_compression=request.get("request_compression"),
        response_compression=request.get("response_compression"),
        binary_data_output=request.get("binary_data_output"),
        inputs=tuple(inputs),
        outputs=_outputs(request, model),
    )
    return Asked(task, model, tuple(tensors), tuple(index))


def _input(given: Mapping[str, Any], model: ModelContract, place: int) -> tuple[TaskInput, Tensor]:
    """Return an input as the task has it, and its tensor."""
    spec = model.inputs[place]
    rounds = given.get("from") == "float32"
    if rounds and spec.datatype != "BF16":
        raise CaseFileError("`from: float32` is only for BF16")
    one = TensorSpec(spec.name, "FP32" if rounds else spec.datatype, spec.dims)
    entry = {k: v for k, v in given.items() if k not in (*_OF_THE_TASK, "tensor", "datatype")}
    held = encode_one(entry, model, one).tensor
    check_tensor(held)
    blob = bytes(held.blob)
    true = from_values("BF16", to_values("FP32", blob)) if rounds else blob
    made = TaskInput(
        name=held.name,
        datatype=spec.datatype,
        shape=held.shape,
        data=blob,
        form="json" if given.get("form", "binary") == "json" else "binary",
        layout=given.get("layout", "row-major"),
        of="float32" if rounds else None,
        parameters=dict(given.get("parameters", {})),
    )
    return made, Tensor(held.name, spec.datatype, held.shape, true)


def _outputs(request: Mapping[str, Any], model: ModelContract) -> tuple[TaskOutput, ...] | None:
    if "outputs" not in request:
        return None
    results = []
    for position, entry in enumerate(input_entries({"inputs": request["outputs"]})):
        place = entry.get("tensor", position)
        if place >= len(model.outputs):
            raise CaseFileError(f"`outputs[{position}]`: the model has no output {place}")
        name = entry.get("name", model.outputs[place].name)
        parameters = dict(entry.get("parameters", {}))
        results.append(TaskOutput(name=name, form=entry.get("form"), parameters=parameters))
    return tuple(results)
