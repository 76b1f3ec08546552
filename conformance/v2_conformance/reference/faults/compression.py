"""Faults of content codings (Z) and of size (L)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Headers, Rejected, Request, Response
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.reading import LENGTH_NAME
from v2_conformance.suite.models import ModelContract

_RAW_DEFLATE = -zlib.MAX_WBITS
_CAP = 2**19


@fault("compressed-requests-refused", breaks="Z1", text="Every compressed request is refused.")
class _Refused(Behaviour):
    def format(self, name: str) -> int | None:
        return None


@fault(
    "request-coding-ignored", breaks="Z1", text="Content-Encoding of a request is not looked at."
)
class _Ignored(Behaviour):
    def request_codings(self, request: Request) -> list[str]:
        return []


@fault(
    "request-header-length-counts-encoded",
    breaks="Z1",
    text="The header length of a compressed request has to fit into the encoded body.",
)
class _LengthCountsEncoded(Behaviour):
    def decode_request(self, request: Request) -> Request:
        decoded = super().decode_request(request)
        length = self.header_length(request)
        if decoded is not request and length is not None:
            self.json_end(request.body, length)
        return decoded


@fault(
    "decoded-body-cut-to-content-length",
    breaks="Z1",
    text="Of a decoded body only as many bytes are read as Content-Length says.",
)
class _CutToContentLength(Behaviour):
    def decode_request(self, request: Request) -> Request:
        decoded = super().decode_request(request)
        return replace(decoded, body=decoded.body[: len(request.body)])


@fault(
    "compressed-request-without-blobs-only",
    breaks="Z1",
    text="Compressed requests with a header length are refused, as if only JSON could be encoded.",
)
class _JsonOnly(Behaviour):
    def request_codings(self, request: Request) -> list[str]:
        codings = super().request_codings(request)
        if codings and request.values(LENGTH_NAME):
            raise Rejected("compressed binary data is not supported", 415)
        return codings


@fault(
    "deflate-read-without-zlib-header",
    breaks="Z1",
    text="The deflate of a request is read without the header and checksum of zlib.",
)
class _DeflateReadRaw(Behaviour):
    def format(self, name: str) -> int | None:
        return _RAW_DEFLATE if name == "deflate" else super().format(name)


class _OtherLength(Behaviour):
    """Replaces the header length of an encoded response."""

    def length(self, name: str, plain: Response, encoded: Response) -> int:
        raise NotImplementedError

    def encode_response(self, request: Request, response: Response) -> Response:
        encoded = super().encode_response(request, response)
        name = self.response_coding(request)
        if name is None:
            return encoded
        length = str(self.length(name, response, encoded))
        return replace(
            encoded,
            headers=tuple((n, length if n == HEADER_LENGTH else v) for n, v in encoded.headers),
        )


@fault(
    "response-header-length-counts-encoded-json",
    breaks="Z2",
    text="The header length of a compressed response is the length of its JSON compressed alone.",
)
class _LengthOfEncodedJson(_OtherLength):
    def length(self, name: str, plain: Response, encoded: Response) -> int:
        return sum(map(len, self.deflate(name, plain.body[:1])))


@fault(
    "response-header-length-counts-encoded-body",
    breaks="Z2",
    text="The header length of a compressed response is the length of its encoded body.",
)
class _LengthOfEncodedBody(_OtherLength):
    def length(self, name: str, plain: Response, encoded: Response) -> int:
        return encoded.size


@fault(
    "compressed-response-without-header-length",
    breaks="Z2",
    text="A compressed response with blobs has no header length.",
)
class _NoLength(Behaviour):
    def encode_response(self, request: Request, response: Response) -> Response:
        encoded = super().encode_response(request, response)
        if encoded is response:
            return response
        return replace(
            encoded, headers=tuple(pair for pair in encoded.headers if pair[0] != HEADER_LENGTH)
        )


@fault(
    "content-length-counts-decoded",
    breaks="Z2",
    text="Content-Length of a compressed response counts the bytes before their encoding.",
)
class _ContentLengthDecoded(Behaviour):
    def content_length(self, response: Response) -> int:
        name = dict(response.headers).get("Content-Encoding")
        if name is None:
            return super().content_length(response)
        return len(self.inflate(name, b"".join(response.body)))


@fault(
    "blobs-behind-compressed-json",
    breaks="Z2",
    text="Only the JSON of a response is compressed; its blobs follow as they are.",
)
class _BlobsNotEncoded(Behaviour):
    def deflate(self, name: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
        return (*super().deflate(name, body[:1]), *body[1:])


@fault(
    "unknown-coding-taken-as-it-is",
    breaks="Z3",
    text="A body in an unknown coding is taken as if it had none.",
)
class _UnknownTaken(Behaviour):
    def request_codings(self, request: Request) -> list[str]:
        codings = super().request_codings(request)
        return codings if all(self.format(name) is not None for name in codings) else []


@fault(
    "response-coding-not-named",
    breaks="Z4",
    text="A compressed response has no Content-Encoding.",
)
class _NotNamed(Behaviour):
    def coding_headers(self, name: str) -> Headers:
        return ()


@fault(
    "response-coding-not-done",
    breaks="Z4",
    text="Content-Encoding names a coding that was not applied.",
)
class _NotDone(Behaviour):
    def deflate(self, name: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
        return tuple(body)


@fault(
    "deflate-sent-without-zlib-header",
    breaks="Z4",
    text="The deflate of a response has neither the header nor the checksum of zlib.",
)
class _DeflateSentRaw(Behaviour):
    def deflate(self, name: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
        if name != "deflate":
            return super().deflate(name, body)
        packer = zlib.compressobj(wbits=_RAW_DEFLATE)
        return (b"".join([*map(packer.compress, body), packer.flush()]),)


@fault(
    "gzip-sent-for-deflate",
    breaks="Z4",
    text="A client that asks for deflate gets gzip, named deflate.",
)
class _GzipForDeflate(Behaviour):
    def deflate(self, name: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
        return super().deflate("gzip", body)


@fault(
    "response-in-gzip-unasked",
    breaks="Z4",
    text="An inference response is in gzip though the request does not accept any coding.",
)
class _Unasked(Behaviour):
    def response_coding(self, request: Request) -> str | None:
        return super().response_coding(request) or "gzip"


@fault(
    "identity-answered-in-deflate",
    breaks="Z4",
    text="Accept-Encoding: identity is answered in deflate.",
)
class _IdentityNotKept(Behaviour):
    def response_coding(self, request: Request) -> str | None:
        name = super().response_coding(request)
        return "deflate" if name is None and request.values("accept-encoding") else name


@fault(
    "response-in-coding-of-request",
    breaks="Z4",
    text="A response has the coding of its request.",
)
class _RequestsCoding(Behaviour):
    def response_coding(self, request: Request) -> str | None:
        codings = self.request_codings(request)
        return codings[0] if codings else super().response_coding(request)


@fault(
    "decompression-bomb-served",
    breaks="Z5",
    text="A body that decodes to too much is served; the zeros behind its message are ignored.",
)
class _BombServed(Behaviour):
    def inflate(self, name: str, data: Buffer) -> bytes:
        try:
            return super().inflate(name, data)
        except Rejected as rejection:
            wbits = self.format(name)
            if rejection.status != 413 or wbits is None:
                raise
            return zlib.decompressobj(wbits).decompress(data, 2**16).rstrip(b"\0")


@fault(
    "decompression-bomb-ends-server",
    breaks="Z5",
    text="A body that decodes to more than 32 MiB takes the server's memory and ends it.",
)
class _BombEnds(Behaviour):
    crashed = False

    def inflate(self, name: str, data: Buffer) -> bytes:
        try:
            return super().inflate(name, data)
        except Rejected as rejection:
            self.crashed = self.crashed or rejection.status == 413
            raise

    def listening(self) -> bool:
        return super().listening() and not self.crashed


@fault(
    "damaged-stream-taken-as-far-as-it-goes",
    breaks="Z6",
    text="What could be decoded of a damaged or truncated stream is taken for the body.",
)
class _DamagedTaken(Behaviour):
    def damaged(self, name: str, data: Buffer, problem: str) -> bytes:
        unpacker = zlib.decompressobj(self.format(name) or zlib.MAX_WBITS)
        decoded = b""
        for at in range(len(data)):
            try:
                decoded += unpacker.decompress(data[at : at + 1])
            except zlib.error:
                break
        return decoded


@fault(
    "body-not-in-its-coding-taken-as-it-is",
    breaks="Z6",
    text="A body that is not in the coding that is named is taken as if it had none.",
)
class _PlainTaken(Behaviour):
    def damaged(self, name: str, data: Buffer, problem: str) -> bytes:
        return bytes(data)


@fault(
    "body-capped-at-512-kib",
    breaks="L1",
    text="An inference request of more than 512 KiB is refused.",
)
class _Capped(Behaviour):
    def infer(self, model: ModelContract, request: Request) -> Response:
        if len(request.body) > _CAP:
            raise Rejected("the body is longer than 512 KiB", 413)
        return super().infer(model, request)


@fault(
    "large-output-cut",
    breaks="L1",
    text="What is behind the first 512 KiB of a blob comes back as zeros.",
)
class _OutputCut(Behaviour):
    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        cut = [bytes(blob[: 2**19]).ljust(len(blob), b"\0") for blob in blobs]
        return super().response_body(text, cut)
