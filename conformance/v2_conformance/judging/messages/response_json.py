"""Parses responses' JSON, which may be millions of hostile values, and reads that of errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from v2_conformance.judging.verdict import Finding, Unread, not_read
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import (
    MessageError,
    check_depth,
    occurrences,
    parse_json_noting,
)
from v2_conformance.resources import fits, schema
from v2_conformance.suite.causes.base import excerpt, printable
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import ConnectionClosed, InvalidErrorBody, SchemaViolation
from v2_conformance.wire.response import Response

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

_MOST_ENTRIES = 200_000
"""Arrays, objects and members that a response may have. Tensors of that many dimensions of data, or
outputs, are in no case; each takes some hundred bytes of memory."""
_MOST_STRINGS = 1_000_000  # four bytes of a BYTES tensor each, in the longest one
_MOST_NUMBERS = 1_500_000  # a MiB of one-byte elements, and some
_SHORT = 32 * 1024  # bytes; longer ones are not cached
_BYTES_FOR_EACH = 8  # beyond that: for a tensor of 64 MiB, the largest possible answer
# A string without an end goes on to the end; otherwise each quote in it would be tried as a start.
_STRING_OR_MARK = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{:,]', re.DOTALL)


def parse_noting(data: Buffer) -> tuple[dict[str, Any], str | None]:
    """Parse as parse_json_noting does. The result is shared and must not be changed: an answer is
    judged, and later observed with all others. Also raises MessageError for more values than any
    response needs.
    """
    raw = bytes(data)
    return _parse_again(raw) if len(raw) <= _SHORT else _parse(raw)


def _parse(raw: bytes) -> tuple[dict[str, Any], str | None]:
    _check_number_of_values(raw)
    return parse_json_noting(raw)


_parse_again = lru_cache(maxsize=16)(_parse)


def _check_number_of_values(raw: bytes) -> None:
    size = len(raw)
    if size <= _MOST_ENTRIES:  # each takes a byte at least
        return
    most = max(_MOST_NUMBERS, size // _BYTES_FOR_EACH)
    if (
        occurrences(raw, "[{:") <= _MOST_ENTRIES
        and (size <= 2 * _MOST_STRINGS or occurrences(raw, '"') <= 2 * _MOST_STRINGS)
        and (size <= most or occurrences(raw, ",") <= most)
    ):
        return
    entries = strings = commas = 0
    # Strings may have any of these characters. Latin-1, in which all bytes are some character.
    for match in _STRING_OR_MARK.finditer(raw.decode("latin-1")):
        mark = match[0][0]
        if mark == '"':
            strings += 1
        elif mark == ",":
            commas += 1
        else:
            entries += 1
        if entries > _MOST_ENTRIES or strings > _MOST_STRINGS or commas > most:
            check_depth(raw, raw.decode("latin-1"))  # deep JSON is left unread, and decides nothing
            raise MessageError("the JSON has more values than any response needs")


# No error needs more; longer bodies are not parsed a second time to look for one.
_LONGEST = 64 * 1024


def check_error_body(response: Response) -> None:
    """Raise Finding unless the body of an error is {"error": string} (R2).

    One that a reset cut off shows nothing.
    """
    if not response.whole:
        raise Unread(ConnectionClosed(len(response.body), "in the body of an error"))
    try:
        document, _ = parse_noting(response.body)
    except MessageError as error:
        shown = excerpt(response.body)
        problem = printable(str(error))
        raise not_read(error, InvalidErrorBody(response.status, problem, shown)) from error
    result = violation("error", document)
    if result is not None:
        shown = excerpt(response.body)
        raise Finding(InvalidErrorBody(response.status, result.problem, shown))


def error_problem(response: Response) -> Cause | None:
    """Return what is wrong with the body of an error, None if it is {"error": string}."""
    try:
        check_error_body(response)
    except Finding as finding:
        return finding.cause
    return None


def is_error(response: Response) -> bool:
    """Return True if a response says that the request failed: by its status or, wrongly, only in
    its body.

    A 2xx with {"error": string} is the defect that R1 is about. Every other case treats it as a
    rejection.
    """
    if response.status >= 300:
        return response.status >= 400
    if len(response.body) > _LONGEST or b'"error"' not in bytes(response.body):
        return False
    return error_problem(response) is None and b'"outputs"' not in bytes(response.body)


def violation(name: str, document: Mapping[str, Any]) -> SchemaViolation | None:
    """Return where `document` violates schemas/NAME.schema.json, None if it does not."""
    if fits(name, document):
        return None
    validator: Draft202012Validator = schema(name)
    error = next(iter(validator.iter_errors(document)), None)
    if error is None:
        return None
    where = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in error.absolute_path)
    problem = printable(_in_json(error.message, error.instance), 200)
    return SchemaViolation(name, printable(f"${where}", 200), problem)


def _in_json(message: str, instance: object) -> str:
    """Return what the validator says, which begins with many instances, with the instance as JSON:
    true is not True."""
    python = repr(instance)
    if not message.startswith(python):
        return message
    return json.dumps(instance) + message.removeprefix(python)
