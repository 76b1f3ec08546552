"""Faults of messages longer than some limit: 4 KiB, 64 KiB, 1 MiB, 16 MiB (K1, K3, K14, K40)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_mutants.changes import fail
from v2_mutants.registry import Right, What, client_fault

LIMITS = {"4-kib": 1 << 12, "64-kib": 1 << 16, "1-mib": 1 << 20, "16-mib": 1 << 24}


def cut(most: int) -> What[JsonObject]:
    """Return what reads no more than the first bytes of a response's JSON."""

    def what(right: Right[JsonObject], text: bytes) -> JsonObject:
        return right(text[:most])

    return what


def refused_over(most: int) -> What[bytes]:
    """Return what takes bytes beyond a limit for an error."""

    def what(right: Right[bytes], *_: object) -> bytes:
        data = right()
        return data if len(data) <= most else fail("the message is too long")

    return what


def cut_body(most: int) -> What[bytes]:
    """Return what sends no more than the first bytes of a body."""

    def what(right: Right[bytes], text: bytes, blobs: Sequence[bytes]) -> bytes:
        return right()[:most]

    return what


client_fault("header-length-in-16-bits", "K1", PlainClient.header_length)(
    "The header length has 16 bits.",
    lambda right, text, blobs: str(len(text) % (1 << 16)) if blobs else None,
)
client_fault("header-length-at-most-4096", "K1", PlainClient.header_length)(
    "The header length is that of a buffer of 4 KiB.",
    lambda right, text, blobs: str(min(len(text), 1 << 12)) if blobs else None,
)
for _name in ("4-kib", "64-kib"):
    client_fault(f"json-read-up-to-{_name}", "K3", PlainClient.parse)(
        f"Of a response's JSON no more than {_name} are read.",
        cut(LIMITS[_name]),
    )
client_fault("json-sent-up-to-64-kib", "K40", PlainClient.dump)(
    "JSON of more than 64 KiB is not sent.",
    refused_over(LIMITS["64-kib"]),
)
for _name in ("1-mib", "16-mib"):
    client_fault(f"request-cut-at-{_name}", "K40", PlainClient.body)(
        f"A request is cut after {_name}.",
        cut_body(LIMITS[_name]),
    )
    client_fault(f"response-refused-over-{_name}", "K40", PlainClient.received)(
        f"A response of more than {_name} is an error.",
        refused_over(LIMITS[_name]),
    )
client_fault("elements-cut-at-1-mib", "K40", PlainClient.elements)(
    "A BYTES element is cut after 1 MiB.",
    lambda right, array: [element[: LIMITS["1-mib"]] for element in right()],
)
client_fault("more-than-16-outputs-refused", "K14", PlainClient.outputs)(
    "A response of more than 16 outputs is an error.",
    lambda right, call, entries, blobs: right() if len(entries) <= 16 else fail("too many outputs"),
)
client_fault("more-than-16-inputs-refused", "K14", PlainClient.inferred)(
    "A request of more than 16 inputs is an error.",
    lambda right, call: right() if len(call.inputs) <= 16 else fail("too many inputs"),
)
client_fault("rank-over-4-flattened", "K14", PlainClient.shape)(
    "The dimensions behind the third are one, if there are more than four.",
    lambda right, name, shape: (*right()[:3], prod(right()[3:])) if len(right()) > 4 else right(),
)
