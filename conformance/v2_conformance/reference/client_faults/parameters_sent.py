"""Faults of the parameters and outputs that a client asks for (K16), and of the caller's (K19)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.requests_made import JsonObject
from v2_conformance.reference.client.task import Call, CallerOutput
from v2_conformance.reference.client_faults.registry import client_fault


@client_fault(
    "form-false-left-out",
    breaks="K16",
    text="binary_data false is left out, so that binary_data_output decides.",
)
class _FalseLeftOut(PlainClient):
    def output_parameters(self, output: CallerOutput) -> JsonObject:
        return {"binary_data": True} if output.binary else {}


@client_fault("form-always-binary", breaks="K16", text="Every output is asked for as a blob.")
class _AlwaysBinary(PlainClient):
    def output_parameters(self, output: CallerOutput) -> JsonObject:
        return {"binary_data": True}


@client_fault("form-turned-around", breaks="K16", text="binary_data is the opposite of what it is.")
class _TurnedAround(PlainClient):
    def output_parameters(self, output: CallerOutput) -> JsonObject:
        return {} if output.binary is None else {"binary_data": not output.binary}


@client_fault("form-as-text", breaks="K16", text='binary_data is the string "true" or "false".')
class _AsText(PlainClient):
    def output_parameters(self, output: CallerOutput) -> JsonObject:
        return {} if output.binary is None else {"binary_data": str(output.binary).lower()}


@client_fault("form-of-all-not-sent", breaks="K16", text="binary_data_output is not sent.")
class _OfAllNotSent(PlainClient):
    def request_parameters(self, call: Call) -> JsonObject:
        return {}


@client_fault(
    "form-of-all-as-number", breaks="K16", text="binary_data_output is 1 or 0, not a boolean."
)
class _OfAllAsNumber(PlainClient):
    def request_parameters(self, call: Call) -> JsonObject:
        return {name: int(value) for name, value in super().request_parameters(call).items()}


@client_fault(
    "form-of-all-at-the-outputs",
    breaks="K16",
    text="binary_data_output is a parameter of each output, where nobody looks for it.",
)
class _OfAllAtTheOutputs(PlainClient):
    def document(self, call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
        document = super().document(call, blobs)
        moved = self.request_parameters(call)
        for entry in document.get("outputs", ()):
            entry["parameters"] = {**entry.get("parameters", {}), **moved}
        document["parameters"] = {
            name: value
            for name, value in document.get("parameters", {}).items()
            if name not in moved
        }
        return document


@client_fault(
    "forms-only-of-the-request",
    breaks="K16",
    text="With binary_data_output, the outputs' own binary_data is not sent.",
)
class _OnlyOfTheRequest(PlainClient):
    def document(self, call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
        document = super().document(call, blobs)
        if call.binary_data_output is not None:
            for entry in document.get("outputs", ()):
                entry.pop("parameters", None)
        return document


@client_fault(
    "outputs-not-named", breaks="K16", text="The outputs that the caller names are not sent."
)
class _NotNamed(PlainClient):
    def document(self, call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
        document = super().document(call, blobs)
        document.pop("outputs", None)
        return document


@client_fault("outputs-only-first", breaks="K16", text="Only the first named output is asked for.")
class _OnlyFirst(PlainClient):
    def document(self, call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
        document = super().document(call, blobs)
        if "outputs" in document:
            document["outputs"] = document["outputs"][:1]
        return document


# --- the caller's own parameters --------------------------------------------------------------


@client_fault(
    "callers-parameters-over-reserved",
    breaks="K19",
    text="A parameter of the caller's replaces the extension's of that name.",
)
class _OverReserved(PlainClient):
    def merged(
        self, own: Mapping[str, object], reserved: Mapping[str, object], *names: str
    ) -> JsonObject:
        return {**reserved, **own}


@client_fault(
    "callers-parameters-of-inputs-replace-size",
    breaks="K19",
    text="An input's own parameters replace its binary_data_size, whatever their names.",
)
class _ReplaceSize(PlainClient):
    def merged(
        self, own: Mapping[str, object], reserved: Mapping[str, object], *names: str
    ) -> JsonObject:
        merged = super().merged(own, reserved, *names)
        return dict(own) if own and "binary_data_size" in names else merged


@client_fault(
    "callers-parameters-of-outputs-replace-form",
    breaks="K19",
    text="An output's own parameters replace its binary_data, whatever their names.",
)
class _ReplaceForm(PlainClient):
    def merged(
        self, own: Mapping[str, object], reserved: Mapping[str, object], *names: str
    ) -> JsonObject:
        merged = super().merged(own, reserved, *names)
        return dict(own) if own and "binary_data" in names else merged


@client_fault(
    "callers-parameters-of-the-request-replace-forms",
    breaks="K19",
    text="The caller's request parameters replace binary_data_output, whatever their names.",
)
class _ReplaceFormOfAll(PlainClient):
    def merged(
        self, own: Mapping[str, object], reserved: Mapping[str, object], *names: str
    ) -> JsonObject:
        merged = super().merged(own, reserved, *names)
        return dict(own) if own and not names else merged


@client_fault(
    "callers-parameters-lost", breaks="K19", text="The caller's own parameters are not sent."
)
class _Lost(PlainClient):
    def merged(
        self, own: Mapping[str, object], reserved: Mapping[str, object], *names: str
    ) -> JsonObject:
        return dict(super().merged(own, reserved, *names) and reserved)


@client_fault(
    "callers-parameters-as-text", breaks="K19", text="The caller's parameters become strings."
)
class _AsStrings(PlainClient):
    def merged(
        self, own: Mapping[str, object], reserved: Mapping[str, object], *names: str
    ) -> JsonObject:
        as_text: dict[str, Any] = {name: str(value) for name, value in own.items()}
        return {**super().merged(own, reserved, *names), **as_text, **reserved}
