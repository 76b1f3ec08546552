"""Content codings of the reference server: compressed requests in, compressed responses out."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.exchange import Headers, Rejected, Request, Response

MAX_DECODED = 2**25

# What zlib calls them: a gzip stream, and a zlib stream, which HTTP calls deflate.
_FORMATS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class Coding:
    """Undoes and applies content codings; every method is one decision, for a fault to replace."""

    profiles: frozenset[str]

    # --- requests ----------------------------------------------------------------------------

    def decode_request(self, request: Request) -> Request:
        """The request as it was before its content coding, which header length and sizes count."""
        codings = self.request_codings(request)
        if not codings:
            return request
        body = request.body
        for name in reversed(codings):
            body = memoryview(self.inflate(name, body))
        return replace(request, body=body, chunk_cuts=(), segment_cuts=())

    def request_codings(self, request: Request) -> list[str]:
        """The codings of a request, in the order in which they were applied."""
        named = ",".join(request.values("content-encoding")).lower().split(",")
        codings = [name.strip() for name in named if name.strip() not in ("", "identity")]
        if codings and "compression" not in self.profiles:
            raise Rejected("this server takes no compressed bodies", 415)
        return codings

    def inflate(self, name: str, data: Buffer) -> bytes:
        """A whole stream decoded (Z6), up to a limit (Z5); unknown codings are refused (Z3)."""
        wbits = self.format(name)
        if wbits is None:
            return self.unknown_coding(name, data)
        unpacker = zlib.decompressobj(wbits)
        try:
            decoded = unpacker.decompress(data, self.most_decoded() + 1)
        except zlib.error as error:
            return self.damaged(name, data, str(error))
        if len(decoded) > self.most_decoded():
            raise Rejected(f"the body decodes to more than {self.most_decoded()} bytes", 413)
        if not unpacker.eof or unpacker.unused_data:
            return self.damaged(name, data, "it ends early or too late")
        return decoded

    def format(self, name: str) -> int | None:
        """The `wbits` of a request's coding, None for one that is not known."""
        return _FORMATS.get(name)

    def most_decoded(self) -> int:
        """How many bytes a body may decode to (Z5)."""
        return MAX_DECODED

    def unknown_coding(self, name: str, data: Buffer) -> bytes:
        """What a body in an unknown coding means: nothing (Z3)."""
        raise Rejected(f"the content coding {name!a} is not supported", 415)

    def damaged(self, name: str, data: Buffer, problem: str) -> bytes:
        """What a damaged stream means: nothing (Z6)."""
        raise Rejected(f"the body is not in {name}: {problem}")

    # --- responses ---------------------------------------------------------------------------

    def encode_response(self, request: Request, response: Response) -> Response:
        """The response in the coding that the client asked for, if any (Z2, Z4)."""
        name = self.response_coding(request)
        if name is None:
            return response
        headers = (*response.headers, *self.coding_headers(name))
        return replace(response, headers=headers, body=self.deflate(name, response.body))

    def response_coding(self, request: Request) -> str | None:
        """The first of the codings in Accept-Encoding that is known, None for none."""
        if "compression" not in self.profiles:
            return None
        for item in ",".join(request.values("accept-encoding")).lower().split(","):
            name, _, weight = item.replace(" ", "").partition(";")
            if name in ("gzip", "deflate") and weight not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
                return name
        return None

    def coding_headers(self, name: str) -> Headers:
        """The header that names what was done (Z4)."""
        return (("Content-Encoding", name), ("Vary", "Accept-Encoding"))

    def deflate(self, name: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
        """The body in the coding called `name`."""
        packer = zlib.compressobj(wbits=_FORMATS[name])
        return (b"".join([*map(packer.compress, body), packer.flush()]),)
