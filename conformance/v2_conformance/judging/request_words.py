"""Requests in words: what was sent, and what is odd about it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from v2_conformance.protocol.names import BINARY_DATA, BINARY_DATA_OUTPUT, HEADER_LENGTH
from v2_conformance.suite.cases import GetCase, RequestCase
from v2_conformance.suite.causes.base import counted, printable_words
from v2_conformance.suite.models import name_of
from v2_conformance.wire.encode.delivery import delivery_words
from v2_conformance.wire.encode.inputs import declared_size, input_entries
from v2_conformance.wire.encode.json_changes import change_words
from v2_conformance.wire.encode.requests import Prepared, appended

_GIVEN = {"both": "both data and a blob", "neither": "neither data nor a blob"}


def describe_request(case: RequestCase | GetCase, prepared: Prepared) -> tuple[str, str]:
    """Return what was sent to which model, and what is odd about it, "" for nothing."""
    if isinstance(case, GetCase):
        return f"sent GET {case.path}", ""
    entries = input_entries(case.request)
    inputs = [f"{entry['shape']} {entry.get('form', 'binary')}" for entry in entries]
    if len(inputs) > 3:
        inputs = [*inputs[:2], f"{len(inputs) - 2} more"]
    blobs = [part.end - part.start for part in prepared.parts if part.kind == "blob"]
    inputs_shown = ", ".join(inputs) or "no inputs"
    text = f"sent to {name_of(case.model)}: {inputs_shown}, {counted(sum(blobs), 'blob byte')}"
    return text, ", ".join(_oddities(case, prepared, entries, blobs))


def _oddities(
    case: RequestCase,
    prepared: Prepared,
    entries: Sequence[Mapping[str, Any]],
    blobs: Sequence[int],
) -> Iterator[str]:
    request, json_given = case.request, case.request.get("json", {})
    if "header_length" in request:
        name = HEADER_LENGTH.lower()
        fields = prepared.request.head.fields
        lines = [ascii(f"{n}: {v}")[1:-1] for n, v in fields if n.lower().startswith(name)]
        yield " and ".join(lines) or f"no {HEADER_LENGTH}"
    yield from _sizes(entries, blobs)
    if case.negative:
        if "version" in request:
            yield f"version {request['version']}"
        yield from _misnamed(request, entries, blobs)
    yield from _tampered(request, prepared)
    if json_given.get("change"):
        yield printable_words(change_words(json_given["change"]), 300)
    if "encoding" in request:
        yield f"Content-Encoding {request['encoding']}"
    if case.variations:
        yield f"in the variation {' + '.join(case.variations)}"
    if "delivery" in request:
        words = delivery_words(request["delivery"], prepared.request.body)
        if words:
            yield words
    if "unread_ms" in request:
        yield f"read only after {request['unread_ms']} ms"
    if "client" in request:
        shown = ", ".join(f"{name} {value}" for name, value in request["client"].items())
        yield f"the client: {ascii(shown.replace('_', ' '))[1:-1]}"


def _sizes(entries: Sequence[Mapping[str, Any]], blobs: Sequence[int]) -> Iterator[str]:
    binary = [entry for entry in entries if entry.get("form", "binary") in ("binary", "both")]
    for entry, true in zip(binary, blobs, strict=False):
        if "size" in entry:
            declared = printable_words(json.dumps(declared_size(entry["size"], true)), 60)
            yield f"binary_data_size {declared} for a blob of {counted(true, 'byte')}"
    for entry in entries:
        if "elements" in entry:
            yield f"{counted(entry['elements'], 'element')} for the shape {entry['shape']}"


def _misnamed(
    request: Mapping[str, Any], entries: Sequence[Mapping[str, Any]], blobs: Sequence[int]
) -> Iterator[str]:
    """Yield what is wrong with what a malformed request declares, gives and asks for."""
    sizes = iter(blobs)
    for entry in entries:
        form = entry.get("form", "binary")
        size = next(sizes, 0) if form in ("binary", "both") else 0
        for member in ("name", "datatype"):
            if member in entry:
                yield f"an input with the {member} {_quoted(entry[member])}"
        if form in _GIVEN and "change" not in request.get("json", {}):
            yield f"an input with {_GIVEN[form]}"
        elif "blob" in entry and "size" not in entry:
            yield f"a blob of {counted(size, 'byte')} for the shape {entry['shape']}"
    outputs = request.get("outputs") or ()
    for output in outputs if isinstance(outputs, Sequence) else ():
        if "name" in output:
            yield f"an output with the name {_quoted(output['name'])}"
        if not isinstance(output.get(BINARY_DATA, True), bool):
            yield f"binary_data {_quoted(output['binary_data'])}"
    of_all = request.get("parameters", {}).get(BINARY_DATA_OUTPUT, True)
    if not isinstance(of_all, bool):
        yield f"binary_data_output {_quoted(of_all)}"
    for where, words in (("before", "before the JSON"), ("after", "after the JSON")):
        if where in request.get("json", {}):
            yield f"{_quoted(request['json'][where])} {words}"
    if "text" in request.get("json", {}):
        yield f"the body {_quoted(request['json']['text'])}"


def _quoted(value: object) -> str:
    return printable_words(json.dumps(value), 60)


def _tampered(request: Mapping[str, Any], prepared: Prepared) -> Iterator[str]:
    body = request.get("body", {})
    if body.get("drop"):
        yield f"{counted(body['drop'], 'byte')} of the body left out"
    if "append" in body:
        yield f"{counted(len(appended(body['append'])), 'byte')} more at the end of the body"
    if "path" in request:
        yield printable_words(request["path"], 100)
    for name in request.get("headers", {}):
        values = " and ".join(value for one, value in prepared.request.head.fields if one == name)
        yield printable_words(f"{name}: {values}", 100)
    if "content_type" in request:
        yield printable_words(f"Content-Type {request['content_type'] or 'left out'}", 100)
