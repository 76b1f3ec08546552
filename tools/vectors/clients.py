"""Vectors for clients, made from their scenarios: decode a response, encode a request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.vectors.made import (
    DELIVERY,
    Message,
    Result,
    Should,
    common,
    delivered,
    flags_of,
    has_nan,
    message_fields,
    of_rejection,
    of_success,
    rules,
    tensor_of,
    told,
)
from tools.vectors.packed_bytes import NoVectorError, packed
from v2_clients.bench.answers import Answer, make_answer, of_the_task
from v2_clients.bench.tasks import Asked as AskedOfClient
from v2_clients.bench.tasks import asked_of
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import BINARY_DATA, BINARY_DATA_OUTPUT
from v2_conformance.suite.cases import ClientCase
from v2_conformance.wire.encode.inputs import declared_part

_HTTP = frozenset({
    "again", "claims", "cut", "interim", "lacks", "pause_s", "redirects", "sends", "spelling",
    "then", "when",
})  # fmt: skip
"""Members of an answer that are about the connection."""
_LONG = 1 << 22
_OF_HTTP = frozenset({
    "accept_encoding", "caller_headers", "credentials", "framing", "no_stale_headers",
    "no_stale_members", "target", "unchanged_headers",
})  # fmt: skip
"""Checks of a request that no message shows."""


def _alone(case: ClientCase) -> AskedOfClient:
    """Return what the only request of a scenario asks for. Raises NoVectorError."""
    if len(case.requests) > 1:
        raise NoVectorError("company")
    (asked,) = asked_of(case)
    if any(len(tensor.blob) > _LONG for tensor in asked.inputs):
        raise NoVectorError("long")
    return asked


def decode_response(case: ClientCase) -> Iterator[Message]:
    """Yield the vector of a scenario's answer. Raises NoVectorError."""
    asked = _alone(case)
    script, expect = case.answer(0, 0), case.expected(0)
    reading = expect.get("reading", "any")
    own = {name.lower() for name in script.get("headers", {})}
    if _HTTP & set(script) or own & DELIVERY:
        raise NoVectorError("http")
    if reading in ("any", "refused"):
        raise NoVectorError("nothing")
    answer = make_answer(asked, script, of_the_task(asked, asked.request.response_compression))
    if any(one.datatype == "BOOL" and any(b > 1 for b in one.blob) for one in answer.outputs):
        raise NoVectorError("nothing")  # a byte that is no BOOL may be read as it is, or as true
    tensors: list[Message] | None = None
    result: Result
    should: Should | None
    if reading == "error":
        exact = _declared(answer) if "exact" in expect else ()
        tensors = list(map(tensor_of, exact)) or None
        result, should = of_rejection(case, exact=bool(exact))
    else:
        tensors = list(map(tensor_of, answer.outputs))
        result, should = of_success(case) if reading == "exact" else ("either", None)
    error = expect.get("error", {})
    fields = message_fields(answer.fields)
    datatypes = (tensor.datatype for tensor in answer.outputs)
    flags = flags_of(fields, datatypes, len(answer.body), delivered(script))
    yield {
        **common("decode_response", case, result, should, flags=flags),
        **told(asked=_asked(asked)),
        "status": answer.status,
        "fields": fields,
        "body": packed(answer.body),
        **told(tensors=tensors, members=expect.get("members"), says=error.get("says")),
    }


def encode_request(case: ClientCase) -> Iterator[Message]:
    """Yield the vector of a scenario's request. Raises NoVectorError."""
    asked = _alone(case)
    expect, task = case.expected(0), asked.request
    names = set(expect.get("request", ())) - _OF_HTTP
    reading = expect.get("reading", "any")
    free = reading in ("refused", "error_or_exact")
    own = any(one.layout != "row-major" or one.of is not None for one in task.inputs)
    if not names and reading != "refused" and not own:
        raise NoVectorError("nothing")
    result, should = ("either", None) if free else of_success(case)
    given = []
    for one, tensor in zip(task.inputs, asked.inputs, strict=True):
        float32 = None if one.of is None else packed(one.data)
        more: Message = {"form": one.form, "layout": one.layout, "float32": float32}
        given.append(tensor_of(tensor, **more, parameters=one.parameters))
    wanted = tuple(
        tensor_of(
            tensor,
            form=one.form if "forms" in names and not free else None,
            parameters=one.parameters if "caller_parameters" in names else {},
        )
        for one, tensor in zip(task.inputs, asked.inputs, strict=True)
    )
    accept: Message = {"only": True, "data_or_size": "data_or_size" in names}
    if "content_type" in names:
        accept["content_type"] = (
            "binary" if any(i.form == "binary" for i in task.inputs) else "json"
        )
    if "id" in names:
        accept["id"] = task.id
    if "caller_parameters" in names:
        accept["parameters"] = task.parameters
    if {"outputs", "forms"} & names:
        accept |= _outputs(asked, names)
    layout = "layout" if any(one.layout != "row-major" for one in task.inputs) else ""
    size = sum(len(tensor.blob) for tensor in asked.inputs)
    coding = [("Content-Encoding", task.request_compression or "identity")]
    flags = flags_of(coding, [tensor.datatype for tensor in asked.inputs], size, layout)
    unsaid = any(one.of is not None and has_nan(one.data) for one in task.inputs)
    yield {
        **common("encode_request", case, result, should, free=unsaid, flags=flags),
        "tensors": given,
        "asked": _asked(asked),
        **told(compression=task.request_compression),
        "accept": rules(tensors=wanted, **accept),
    }


def _declared(answer: Answer) -> tuple[Tensor, ...]:
    """Return what the answer declares; nothing if there is no tensor of that."""
    declared = tuple(part for part in map(declared_part, answer.outputs) if part is not None)
    return declared if len(declared) == len(answer.outputs) else ()


def _asked(asked: AskedOfClient) -> Message:
    """Return what the request's JSON says about its answer."""
    parameters: dict[str, Any] = dict(asked.request.parameters)
    if asked.request.binary_data_output is not None:
        parameters[BINARY_DATA_OUTPUT] = asked.request.binary_data_output
    return told(id=asked.request.id, parameters=parameters, outputs=_listed(asked))


def _listed(asked: AskedOfClient) -> list[Message] | None:
    """Return the outputs that the caller names, with the forms that it wants."""
    if asked.request.outputs is None:
        return None
    listed = []
    for output in asked.request.outputs:
        form = {} if output.form is None else {BINARY_DATA: output.form == "binary"}
        listed.append({"name": output.name, **told(parameters={**output.parameters, **form})})
    return listed


def _outputs(asked: AskedOfClient, names: set[str]) -> Message:
    """Return the rules about the outputs that the request lists and their forms."""
    of_all = {True: "binary", False: "json", None: None}[asked.request.binary_data_output]
    forms = "forms" in names
    if asked.request.outputs is None:
        return {"outputs_form": of_all if forms else None}
    return {
        "outputs": [
            {"name": one.name, **told(form=(one.form or of_all) if forms else None)}
            for one in asked.request.outputs
        ]
    }
