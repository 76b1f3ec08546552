"""Faults of output selection (O)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from v2_conformance.protocol.datatypes import element_count
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Request
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.reading import SIZE, Call, Wanted
from v2_conformance.suite.models import ModelContract

_ALL = "binary_data_output"
_ONE = "binary_data"


def _says(document: dict[str, Any]) -> Any:
    """The request's `binary_data_output`, None where it has none."""
    return (document.get("parameters") or {}).get(_ALL)


def _of_inputs(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The parameters of the request's inputs, as far as they are objects."""
    inputs = document.get("inputs")
    items = [item for item in inputs if isinstance(item, dict)] if isinstance(inputs, list) else []
    found = [item.get("parameters") for item in items]
    return [parameters for parameters in found if isinstance(parameters, dict)]


@fault(
    "binary-data-true-ignored",
    breaks="O1",
    text="An output with `binary_data` true comes back as JSON.",
)
class _TrueIgnored(Behaviour):
    def output_form(self, parameters: dict[str, Any], default: bool) -> bool:
        return super().output_form(parameters, default) and default


@fault(
    "unflagged-output-binary",
    breaks="O2",
    text="A listed output without `binary_data` is binary.",
)
class _UnflaggedBinary(Behaviour):
    def output_form(self, parameters: dict[str, Any], default: bool) -> bool:
        return super().output_form(parameters, default) or _ONE not in parameters


@fault(
    "binary-data-false-read-as-true",
    breaks="O2",
    text="An output with `binary_data` is binary, whatever its value.",
)
class _FalseReadAsTrue(Behaviour):
    def output_form(self, parameters: dict[str, Any], default: bool) -> bool:
        return super().output_form(parameters, default) or _ONE in parameters


@fault(
    "last-output-flag-decides",
    breaks="O3",
    text="The flag of the last listed output decides for all outputs.",
)
class _LastDecides(Behaviour):
    def output_forms(self, parameters: list[dict[str, Any]], default: bool) -> list[bool]:
        forms = super().output_forms(parameters, default)
        return [forms[-1]] * len(forms)


@fault(
    "first-output-flag-decides",
    breaks="O3",
    text="The flag of the first listed output decides for all outputs.",
)
class _FirstDecides(Behaviour):
    def output_forms(self, parameters: list[dict[str, Any]], default: bool) -> list[bool]:
        forms = super().output_forms(parameters, default)
        return [forms[0]] * len(forms)


@fault(
    "only-last-output-flag-honoured",
    breaks="O3",
    text="Of several listed outputs only the last can be binary.",
)
class _OnlyLastHonoured(Behaviour):
    def output_forms(self, parameters: list[dict[str, Any]], default: bool) -> list[bool]:
        forms = super().output_forms(parameters, default)
        return [default] * (len(forms) - 1) + forms[-1:]


@fault(
    "binary-by-default",
    breaks="O4",
    text="Outputs that the request does not list are binary.",
)
class _BinaryByDefault(Behaviour):
    def default_form(self, document: dict[str, Any]) -> bool:
        default = super().default_form(document)
        return default or not (document.get("outputs") or _says(document) is False)


@fault(
    "binary-answer-to-binary-request",
    breaks="O4",
    text="Outputs that a request with blobs does not list are binary.",
)
class _BinaryAnswer(Behaviour):
    def default_form(self, document: dict[str, Any]) -> bool:
        default = super().default_form(document)
        blobs = any(SIZE in parameters for parameters in _of_inputs(document))
        return default or (blobs and not document.get("outputs") and _says(document) is None)


@fault(
    "binary-data-output-ignored",
    breaks="O5",
    text="`binary_data_output` has no effect.",
)
class _AllIgnored(Behaviour):
    def default_form(self, document: dict[str, Any]) -> bool:
        return super().default_form(document) and False


@fault(
    "binary-data-output-first-only",
    breaks="O5",
    text="`binary_data_output` makes the model's first output binary only.",
)
class _AllMeansFirst(Behaviour):
    def wanted_outputs(self, model: ModelContract, document: dict[str, Any]) -> tuple[Wanted, ...]:
        wanted = super().wanted_outputs(model, document)
        if document.get("outputs"):
            return wanted
        return wanted[:1] + tuple(Wanted(one.name, False) for one in wanted[1:])


@fault(
    "binary-data-false-does-not-override",
    breaks="O7",
    text="`binary_data_output` true makes an output with `binary_data` false binary.",
)
class _FalseDoesNotOverride(Behaviour):
    def output_form(self, parameters: dict[str, Any], default: bool) -> bool:
        return super().output_form(parameters, default) or default


@fault(
    "binary-data-true-does-not-override",
    breaks="O8",
    text="`binary_data_output` false makes an output with `binary_data` true JSON.",
)
class _TrueDoesNotOverride(Behaviour):
    def wanted_outputs(self, model: ModelContract, document: dict[str, Any]) -> tuple[Wanted, ...]:
        wanted = super().wanted_outputs(model, document)
        if _says(document) is not False:
            return wanted
        return tuple(Wanted(one.name, False) for one in wanted)


@fault(
    "repeated-output-one-blob",
    breaks="O9",
    text="An output asked for twice is listed twice, but has one blob.",
)
class _RepeatedOneBlob(Behaviour):
    def repeated_output(self, names: list[str]) -> None:
        return None

    def response_blob_order(
        self, model: ModelContract, wanted: Sequence[Wanted]
    ) -> Sequence[Wanted]:
        return tuple(dict.fromkeys(super().response_blob_order(model, wanted)))


def _without(member: str) -> type[Behaviour]:
    """A server whose binary outputs lack a member."""

    class Without(Behaviour):
        def output_entry(self, tensor: Tensor, binary: bool) -> dict[str, Any]:
            entry = super().output_entry(tensor, binary)
            if binary:
                entry.pop(member, None)
            return entry

    return Without


for _member, _word in (
    ("parameters", "size"),
    ("shape", "shape"),
    ("datatype", "datatype"),
    ("name", "name"),
):
    fault(f"binary-output-without-{_word}", breaks="O10", text=f"A binary output has no {_word}.")(
        _without(_member)
    )


@fault("output-size-as-string", breaks="O10", text="The size of a binary output is a string.")
class _SizeAsString(Behaviour):
    def output_entry(self, tensor: Tensor, binary: bool) -> dict[str, Any]:
        entry = super().output_entry(tensor, binary)
        if binary:
            entry["parameters"] = {SIZE: str(entry["parameters"][SIZE])}
        return entry


@fault(
    "output-size-counts-elements",
    breaks="O10",
    text="The size of a binary output is its number of elements.",
)
class _SizeCountsElements(Behaviour):
    def output_size(self, tensor: Tensor) -> int:
        return element_count(tensor.shape)


@fault(
    "binary-output-with-data",
    breaks="O11",
    text="A binary output has `data` too.",
)
class _BinaryWithData(Behaviour):
    def output_entry(self, tensor: Tensor, binary: bool) -> dict[str, Any]:
        entry = super().output_entry(tensor, binary)
        return entry | {"data": []} if binary else entry


@fault(
    "json-output-with-size",
    breaks="O11",
    text="An output in JSON has a size too.",
)
class _JsonWithSize(Behaviour):
    def output_entry(self, tensor: Tensor, binary: bool) -> dict[str, Any]:
        entry = super().output_entry(tensor, binary)
        return entry if binary else entry | {"parameters": {SIZE: self.output_size(tensor)}}


@fault(
    "response-blobs-in-model-order",
    breaks="O12",
    text="Response blobs are in the order of the model's outputs, the JSON in the requested one.",
)
class _BlobsInModelOrder(Behaviour):
    def response_blob_order(
        self, model: ModelContract, wanted: Sequence[Wanted]
    ) -> Sequence[Wanted]:
        order = {spec.name: place for place, spec in enumerate(model.outputs)}
        return sorted(wanted, key=lambda one: order[one.name])


@fault(
    "all-outputs-returned",
    breaks="O13",
    text="Outputs that were not asked for come back too.",
)
class _AllReturned(Behaviour):
    def wanted_outputs(self, model: ModelContract, document: dict[str, Any]) -> tuple[Wanted, ...]:
        wanted = super().wanted_outputs(model, document)
        listed = {one.name for one in wanted}
        default = self.default_form(document)
        others = (spec.name for spec in model.outputs if spec.name not in listed)
        return (*wanted, *(Wanted(name, default) for name in others))


@fault(
    "unknown-output-ignored",
    breaks="O14",
    text="An output that the model does not have is left out.",
)
class _UnknownIgnored(Behaviour):
    def wanted_outputs(self, model: ModelContract, document: dict[str, Any]) -> tuple[Wanted, ...]:
        known = {spec.name for spec in model.outputs}
        listed = document.get("outputs")
        if isinstance(listed, list):
            kept = [item for item in listed if not _names_another(item, known)]
            document = document | {"outputs": kept}
        return super().wanted_outputs(model, document)


def _names_another(item: object, known: set[str]) -> bool:
    name = item.get("name") if isinstance(item, dict) else None
    return isinstance(name, str) and name not in known


@fault(
    "flag-on-input-obeyed",
    breaks="O15",
    text="`binary_data_output` on an input makes all outputs binary.",
)
class _FlagOnInputObeyed(Behaviour):
    def default_form(self, document: dict[str, Any]) -> bool:
        default = super().default_form(document)
        return default or any(parameters.get(_ALL) is True for parameters in _of_inputs(document))


@fault(
    "flags-by-truth",
    breaks="O16",
    text="Any value that is not false, null, 0 or empty counts as true.",
)
class _FlagsByTruth(Behaviour):
    def flag(self, parameters: dict[str, Any], name: str, *, default: bool) -> bool:
        return bool(parameters.get(name, default))


@fault(
    "id-lost-on-binary-response",
    breaks="O18",
    text="A response with binary outputs has no `id`.",
)
class _IdLost(Behaviour):
    def response_document(
        self, model: ModelContract, call: Call, entries: list[dict[str, Any]]
    ) -> dict[str, Any]:
        document = super().response_document(model, call, entries)
        if any(one.binary for one in call.wanted):
            document.pop("id", None)
        return document


@fault(
    "id-made-up",
    breaks="O18",
    text="A response has an `id` of the server's own.",
)
class _IdMadeUp(Behaviour):
    def read_call(self, model: ModelContract, request: Request, length: int | None) -> Call:
        call = super().read_call(model, request, length)
        return Call(call.inputs, call.wanted, "1")
