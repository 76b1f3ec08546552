"""Checks that a case can ask of a response by name, beyond those for every response."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from v2_conformance.judging.compare import check_no_other_number
from v2_conformance.judging.messages.response import (
    HasFields,
    ReadMessage,
    codings_of,
    declared_sizes,
    read_document,
    validate,
)
from v2_conformance.judging.messages.response_json import (
    check_error_body,
    error_problem,
    parse_noting,
)
from v2_conformance.judging.verdict import Finding, Untested, not_read
from v2_conformance.protocol.message import MessageError
from v2_conformance.protocol.names import EXTENSION, HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import excerpt, printable
from v2_conformance.wire.encode.requests import Prepared
from v2_conformance.wire.response import Response

_SHOWN = 20
_MEDIA_TYPE = re.compile(r"[ \t]*([^\s/;,\"]+)/([^\s/;,\"]+)[ \t]*(?:;.*)?")

Check = Callable[[Prepared, Response, ReadMessage | None], None]
"""Raises Finding if the response to a request does not pass; the message if it was read."""


def apply_checks(
    case: Case, prepared: Prepared, response: Response, message: ReadMessage | None
) -> None:
    """Raise Finding for the first check of `case` that the response does not pass."""
    for name in case.expect.get("checks", ()):
        CHECKS[name](prepared, response, message)


def check_json_type(message: HasFields) -> None:
    """Raise Finding unless the Content-Type is JSON."""
    _check_type(message, f"{JSON_TYPE} or another JSON type", _is_json)


def check_binary_type(message: HasFields) -> None:
    """Raise Finding unless the Content-Type can be that of JSON that blobs follow."""
    _check_type(message, f"{OCTET_STREAM} or another binary type", _is_binary)


def check_data_or_size(outputs: Iterable[Any]) -> None:
    """Raise Finding for an entry of `outputs` that has both data and a size (O11)."""
    for entry in outputs:
        if declared_sizes([entry]) and entry.get("data"):
            raise Finding(kinds.DataAndSize(printable(entry.get("name"), 60)))


def _check_type(message: HasFields, expected: str, fits: Callable[[str, str], bool]) -> None:
    got = next(iter(message.values("content-type")), None)
    named = None if got is None else _MEDIA_TYPE.fullmatch(got.lower())
    if named is None or not fits(named[1], named[2]):
        raise Finding(
            kinds.WrongContentType(expected, None if got is None else printable(got, 200))
        )


def _of_response(check: Callable[[Response], None]) -> Check:
    return lambda _, response, __: check(response)


def _error_status(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    if response.status < 400:
        raise Finding(kinds.AcceptedInvalidRequest(response.status, excerpt(response.body)))


def _error_type(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    if error_problem(response) is not None:
        raise Untested(kinds.InvalidErrorBody(response.status, "not JSON", excerpt(response.body)))
    check_json_type(response)


def _is_json(_: str, subtype: str) -> bool:
    """Return True if a media type is JSON: application/json or one with +json (RFC 6839)."""
    return subtype == "json" or subtype.endswith("+json")


def _is_binary(type_: str, subtype: str) -> bool:
    """Return True if JSON and blobs can have this media type: neither JSON nor text."""
    return type_ not in ("text", "multipart", "message") and not _is_json(type_, subtype)


def _id_echo(prepared: Prepared, _: Response, message: ReadMessage | None) -> None:
    got = None if message is None else message.document.get("id")
    if got != prepared.request_id:
        raise Finding(kinds.WrongId(ascii(prepared.request_id), ascii(got)[:200]))


def _own_id(prepared: Prepared, _: Response, message: ReadMessage | None) -> None:
    got = None if message is None else message.document.get("id")
    if got in prepared.foreign_ids:
        raise Finding(kinds.WrongId(ascii(prepared.request_id), ascii(got)[:200]))


def _model_name(prepared: Prepared, _: Response, message: ReadMessage | None) -> None:
    got = None if message is None else message.document.get("model_name")
    if got is not None and got != prepared.model:
        raise Finding(kinds.WrongModelName(printable(prepared.model), printable(got, 200)))


def _model_name_sent(prepared: Prepared, _: Response, message: ReadMessage | None) -> None:
    if message is None or message.document.get("model_name") is None:
        raise Finding(kinds.WrongModelName(printable(prepared.model), None))


def _model_version(prepared: Prepared, _: Response, message: ReadMessage | None) -> None:
    got = None if message is None else message.document.get("model_version")
    asked = prepared.request.head.target.rpartition("/versions/")[2].partition("/")[0]
    if got not in (None, asked):
        raise Finding(kinds.WrongModelVersion(printable(asked), printable(got, 200)))


def _unique_members(_: Prepared, response: Response, message: ReadMessage | None) -> None:
    end = len(response.body) if message is None else message.parts[0].end
    repeated = parse_noting(response.body[:end])[1]
    if repeated is not None:
        raise Finding(kinds.RepeatedMember(printable(repeated, 60)))


def _data_or_size(_: Prepared, __: Response, message: ReadMessage | None) -> None:
    check_data_or_size(message.document["outputs"] if message else ())


def _one_form(_: Prepared, __: Response, message: ReadMessage | None) -> None:
    names: dict[str, list[str]] = {"binary": [], "json": []}
    for output in message.outputs if message else ():
        names[output.form].append(printable(output.tensor.name, 60))
    if names["binary"] and names["json"]:
        binary, json = (tuple(names[form][:_SHOWN]) for form in ("binary", "json"))
        raise Finding(kinds.MixedForms(binary, json))


def _only_requested(prepared: Prepared, _: Response, message: ReadMessage | None) -> None:
    expected = {item.tensor.name for item in prepared.expected}
    names = [output.tensor.name for output in message.outputs] if message else []
    extra = [printable(name, 60) for name in names if name not in expected]
    if extra:
        raise Finding(kinds.UnrequestedOutputs(tuple(extra[:_SHOWN])))


def _header_length_sent(_: Prepared, response: Response, message: ReadMessage | None) -> None:
    if not response.values(HEADER_LENGTH):
        raise _unless_empty(message, Finding(kinds.HeaderLengthMissing()))


def _binary_type(_: Prepared, response: Response, message: ReadMessage | None) -> None:
    try:
        check_binary_type(response)
    except Finding as finding:
        raise _unless_empty(message, finding) from finding


def _unless_empty(message: ReadMessage | None, finding: Finding) -> Finding:
    """Return what was `finding` of a response, about which nothing is said if it has no blobs (E3):
    every output may be empty, such as the boxes of a detector that finds nothing."""
    if message is None or any(len(output.tensor.blob) for output in message.outputs):
        return finding
    return Untested(finding.cause)


def _no_blob_announced(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    got = response.value(HEADER_LENGTH)
    if got is not None and got != str(len(response.body)):
        raise Finding(kinds.HeaderLengthUnexpected(printable(got, 60)))


def _client_error(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    if response.status < 400 and error_problem(response) is None:  # an unknown one is R1's concern
        raise Untested(kinds.NoErrorToJudge(response.status))
    if not 400 <= response.status < 500:
        raise Finding(kinds.WrongStatus("4xx", response.status, excerpt(response.body)))


def _content_length(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    if response.framing != "content-length":
        raise Finding(kinds.NoContentLength(response.framing))


def _encoded(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    if not codings_of(response):
        raise Untested(kinds.NotEncoded())


def _not_encoded(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    got = codings_of(response)
    if got:
        raise Finding(
            kinds.UnrequestedCoding(tuple(printable(name, 60) for name in got[:_SHOWN]), ())
        )


def _no_other_number(prepared: Prepared, response: Response, _: ReadMessage | None) -> None:
    outputs = {entry["name"]: entry for entry in read_document(response)[0]["outputs"]}
    for item in prepared.expected:
        data = outputs.get(item.tensor.name, {}).get("data")
        if data is not None and item.known:
            check_no_other_number(item.tensor, data)


def _lists_extension(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    try:
        document = parse_noting(response.body)[0]
    except MessageError as error:
        raise not_read(error, kinds.MetadataNotJson(printable(str(error)))) from error
    validate("server_metadata", document)
    if EXTENSION not in document["extensions"]:
        listed = tuple(printable(name, 60) for name in document["extensions"][:_SHOWN])
        raise Finding(kinds.ExtensionNotListed(listed))


CHECKS: dict[str, Check] = {
    "binary_type": _binary_type,
    "json_type": _of_response(check_json_type),
    "error_body": _of_response(check_error_body),
    "error_status": _error_status,
    "error_type": _error_type,
    "model_name": _model_name,
    "model_name_sent": _model_name_sent,
    "model_version": _model_version,
    "unique_members": _unique_members,
    "data_or_size": _data_or_size,
    "one_form": _one_form,
    "id_echo": _id_echo,
    "own_id": _own_id,
    "only_requested": _only_requested,
    "header_length_sent": _header_length_sent,
    "no_blob_announced": _no_blob_announced,
    "client_error": _client_error,
    "content_length_sent": _content_length,
    "encoded": _encoded,
    "not_encoded": _not_encoded,
    "no_other_number": _no_other_number,
    "lists_extension": _lists_extension,
}
"""By the names that `expect.checks` in schemas/case.schema.json allows."""
