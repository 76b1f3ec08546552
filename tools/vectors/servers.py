"""Vectors for servers, made from their cases: decode a request, encode a response."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tools.vectors.made import (
    DELIVERY,
    Message,
    common,
    delivered,
    flags_of,
    is_free,
    message_fields,
    of_rejection,
    of_success,
    rules,
    tensor_of,
    told,
)
from tools.vectors.packed_bytes import NoVectorError, packed
from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import ElementError, from_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import TOKEN
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import Case, GeneratedCase, RequestCase
from v2_conformance.suite.models import ModelContract, contract
from v2_conformance.suite.values.draws import draw_for
from v2_conformance.wire.encode.deployment import Address, DeployedModel
from v2_conformance.wire.encode.inputs import (
    Values,
    check_tensor,
    declared_part,
    encode_inputs,
    input_entries,
)
from v2_conformance.wire.encode.requests import Prepared, prepare

_TOKEN = re.compile(TOKEN)
_HOST = "localhost:8000"
_OF_ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "binary_type": {"content_type": "binary"},
    "json_type": {"content_type": "json"},
    "data_or_size": {"data_or_size": True},
    "one_form": {"one_form": True},
    "only_requested": {"only": True},
    "unique_members": {"unique_members": True},
    "model_name_sent": {"model_name_sent": True},
    "no_other_number": {"not_finite": True},
}
"""Checks of a case that `Rules` has a member for; the others are part of every reading, or about
HTTP."""


def requests_of(cases: Sequence[Case]) -> Iterator[RequestCase]:
    """Yield the requests of all cases; generated ones have ids with a number."""
    for case in cases:
        if isinstance(case, RequestCase):
            yield case
        elif isinstance(case, GeneratedCase):
            for number, entry in enumerate(case.requests):
                made = make_case({**entry, "id": f"{case.id}-{number:03}"})
                assert isinstance(made, RequestCase)
                yield made


def model_of(role: str) -> tuple[str, Message]:
    """Return the name of the model in a role, and what a server knows of it."""
    result = contract()[role]
    inputs, outputs = (
        [{"name": one.name, "datatype": one.datatype, "shape": one.dims} for one in specs]
        for specs in (result.inputs, result.outputs)
    )
    return result.model, {"inputs": inputs, "outputs": outputs, **told(batching=result.batching)}


class MadeRequest:
    """A case with its request as bytes. Raises NoVectorError for what is no message."""

    def __init__(self, case: RequestCase) -> None:
        if case.first or case.members or case.together > 1:
            raise NoVectorError("company")
        given = case.request
        own = {name.lower() for name in given.get("headers", {})}
        if {"client", "path", "method", "version"} & set(given) or own & DELIVERY:
            raise NoVectorError("http")
        if "bomb" in given.get("encoded", ()):
            raise NoVectorError("long")
        self.case = case
        self.model = contract()[case.model]
        model = self.model
        inputs, outputs = (
            tuple(spec.name for spec in specs) for specs in (model.inputs, model.outputs)
        )
        binding = DeployedModel(case.model, model.model, inputs, outputs, version="1")
        self.prepared: Prepared = prepare(case, Address(_HOST), binding)
        self.fields = message_fields(self.prepared.request.head.fields)
        if not all(_TOKEN.fullmatch(name) for name, _ in self.fields):
            raise NoVectorError("http")
        self.body = b"".join(map(bytes, self.prepared.request.body))
        encoded = encode_inputs(given, model, inputs, Values(0, draw_for(None, case.id)))
        self.inputs = tuple(one.tensor for one in encoded)

    @property
    def flags(self) -> tuple[str, ...]:
        """The features that it needs."""
        request = self.case.request
        datatypes = [spec.datatype for spec in self.model.inputs]
        raw = "raw" if request.get("raw") else ""
        other = "stand-in" if self.model.stands_in_for else ""
        size = len(self.body)
        return flags_of(self.fields, datatypes, size, raw, other, delivered(request))


def decode_request(made: MadeRequest) -> Iterator[Message]:
    """Yield the vector of a request. Raises NoVectorError."""
    case = made.case
    outputs: tuple[Message, ...] = ()
    tensors: list[Message] | None = None
    if case.expects == "reject":
        comparable = "exact" in case.expect and bool(made.prepared.expected)
        declared = [declared_part(tensor) for tensor in made.inputs] if comparable else []
        exact = [tensor for tensor in declared if tensor is not None]
        if exact and len(exact) == len(declared):
            tensors = list(map(tensor_of, exact))
        result, should = of_rejection(case, exact=tensors is not None)
    else:
        open_ = case.expects in ("survives", "either")
        result, should = ("either", None) if open_ else of_success(case)
        tensors = _read(made)
        if tensors is not None:
            forms = {one.tensor.name: one.form for one in made.prepared.expected}
            names = [spec.name for spec in made.model.outputs if spec.name in forms]
            outputs = tuple({"name": name, "form": forms[name]} for name in names)
    free = is_free(case)
    request_id = made.prepared.request_id if tensors is not None else None
    yield {
        **common("decode_request", case, result, should, free=free, flags=made.flags),
        "model": made.model.model,
        "fields": made.fields,
        "body": packed(made.body),
        **told(tensors=tensors, outputs=outputs),
        **told(request_id=None if "json" in case.request else request_id),
    }


def encode_response(made: MadeRequest) -> Iterator[Message]:
    """Yield the vector of the answer to a request. Raises NoVectorError."""
    case, prepared, request = made.case, made.prepared, made.case.request
    # An answer follows from the tensors and from what is asked for, if both are beyond doubt.
    if case.expects in ("reject", "survives") or case.expect.get("one_of") or not prepared.expected:
        raise NoVectorError("nothing")
    if "change" in request.get("json", {}) or "text" in request.get("json", {}):
        raise NoVectorError("nothing")
    result, should = ("either", None) if case.expects == "either" else of_success(case)
    accept: Message = {"read_only": case.expect.get("compare") == "nothing"}
    for name in case.expect.get("checks", ()):
        accept |= _OF_ANSWERS.get(name, {})
        if name == "id_echo":
            accept["id"] = prepared.request_id
        if name.startswith("model_name"):
            accept["model_name"] = prepared.model
    if accept.get("not_finite"):
        accept["read_only"] = False
    tensors = tuple(
        tensor_of(one.tensor, truth=case.expect.get("compare") == "truth", form=one.form)
        for one in prepared.expected
    )
    answered = _answered(made)
    listed = None
    if "outputs" in request:
        listed = [_listed(entry, made.model) for entry in request["outputs"]]
    free = is_free(case)
    yield {
        **common("encode_response", case, result, should, free=free, flags=made.flags),
        "model": made.model.model,
        "tensors": list(map(tensor_of, answered)),
        "asked": told(
            raw=bool(request.get("raw")),
            id=prepared.request_id,
            parameters=dict(request.get("parameters", {})),
            outputs=listed,
            accept_encoding=request.get("accept_encoding"),
        ),
        "accept": rules(tensors=tensors, **accept),
    }


def _read(made: MadeRequest) -> list[Message] | None:
    """Return the tensors of a request that may be accepted; None if they are not compared."""
    expect = made.case.expect
    if not made.prepared.expected or expect.get("compare") == "nothing":
        return None
    readings = expect.get("one_of", ())
    results = []
    for tensor in made.inputs:
        try:
            check_tensor(tensor)
        except (CaseFileError, ElementError):
            return None
        if not readings:
            results.append(tensor_of(tensor, truth=expect.get("compare") == "truth"))
            continue
        of = tuple(tuple(_element(tensor, value) for value in reading) for reading in readings)
        results.append(tensor_of(tensor, one_of=of))
    return results


def _element(tensor: Tensor, value: object) -> str | None:
    if value is None:
        return None
    return base64.b64encode(from_values(tensor.datatype, [value])).decode()


def _answered(made: MadeRequest) -> tuple[Tensor, ...]:
    """Return all outputs of the model that its inputs give."""
    known = {one.tensor.name: one.tensor for one in made.prepared.expected}
    if made.model.does == "identity":
        entries = enumerate(input_entries(made.case.request))
        places = (entry.get("tensor", position) for position, entry in entries)
        sources = dict(zip(places, made.inputs, strict=True))
        for place, spec in enumerate(made.model.outputs):
            source = sources.get(place)
            if source is not None and spec.name not in known:
                known[spec.name] = Tensor(spec.name, source.datatype, source.shape, source.blob)
    return tuple(known[spec.name] for spec in made.model.outputs if spec.name in known)


def _listed(entry: dict[str, Any], model: ModelContract) -> Message:
    name = entry["name"] if "name" in entry else model.outputs[entry["tensor"]].name
    parameters = dict(entry.get("parameters", {}))
    if "binary_data" in entry:
        parameters["binary_data"] = entry["binary_data"]
    return {"name": name, **told(parameters=parameters)}
