"""Faults of content codings (Z)."""

from __future__ import annotations

from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_mutants.faults.shared.crashes import CrashingServer
from v2_mutants.registry import Right, fault, then


def _relabeled(plain: Response, encoded: Response, length: int | None) -> Response:
    """An encoded response with another header length, or none; one that is not encoded as it is."""
    if encoded is plain:
        return plain
    headers = [
        (name, str(length) if name == HEADER_LENGTH else value)
        for name, value in encoded.headers
        if name != HEADER_LENGTH or length is not None
    ]
    return replace(encoded, headers=tuple(headers))


fault("request-coding-ignored", "Z1", Behaviour.request_codings)(
    "The Content-Encoding of a request is ignored.", lambda right, request: []
)


@fault("request-header-length-counts-encoded", "Z1", Behaviour.decode_request)
def _(right: Right[Request], request: Request) -> Request:
    """The header length of a compressed request is rejected if it exceeds the encoded body."""
    decoded = right()
    length = right.server.header_length(request)
    if decoded is not request and length is not None:
        right.server.json_end(request.body, length)
    return decoded


fault("response-header-length-counts-encoded-body", "Z2", Behaviour.encode_response)(
    "The header length of a compressed response is the length of its compressed body.",
    then(lambda encoded, request, response: _relabeled(response, encoded, encoded.size)),
)


@fault("unknown-coding-taken-as-it-is", "Z3", Behaviour.request_codings)
def _(right: Right[list[str]], request: Request) -> list[str]:
    """A body in an unknown coding is read as if it had none."""
    codings = right()
    return (
        codings if all(right.server.zlib_format(coding) is not None for coding in codings) else []
    )


fault("response-coding-not-named", "Z4", Behaviour.coding_headers)(
    "A compressed response has no Content-Encoding.", lambda right, coding: ()
)


@fault("refused-coding-used", "Z4", Behaviour.response_coding)
def _(right: Right[str | None], request: Request) -> str | None:
    """A coding that Accept-Encoding refuses with a weight of 0 is used."""
    names = ",".join(request.values("Accept-Encoding")).lower().split(",")
    codings = [name.partition(";")[0].strip() for name in names]
    return next((name for name in codings if name in ("gzip", "deflate")), None)


@fault.several("decompression-bomb-ends-server", "Z5")
class _DecompressionBombEndsServer(CrashingServer):
    """A body that decodes to more than 32 MiB crashes the server."""

    def decompress(self, coding: str, data: Buffer) -> bytes:
        try:
            return super().decompress(coding, data)
        except Rejected as rejection:
            self.crashed = self.crashed or rejection.status == 413
            raise
