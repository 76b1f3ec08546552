"""Faults of telling members, parameters and fields from those that look like them (V1, V2), and of
members in an order that is not the usual one (V1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import JsonObject, RequestOutput
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.spellings import refuses_json
from v2_mutants.registry import Right, What, fault, then

_MEMBERS = ("id", "parameters", "inputs", "outputs", "name", "shape", "datatype", "data")
_PARAMETERS = ("binary_data", "binary_data_size", "binary_data_output")


def _reads_names(known: tuple[str, ...], plain: Callable[[str], str]) -> What[JsonObject]:
    """A server that compares names of members after `plain`: the first with a name counts."""

    def read(value: Any) -> Any:
        if isinstance(value, list):
            return [read(item) for item in value] if isinstance([*value, 0][0], dict) else value
        if not isinstance(value, dict):
            return value
        result: JsonObject = {}
        for name, item in value.items():
            result.setdefault(plain(name) if plain(name) in known else name, read(item))
        return result

    return then(lambda document, text: read(document))


fault("names-in-any-case", "V1", Behaviour.parse_document)(
    "Names of members are compared without their case, and the first of two counts.",
    _reads_names(_MEMBERS, str.lower),
)
fault("names-up-to-an-underscore", "V1", Behaviour.parse_document)(
    "An underscore at the end of a member's name is ignored, and the first of two counts.",
    _reads_names(_MEMBERS, lambda name: name.rstrip("_")),
)
fault("parameters-in-any-spelling", "V1", Behaviour.parse_document)(
    "Hyphens and capitals in a parameter's name are ignored, and the first of two counts.",
    _reads_names(_PARAMETERS, lambda name: name.lower().replace("-", "_")),
)


fault("datatype-behind-data-and-shape-refused", "V1", Behaviour.parse_document)(
    "An input with its name, shape and data before its datatype is rejected.",
    refuses_json(
        lambda text, document: any(
            [name for name in entry if name in ("name", "shape", "datatype", "data")]
            == ["name", "shape", "data", "datatype"]
            for entry in document.get("inputs", [])
            if isinstance(entry, dict)
        )
    ),
)


@fault("empty-parameters-of-output-are-binary", "V1", Behaviour.request_outputs)
def _(
    right: Right[tuple[RequestOutput, ...]], model: ModelContract, document: JsonObject
) -> tuple[RequestOutput, ...]:
    """A listed output with empty parameters is binary."""
    listed = document.get("outputs") or [{}] * len(right())
    return tuple(
        RequestOutput(output.name, output.binary or item.get("parameters") == {})
        for output, item in zip(right(), listed, strict=True)
    )


fault("empty-parameters-of-request-are-binary", "V1", Behaviour.binary_by_default)(
    "Outputs that are not listed are binary if the request's parameters are empty.",
    lambda right, document: (
        right() or (document.get("parameters") == {} and not document.get("outputs"))
    ),
)


def _reads_field(is_length: Callable[[str], bool]) -> What[list[str]]:
    """A server that takes the last field whose name looks like that of the header length."""
    return then(
        lambda values, request: (
            [value for name, value in request.headers if is_length(name.lower())][-1:] or values
        )
    )


for _name, _text, _is_length in (
    ("header-length-found-by-its-end",
     "A field whose name ends with that of the header length is taken for it.",
     lambda name: name.endswith(HEADER_LENGTH.lower())),
    ("header-length-with-underscores",
     "A field is the header length with underscores in its name, too.",
     lambda name: name.replace("_", "-") == HEADER_LENGTH.lower()),
):  # fmt: skip
    fault(_name, "V2", Behaviour.header_length_values)(_text, _reads_field(_is_length))
