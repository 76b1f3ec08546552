"""What a case can ask of a response by name, beyond what every response must fulfil."""

from __future__ import annotations

from collections.abc import Callable

from v2_conformance.judging.response import ReadMessage, codings_of, validate
from v2_conformance.judging.verdict import Finding, Untested
from v2_conformance.protocol.message import MessageError, parse_json
from v2_conformance.protocol.names import EXTENSION, HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_conformance.suite.cases import Case
from v2_conformance.suite.findings import (
    ExtensionNotListed,
    HeaderLengthMissing,
    HeaderLengthUnexpected,
    MetadataNotJson,
    NoContentLength,
    NotEncoded,
    UnrequestedCoding,
    UnrequestedOutputs,
    WrongContentType,
    WrongId,
    WrongStatus,
    excerpt,
    printable,
)
from v2_conformance.wire.encode import Prepared
from v2_conformance.wire.transcript import Response

_SHOWN = 20

Check = Callable[[Prepared, Response, ReadMessage | None], None]
"""Raises Finding if the response to a request does not pass; the message if it was read."""


def apply_checks(
    case: Case, prepared: Prepared, response: Response, message: ReadMessage | None
) -> None:
    """Raise Finding for the first check of `case` that the response does not pass."""
    for name in case.expect.get("checks", ()):
        CHECKS[name](prepared, response, message)


def _typed(expected: str) -> Check:
    def check(prepared: Prepared, response: Response, message: ReadMessage | None) -> None:
        got = response.value("content-type")
        if got is None or got.split(";")[0].strip().lower() != expected:
            raise Finding(WrongContentType(expected, None if got is None else printable(got, 200)))

    return check


def _id_echo(prepared: Prepared, _: Response, message: ReadMessage | None) -> None:
    got = None if message is None else message.document.get("id")
    if got != prepared.request_id:
        raise Finding(WrongId(ascii(prepared.request_id), ascii(got)[:200]))


def _only_requested(prepared: Prepared, _: Response, message: ReadMessage | None) -> None:
    expected = {item.tensor.name for item in prepared.expected}
    names = [output.tensor.name for output in message.outputs] if message else []
    extra = [printable(name, 60) for name in names if name not in expected]
    if extra:
        raise Finding(UnrequestedOutputs(tuple(extra[:_SHOWN])))


def _header_length_sent(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    if not response.values(HEADER_LENGTH):
        raise Finding(HeaderLengthMissing())


def _no_header_length(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    got = response.value(HEADER_LENGTH)
    if got is not None:
        raise Finding(HeaderLengthUnexpected(printable(got, 60)))


def _client_error(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    if not 400 <= response.status < 500:
        raise Finding(WrongStatus("4xx", response.status, excerpt(response.body)))


def _content_length(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    if response.framing != "content-length":
        raise Finding(NoContentLength(response.framing))


def _encoded(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    if not codings_of(response):
        raise Untested(NotEncoded())


def _not_encoded(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    got = codings_of(response)
    if got:
        raise Finding(UnrequestedCoding(tuple(printable(name, 60) for name in got[:_SHOWN]), ()))


def _lists_extension(_: Prepared, response: Response, __: ReadMessage | None) -> None:
    try:
        document = parse_json(response.body)
    except MessageError as error:
        raise Finding(MetadataNotJson(printable(str(error)))) from error
    validate("server_metadata", document)
    if EXTENSION not in document["extensions"]:
        listed = tuple(printable(name, 60) for name in document["extensions"][:_SHOWN])
        raise Finding(ExtensionNotListed(listed))


CHECKS: dict[str, Check] = {
    "octet_stream_type": _typed(OCTET_STREAM),
    "json_type": _typed(JSON_TYPE),
    "id_echo": _id_echo,
    "only_requested": _only_requested,
    "header_length_sent": _header_length_sent,
    "no_header_length": _no_header_length,
    "client_error": _client_error,
    "content_length_sent": _content_length,
    "encoded": _encoded,
    "not_encoded": _not_encoded,
    "lists_extension": _lists_extension,
}
"""By the names that `expect.checks` in schemas/case.schema.json allows."""
