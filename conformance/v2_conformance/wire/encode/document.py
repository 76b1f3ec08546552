"""The JSON of a case's request, tampered with or respelled as the case says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.variations import variation
from v2_conformance.wire.case_data import array, integer, mapping, refuse, text, write_json
from v2_conformance.wire.encode.inputs import Described, EncodedInput
from v2_conformance.wire.encode.json_changes import change_json, changed_json
from v2_conformance.wire.spelling.json import write_spelled

_MEMBERS = ("before", "after", "indent", "text", "change", "fill_to")
_FIRST = ("id", "parameters")  # members of the document, before `inputs`


def encode_document(
    case: RequestCase,
    inputs: Sequence[EncodedInput],
    outputs: Sequence[str],
    model: str,
    rest: int = 0,
) -> bytes:
    """Return the bytes of the JSON, for a `model` whose outputs have the target's names. Raises
    CaseFileError.

    `model` is its name without percent-encoding, `rest` the length of what follows the JSON.
    """
    request = case.request
    given = mapping(request.get("json", {}), "`json`", _MEMBERS)
    if "text" in given:
        refuse(given, set(_MEMBERS) - {"text"}, "`json.text` is all of the JSON")
        return text(given["text"], "`json.text`").encode()
    spelled = [v for v in map(variation, case.variations) if v.kind == "json"]
    indent = integer(given["indent"], "`json.indent`") if "indent" in given else None
    if spelled:
        refuse(given, ("change", "indent"), "a variation writes the JSON")
    if "change" in given:
        body = change_json(_document(request, inputs, outputs), given["change"], indent=indent)
    elif spelled:
        body = write_spelled(_document(request, inputs, outputs), spelled, model)
    elif indent is not None:
        body = write_json(_document(request, inputs, outputs), indent=indent)
    else:
        body = _compact(request, inputs, outputs)
    if "before" in given:
        body = text(given["before"], "`json.before`").encode() + body
    if "after" in given:
        body += text(given["after"], "`json.after`").encode()
    if "fill_to" in given:
        piece = integer(given["fill_to"], "`json.fill_to`", least=1)
        body = body[:-1] + b" " * (-(len(body) + rest) % piece) + body[-1:]
    return body


def check_document(
    request: Mapping[str, Any], inputs: Sequence[EncodedInput], outputs: Sequence[str]
) -> None:
    """Raise CaseFileError if a change of the JSON cannot be made, without making its bytes."""
    change = mapping(request.get("json", {}), "`json`", _MEMBERS).get("change")
    if change is not None:
        changed_json(_document(request, inputs, outputs), change)


def _document(
    request: Mapping[str, Any], inputs: Sequence[EncodedInput], outputs: Sequence[str]
) -> dict[str, Any]:
    document = {name: request[name] for name in _FIRST if name in request}
    document["inputs"] = [item.entry for item in inputs]
    if "outputs" in request:
        document["outputs"] = [output.entry for output in _outputs(request["outputs"], outputs)]
    return document


def _compact(
    request: Mapping[str, Any], inputs: Sequence[EncodedInput], outputs: Sequence[str]
) -> bytes:
    """Return the document as `write_json` writes it, with texts cached that other
    requests share.
    """
    described = None
    if "outputs" in request:
        described = _outputs(request["outputs"], outputs)
    pieces = [b"{"]
    for name in _FIRST:
        if name in request:
            pieces.append(b'"%b":%b,' % (name.encode(), write_json(request[name])))
    pieces.append(b'"inputs":[')
    for position, item in enumerate(inputs):
        if position:
            pieces.append(b",")
        text_of_input = item.described.write()
        if item.data is None:
            pieces.append(text_of_input)
        else:
            pieces += (text_of_input[:-1], b',"data":', *item.data.text, b"}")
    pieces.append(b"]")
    if described is not None:
        pieces.append(b',"outputs":[%b]' % b",".join([output.write() for output in described]))
    pieces.append(b"}")
    return b"".join(pieces)


def _outputs(given: object, names: Sequence[str]) -> list[Described]:
    outputs = []
    for position, entry in enumerate(array(given, "`outputs`")):
        try:
            outputs.append(_output(entry, names))
        except CaseFileError as error:
            raise CaseFileError(f"`outputs[{position}]`: {error}") from error
    return outputs


def _output(entry: object, names: Sequence[str]) -> Described:
    given = mapping(entry, "the entry", ("tensor", "name", "binary_data", "parameters"))
    if "name" in given:
        refuse(given, ("tensor",), "`name` is sent in its place")
        name = text(given["name"], "`name`")
    else:
        most = len(names) - 1
        name = names[integer(given.get("tensor"), "`tensor`", least=0, most=most)]
    binary = given.get("binary_data")
    if "parameters" not in given and type(binary) is bool:
        return _usual(name, binary=binary)
    output: dict[str, Any] = {"name": name}
    parameters = dict(mapping(given.get("parameters", {}), "`parameters`"))
    if "binary_data" in given:
        refuse(parameters, ("binary_data",), "the output has one of its own")
        parameters["binary_data"] = given["binary_data"]
    if parameters or "parameters" in given:
        output["parameters"] = parameters
    return Described(output)


@lru_cache(maxsize=256)
def _usual(name: str, *, binary: bool) -> Described:
    """Return the parts that hundreds of cases of a run share."""
    entry = {"name": name, "parameters": {"binary_data": binary}}
    return Described(entry, write_json(entry))
