"""The JSON of a case's request, tampered with or respelled as the case says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.message import dump_json
from v2_conformance.protocol.names import BINARY_DATA, HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.variations import variation
from v2_conformance.wire.encode.inputs import EncodedInput
from v2_conformance.wire.encode.json_changes import change_json
from v2_conformance.wire.spelling.json import write_spelled

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
    given = request.get("json", {})
    if "text" in given:
        return str(given["text"]).encode()
    spelled = [v for v in map(variation, case.variations) if v.kind == "json"]
    indent = given.get("indent")
    if spelled and not {"change", "indent"}.isdisjoint(given):
        raise CaseFileError("`json`: no change or indent with a variation that writes the JSON")
    body = _compact(request, inputs, outputs)
    if "change" in given:
        body = change_json(body, given["change"], indent=indent)
    elif spelled:
        body = write_spelled(json.loads(body), spelled, model)
    elif indent is not None:
        body = dump_json(json.loads(body), indent)
    before, after = (str(given.get(name, "")).encode() for name in ("before", "after"))
    body = before + body + after
    if "fill_to" in given:
        body = body[:-1] + b" " * (-(len(body) + rest) % given["fill_to"]) + body[-1:]
    return body


def _compact(
    request: Mapping[str, Any], inputs: Sequence[EncodedInput], outputs: Sequence[str]
) -> bytes:
    """Return the document as `dump_json` writes it, with the text of data that is known already."""
    pieces = [b"{"]
    for name in _FIRST:
        if name in request:
            pieces.append(b'"%b":%b,' % (name.encode(), dump_json(request[name])))
    pieces.append(b'"inputs":[')
    for position, item in enumerate(inputs):
        if position:
            pieces.append(b",")
        head = dump_json(item.head)
        pieces += [head] if item.data is None else [head[:-1], b',"data":', item.data, b"}"]
    pieces.append(b"]")
    if "outputs" in request:
        pieces.append(b',"outputs":' + dump_json(_outputs(request["outputs"], outputs)))
    pieces.append(b"}")
    return b"".join(pieces)


def _outputs(given: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    outputs = []
    for entry in given:
        if "tensor" in entry and entry["tensor"] >= len(names):
            raise CaseFileError(f"`outputs`: the model has no output {entry['tensor']}")
        output = {"name": entry["name"] if "name" in entry else names[entry["tensor"]]}
        flag = {BINARY_DATA: entry[BINARY_DATA]} if BINARY_DATA in entry else {}
        parameters = {**entry.get("parameters", {}), **flag}
        if parameters or "parameters" in entry:
            output["parameters"] = parameters
        outputs.append(output)
    return outputs


_LENGTH = re.compile(r"\$\{(length|blobs|body)([+-]\d+)?(?::([a-z]+))?\}")
_TRUE_LENGTH = "${length}"
_DIGITS = "0123456789"
# Ways to write a number other than plain decimal digits.
_NOTATIONS: Mapping[str, Callable[[int], str]] = {
    "hex": hex,
    "digits": lambda n: f"{n:x}",
    "octal": lambda n: f"0{n:o}",
    "spaced": lambda n: f"{str(n)[:-1]} {n % 10}",
    "grouped": lambda n: f"{str(n)[:-1]}_{n % 10}",
    "exponent": lambda n: f"{n / 100:g}e2",
    "arabic": lambda n: str(n).translate(str.maketrans(_DIGITS, "٠١٢٣٤٥٦٧٨٩")),
    "fullwidth": lambda n: str(n).translate(str.maketrans(_DIGITS, "０１２３４５６７８９")),
}


def message_fields(
    given: Mapping[str, Any],
    length: int,
    blobs: int,
    codings: Iterable[tuple[str, str]],
    *,
    binary: bool,
) -> list[tuple[str, str]]:
    """Return Content-Type, the header length for these bytes of JSON and blobs, `codings`, and the
    case's own fields. Raises CaseFileError.

    Type and header length are those of binary data as soon as a tensor is in binary form, even if
    its blob is empty: no document allows leaving them out, so a reader may rely on them.
    """
    fields: list[tuple[str, str]] = []
    content_type = given.get("content_type", OCTET_STREAM if binary else JSON_TYPE)
    if content_type is not None:
        fields.append(("Content-Type", content_type))
    lengths = given.get("header_length", {} if binary else "absent")
    if lengths != "absent":
        name = lengths.get("name", HEADER_LENGTH)
        values = lengths.get("values", [lengths.get("value", _TRUE_LENGTH)])
        fields += [(name, _computed(value, length, blobs)) for value in values]
    fields += codings
    headers = given.get("headers", {})
    fields += [(name, _computed(value, length, blobs)) for name, value in headers.items()]
    return fields


def _computed(value: str, length: int, blobs: int) -> str:
    if value == _TRUE_LENGTH:
        return str(length)
    known = {"length": length, "blobs": blobs, "body": length + blobs}

    def write(match: re.Match[str]) -> str:
        number = known[match[1]] + int(match[2] or 0)
        notation = _NOTATIONS.get(match[3] or "", str)
        return match[0] if match[3] and match[3] not in _NOTATIONS else notation(number)

    computed = _LENGTH.sub(write, value)
    if "${" in computed:
        raise CaseFileError(
            f"{value[:60]!a}: expected ${{length}}, ${{blobs}} or ${{body}}, with +n or -n or a "
            "notation in it at most"
        )
    return computed
