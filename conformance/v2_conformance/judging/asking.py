"""Requests in words: what was sent, and what is odd about it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.cases import GetCase, RequestCase
from v2_conformance.suite.causes.base import counted, printable_words
from v2_conformance.suite.models import ROLE
from v2_conformance.wire.encode.delivery import delivery_words
from v2_conformance.wire.encode.inputs import declared_size, input_entries
from v2_conformance.wire.encode.json_changes import change_words
from v2_conformance.wire.encode.requests import Prepared

# What a plain request and its inputs lack; shown as the case file has it.
_ODD = ("json", "body", "path", "headers", "content_type", "unread_ms", "client")
_ODD_IF_NEGATIVE = ("outputs", "parameters")
_ODD_OF_INPUTS = ("name", "datatype", "elements", "blob")


def describe_request(case: RequestCase | GetCase, prepared: Prepared) -> tuple[str, str]:
    """Return to which model what was sent, and what is odd about it, "" for nothing."""
    if isinstance(case, GetCase):
        return f"sent GET {case.path}", ""
    entries = input_entries(case.request)
    inputs = [f"{entry['shape']} {entry.get('form', 'binary')}" for entry in entries]
    if len(inputs) > 3:
        inputs = [*inputs[:2], f"{len(inputs) - 2} more"]
    blobs = [part.end - part.start for part in prepared.parts if part.kind == "blob"]
    model = case.model.removeprefix(ROLE)
    inputs_shown = ", ".join(inputs) or "no inputs"
    text = f"sent to {model}: {inputs_shown}, {counted(sum(blobs), 'blob byte')}"
    return text, ", ".join(_oddities(case, prepared, entries, blobs))


def _oddities(
    case: RequestCase,
    prepared: Prepared,
    entries: Sequence[Mapping[str, Any]],
    blobs: Sequence[int],
) -> Iterator[str]:
    request = dict(case.request)
    if "header_length" in request:
        fields = prepared.request.head.fields
        sent = [f"{n}: {v}" for n, v in fields if n.lower().startswith(HEADER_LENGTH.lower())]
        yield printable_words(" and ".join(sent), 200) or f"no {HEADER_LENGTH}"
    binary = [entry for entry in entries if entry.get("form", "binary") in ("binary", "both")]
    for entry, true in zip(binary, blobs, strict=False):
        if "size" in entry:
            declared = _shown(declared_size(entry["size"], true))
            yield f"binary_data_size {declared} for a blob of {counted(true, 'byte')}"
    for entry in entries:
        for name in _ODD_OF_INPUTS:
            if name in entry:
                yield f"an input with {name} {_shown(entry[name])}"
    if "change" in request.get("json", {}):
        yield printable_words(change_words(request.pop("json")["change"]), 300)
    if "encoding" in request:
        yield f"Content-Encoding {request['encoding']}"
    if case.variations:
        yield f"in the variation {' + '.join(case.variations)}"
    if "delivery" in request:
        words = delivery_words(request["delivery"], prepared.request.body)
        if words:
            yield words
    for name in (*_ODD, *(_ODD_IF_NEGATIVE if case.negative else ())):
        if name in request:
            yield f"{name} {_shown(request[name])}"


def _shown(value: object) -> str:
    return printable_words(json.dumps(value), 100)
