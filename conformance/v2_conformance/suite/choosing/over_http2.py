"""Which cases can be sent over HTTP/2, and which are about HTTP/1.1 alone: the one place.

It is told from what a case says, never from its id. Over HTTP/2 a body has no chunks, names are in
lower case, a request is not written in lines, connections are not closed by fields, and the end of
a message is a flag (RFC 9113, section 8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from v2_conformance.suite.cases import Case, ObservedCase, RequestCase
from v2_conformance.suite.http_versions import Http1Feature
from v2_conformance.suite.observations import Observed
from v2_conformance.suite.variations import variation

_OPERATIONS: Mapping[str, Http1Feature] = {
    "absolute_form": "absolute_form",
    "chunks": "chunks",
    "empty_line": "leading_line",
    "field_names": "field_notation",
    "field_space": "field_notation",
    "http_version": "version",
    "pipelined": "pipelining",
    "split_head": "head_in_pieces",
}
_OBSERVED: Mapping[Observed, Http1Feature] = {
    "announced_closes": "connection_closed",
    "chunks": "response_syntax",
    "content_lengths": "response_syntax",
    "field_names": "response_syntax",
    "field_values": "response_syntax",
    "folded_fields": "response_syntax",
    "framing": "response_syntax",
    "interim_responses": "response_syntax",
    "interim_responses_to_http_1_0": "response_syntax",
    "line_ends": "response_syntax",
    "nothing_after": "response_syntax",
    "status_lines": "response_syntax",
    "transfer_codings": "response_syntax",
    "transfer_codings_to_http_1_0": "response_syntax",
}
# RFC 9113, section 8.2.2. TE may only be "trailers".
_OF_THE_CONNECTION = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"}
)


def only_in_http1(case: Case) -> Http1Feature | None:
    """Return what a case is about that only HTTP/1.1 has, None if it can be asked over HTTP/2."""
    if isinstance(case, ObservedCase):
        return _OBSERVED.get(case.observed)
    if isinstance(case, RequestCase):
        return next((f for one in (case, *case.others) for f in _features(one)), None)
    return None


def _features(case: RequestCase) -> Iterator[Http1Feature]:
    request = case.request
    if case.huge:
        yield "streamed_tensor"
    delivery = request.get("delivery")
    if isinstance(delivery, dict) and "chunks" in delivery:
        yield "chunks"
    added = list(request.get("headers", {}).items())
    for name in case.variations:
        given = variation(name)
        if given.operation in _OPERATIONS:
            yield _OPERATIONS[given.operation]
        if given.operation == "fields":
            added += [(name, value) for name, value in given.parameters.get("add", ())]
    yield from _of_fields([*added, *_values(request)])
    yield from _of_client(request.get("client", {}))


def _values(request: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The fields of a request that are members of their own, with their values as far as they are
    written there."""
    for member in ("content_type", "encoding", "accept_encoding"):
        yield member, request.get(member, "")
    lengths = request.get("header_length", {})
    if isinstance(lengths, dict):
        name = lengths.get("name", "header_length")
        for value in (lengths.get("value", ""), *lengths.get("values", ())):
            yield name, value


def _of_fields(fields: list[tuple[str, Any]]) -> Iterator[Http1Feature]:
    for name, value in fields:
        if name != name.strip():
            yield "field_notation"
        if name.lower() in _OF_THE_CONNECTION:
            yield "connection_field"
        if name.lower() == "content-length":
            yield "content_length"
        text = str(value)
        if text != text.strip(" \t") or any(character in text for character in "\r\n\0"):
            yield "field_value"


def _of_client(client: Mapping[str, Any]) -> Iterator[Http1Feature]:
    """Of a client that breaks off: what it does that no frames can do."""
    if client.keys() & {"chunk_size", "chunk_end"}:
        yield "chunks"
    sends = client.get("sends", 0)
    if isinstance(sends, int) and sends < 0:
        yield "head_in_pieces"
    if client.get("then") == "half_closes":
        yield "half_close"
