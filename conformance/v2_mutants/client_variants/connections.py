"""Legal ways to use connections."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import requests

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.task import Call
from v2_mutants.registry import Right, client_variant

_KEPT = "K7 K34 K36; RFC 9112, section 9.3: no connection has to be kept"


@client_variant("chunked-requests", "K1 K18 K30 K33; RFC 9112, section 7.1", PlainClient.prepared)
def _(
    right: Right[requests.PreparedRequest], call: Call, fields: Mapping[str, str], body: bytes
) -> requests.PreparedRequest:
    """Requests are sent in chunks."""
    return right(body=iter([body[:7], body[7:]]))


@client_variant("asks-to-close", _KEPT, PlainClient.exchange)
def _(right: Right[Answer], call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
    """Each request asks to close its connection."""
    return right(fields={**fields, "Connection": "close"})


@client_variant("a-connection-for-each-request", _KEPT, PlainClient.send)
def _(right: Right[requests.Response], prepared: requests.PreparedRequest) -> requests.Response:
    """Each request has a connection of its own, though it does not say so."""
    right.client.session.close()
    return right()


@client_variant("closes-after-errors", "K29 K36 K39; RFC 9112, section 9.3", PlainClient.exchange)
def _(right: Right[Answer], call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
    """A connection is closed after an error."""
    answer = right()
    if answer.status >= 400:
        right.client.session.close()
    return answer


@client_variant(
    "tries-again-after-503", "K31 K39; K31: or try again after Retry-After", PlainClient.exchange
)
def _(right: Right[Answer], call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
    """After a 503 with Retry-After the client waits and tries once more."""
    answer = right()
    after = answer.fields.get("Retry-After", "")
    if answer.status == 503 and after.isdigit() and int(after) < 3:
        time.sleep(int(after))
        return right()
    return answer


client_variant(
    "impatient",
    "K7 K32; K32: within the caller's time, which may be shorter",
    PlainClient.time_limit,
)(
    "The client waits for half of the caller's time.",
    lambda right: (right() or 2) / 2,
)


@client_variant(
    "reads-byte-by-byte",
    "K4 K7 K26; RFC 9112, section 6.3: only lengths count",
    PlainClient.received,
)
def _(right: Right[bytes], response: Any) -> bytes:
    """A body is read in small pieces."""
    read = response.raw.read
    response.raw.read = lambda amount, **how: read(min(amount, 61), **how)
    return right()
