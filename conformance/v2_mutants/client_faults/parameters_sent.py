"""Faults of the parameters and outputs that a client asks for (K16), and of the caller's (K19)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.requests_made import JsonObject
from v2_conformance.reference.client.task import Call
from v2_mutants.changes import without
from v2_mutants.registry import Right, What, client_fault

client_fault("form-false-left-out", "K16", PlainClient.output_parameters)(
    "binary_data false is left out, so that binary_data_output decides.",
    lambda right, output: {"binary_data": True} if output.binary else {},
)
client_fault("form-always-binary", "K16", PlainClient.output_parameters)(
    "Every output is asked for as a blob.",
    lambda right, output: {"binary_data": True},
)
client_fault("form-turned-around", "K16", PlainClient.output_parameters)(
    "binary_data is the opposite of what it is.",
    lambda right, output: {name: not value for name, value in right().items()},
)
client_fault("form-as-text", "K16", PlainClient.output_parameters)(
    'binary_data is the string "true" or "false".',
    lambda right, output: {name: str(value).lower() for name, value in right().items()},
)
client_fault("form-of-all-not-sent", "K16", PlainClient.request_parameters)(
    "binary_data_output is not sent.",
    lambda right, call: {},
)
client_fault("form-of-all-as-number", "K16", PlainClient.request_parameters)(
    "binary_data_output is 1 or 0, not a boolean.",
    lambda right, call: {name: int(value) for name, value in right().items()},
)


@client_fault("form-of-all-at-the-outputs", "K16", PlainClient.document)
def _(right: Right[JsonObject], call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
    """binary_data_output is a parameter of each output, where nobody looks for it."""
    document = right()
    moved = right.client.request_parameters(call)
    for entry in document.get("outputs", ()):
        entry["parameters"] = {**entry.get("parameters", {}), **moved}
    return {**document, "parameters": without(document.get("parameters", {}), *moved)}


@client_fault("forms-only-of-the-request", "K16", PlainClient.document)
def _(right: Right[JsonObject], call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
    """With binary_data_output, the outputs' own binary_data is not sent."""
    document = right()
    if call.binary_data_output is not None and "outputs" in document:
        document["outputs"] = [without(entry, "parameters") for entry in document["outputs"]]
    return document


client_fault("outputs-not-named", "K16", PlainClient.document)(
    "The outputs that the caller names are not sent.",
    lambda right, call, blobs: without(right(), "outputs"),
)
client_fault("outputs-only-first", "K16", PlainClient.document)(
    "Only the first named output is asked for.",
    lambda right, call, blobs: right(replace(call, outputs=call.outputs and call.outputs[:1])),
)


def replaces(parameter: str) -> What[JsonObject]:
    """Return what loses the extension's parameter of that name if the caller has any."""

    def what(
        right: Right[JsonObject], own: Mapping[str, object], reserved: object, place: str
    ) -> JsonObject:
        merged = right()
        return dict(own) if own and place == parameter else merged

    return what


client_fault("callers-parameters-over-reserved", "K19", PlainClient.merged)(
    "A parameter of the caller's replaces the extension's of that name.",
    lambda right, own, reserved, place: {**reserved, **own},
)
client_fault("callers-parameters-of-inputs-replace-size", "K19", PlainClient.merged)(
    "An input's own parameters replace its binary_data_size, whatever their names.",
    replaces("binary_data_size"),
)
client_fault("callers-parameters-of-outputs-replace-form", "K19", PlainClient.merged)(
    "An output's own parameters replace its binary_data, whatever their names.",
    replaces("binary_data"),
)
client_fault("callers-parameters-of-the-request-replace-forms", "K19", PlainClient.merged)(
    "The caller's request parameters replace binary_data_output, whatever their names.",
    replaces("binary_data_output"),
)
client_fault("callers-parameters-lost", "K19", PlainClient.merged)(
    "The caller's own parameters are not sent.",
    lambda right, own, reserved, place: dict(right() and reserved),
)
client_fault("callers-parameters-as-text", "K19", PlainClient.merged)(
    "The caller's parameters become strings.",
    lambda right, own, reserved, place: right({name: str(value) for name, value in own.items()}),
)
