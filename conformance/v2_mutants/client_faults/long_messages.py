"""Faults of messages longer than some limit: 4 KiB, 64 KiB, 1 MiB, 16 MiB (K1, K3, K14, K40)."""

from __future__ import annotations

from math import prod

from v2_clients.plain.plain_client import PlainClient
from v2_mutants.changes import fail
from v2_mutants.registry import What, client_fault


def _cut_body(most: int) -> What[bytes]:
    """Return what sends no more than the first bytes of a body."""
    return lambda right, text, blobs: right()[:most]


client_fault("json-read-up-to-64-kib", "K3", PlainClient.parse)(
    "Of a response's JSON no more than 64 KiB are read.",
    lambda right, text: right(text[: 1 << 16]),
)
client_fault("json-sent-up-to-64-kib", "K40", PlainClient.dump)(
    "JSON of more than 64 KiB is not sent.",
    lambda right, document: data if len(data := right()) <= 1 << 16 else fail("it is too long"),
)
for _name, _most in (("1-mib", 1 << 20), ("16-mib", 1 << 24)):
    client_fault(f"request-cut-at-{_name}", "K40", PlainClient.body)(
        f"A request is cut after {_name}.", _cut_body(_most)
    )
client_fault("elements-cut-at-1-mib", "K40", PlainClient.elements)(
    "A BYTES element is cut after 1 MiB.",
    lambda right, array: [element[: 1 << 20] for element in right()],
)
client_fault("more-than-16-outputs-refused", "K14", PlainClient.outputs)(
    "A response of more than 16 outputs is an error.",
    lambda right, call, entries, blobs: right() if len(entries) <= 16 else fail("too many outputs"),
)
client_fault("rank-over-4-flattened", "K14", PlainClient.shape)(
    "The dimensions behind the third are one, if there are more than four.",
    lambda right, name, shape: (*right()[:3], prod(right()[3:])) if len(right()) > 4 else right(),
)
