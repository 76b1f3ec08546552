"""Faults of content codings (Z)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.blobs import resize
from v2_conformance.reference.faults.shared.crashes import CrashingServer
from v2_conformance.reference.faults.shared.deliveries import first_read
from v2_conformance.reference.http_messages import Headers, Rejected, Request, Response

# A deflate stream without the header and checksum of zlib.
_BARE_DEFLATE = -zlib.MAX_WBITS


class _EncodedHeaderLength(Behaviour):
    """A server that replaces the header length of an encoded response."""

    def encoded_header_length(self, coding: str, plain: Response, encoded: Response) -> int:
        raise NotImplementedError

    def encode_response(self, request: Request, response: Response) -> Response:
        encoded = super().encode_response(request, response)
        coding = self.response_coding(request)
        if coding is None:
            return encoded
        length = str(self.encoded_header_length(coding, response, encoded))
        headers = [
            (name, length if name == HEADER_LENGTH else value) for name, value in encoded.headers
        ]
        return replace(encoded, headers=tuple(headers))


@fault("compressed-requests-refused", breaks="Z1", text="Every compressed request is rejected.")
class _CompressedRequestsRefused(Behaviour):
    def zlib_format(self, coding: str) -> int | None:
        return None


@fault(
    "request-coding-ignored",
    breaks="Z1",
    text="The Content-Encoding of a request is ignored.",
)
class _RequestCodingIgnored(Behaviour):
    def request_codings(self, request: Request) -> list[str]:
        return []


@fault(
    "request-header-length-counts-encoded",
    breaks="Z1",
    text="The header length of a compressed request is rejected if it exceeds the encoded body.",
)
class _RequestHeaderLengthCountsEncoded(Behaviour):
    def decode_request(self, request: Request) -> Request:
        decoded = super().decode_request(request)
        length = self.header_length(request)
        if decoded is not request and length is not None:
            self.json_end(request.body, length)
        return decoded


@fault(
    "decoded-body-cut-to-content-length",
    breaks="Z1",
    text="A decoded body is cut to the Content-Length, which counts encoded bytes.",
)
class _DecodedBodyCutToContentLength(Behaviour):
    def decode_request(self, request: Request) -> Request:
        decoded = super().decode_request(request)
        return replace(decoded, body=decoded.body[: len(request.body)])


@fault(
    "decoded-body-padded-to-content-length",
    breaks="Z1",
    text="A decoded body is padded with zeros to the Content-Length, which counts encoded bytes.",
)
class _DecodedBodyPaddedToContentLength(Behaviour):
    def decode_request(self, request: Request) -> Request:
        decoded = super().decode_request(request)
        size = max(len(decoded.body), len(request.body))
        return replace(decoded, body=memoryview(resize(decoded.body, size)))


@fault(
    "compressed-request-without-blobs-only",
    breaks="Z1",
    text="Compressed requests with a header length are rejected, as if only JSON could be encoded.",
)
class _CompressedRequestWithoutBlobsOnly(Behaviour):
    def request_codings(self, request: Request) -> list[str]:
        codings = super().request_codings(request)
        if codings and request.values(HEADER_LENGTH):
            raise Rejected("compressed binary data is not supported", 415)
        return codings


@fault(
    "deflate-read-without-zlib-header",
    breaks="Z1",
    text="A deflate request is decoded as deflate without zlib's header and checksum.",
)
class _DeflateReadWithoutZlibHeader(Behaviour):
    def zlib_format(self, coding: str) -> int | None:
        return _BARE_DEFLATE if coding == "deflate" else super().zlib_format(coding)


@fault(
    "compressed-body-read-once",
    breaks="Z1",
    text="A compressed body is read from the socket only once.",
)
class _CompressedBodyReadOnce(Behaviour):
    def decode_request(self, request: Request) -> Request:
        compressed = bool(self.request_codings(request))
        return super().decode_request(first_read(request) if compressed else request)


@fault(
    "response-header-length-counts-encoded-json",
    breaks="Z2",
    text="The header length of a compressed response is the length of its compressed JSON.",
)
class _ResponseHeaderLengthCountsEncodedJson(_EncodedHeaderLength):
    def encoded_header_length(self, coding: str, plain: Response, encoded: Response) -> int:
        return sum(map(len, self.compress(coding, plain.body[:1])))


@fault(
    "response-header-length-counts-encoded-body",
    breaks="Z2",
    text="The header length of a compressed response is the length of its compressed body.",
)
class _ResponseHeaderLengthCountsEncodedBody(_EncodedHeaderLength):
    def encoded_header_length(self, coding: str, plain: Response, encoded: Response) -> int:
        return encoded.size


@fault(
    "compressed-response-without-header-length",
    breaks="Z2",
    text="A compressed response with blobs has no header length.",
)
class _CompressedResponseWithoutHeaderLength(Behaviour):
    def encode_response(self, request: Request, response: Response) -> Response:
        encoded = super().encode_response(request, response)
        if encoded is response:
            return response
        headers = tuple(pair for pair in encoded.headers if pair[0] != HEADER_LENGTH)
        return replace(encoded, headers=headers)


@fault(
    "content-length-counts-decoded",
    breaks="Z2",
    text="The Content-Length of a compressed response counts the bytes before compression.",
)
class _ContentLengthCountsDecoded(Behaviour):
    def content_length(self, response: Response) -> int:
        coding = dict(response.headers).get("Content-Encoding")
        if coding is None:
            return super().content_length(response)
        return len(self.decompress(coding, b"".join(response.body)))


@fault(
    "blobs-behind-compressed-json",
    breaks="Z2",
    text="Only the JSON of a response is compressed; its blobs follow uncompressed.",
)
class _BlobsBehindCompressedJson(Behaviour):
    def compress(self, coding: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
        return (*super().compress(coding, body[:1]), *body[1:])


@fault(
    "unknown-coding-taken-as-it-is",
    breaks="Z3",
    text="A body in an unknown coding is read as if it had none.",
)
class _UnknownCodingTakenAsItIs(Behaviour):
    def request_codings(self, request: Request) -> list[str]:
        codings = super().request_codings(request)
        return codings if all(self.zlib_format(coding) is not None for coding in codings) else []


@fault(
    "response-coding-not-named",
    breaks="Z4",
    text="A compressed response has no Content-Encoding.",
)
class _ResponseCodingNotNamed(Behaviour):
    def coding_headers(self, coding: str) -> Headers:
        return ()


@fault(
    "response-coding-not-done",
    breaks="Z4",
    text="The Content-Encoding of a response names a coding that was not applied.",
)
class _ResponseCodingNotDone(Behaviour):
    def compress(self, coding: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
        return tuple(body)


@fault(
    "deflate-sent-without-zlib-header",
    breaks="Z4",
    text="A deflate response has neither zlib's header nor its checksum.",
)
class _DeflateSentWithoutZlibHeader(Behaviour):
    def compress(self, coding: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
        if coding != "deflate":
            return super().compress(coding, body)
        compressor = zlib.compressobj(wbits=_BARE_DEFLATE)
        return (b"".join([*map(compressor.compress, body), compressor.flush()]),)


@fault(
    "gzip-sent-for-deflate",
    breaks="Z4",
    text="A client that asks for deflate gets gzip that is labeled deflate.",
)
class _GzipSentForDeflate(Behaviour):
    def compress(self, coding: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
        return super().compress("gzip", body)


@fault(
    "refused-coding-used",
    breaks="Z4",
    text="A coding that Accept-Encoding refuses with a weight of 0 is used.",
)
class _RefusedCodingUsed(Behaviour):
    def response_coding(self, request: Request) -> str | None:
        names = ",".join(request.values("Accept-Encoding")).lower().split(",")
        codings = [name.partition(";")[0].strip() for name in names]
        return next((name for name in codings if name in ("gzip", "deflate")), None)


@fault(
    "identity-answered-in-deflate",
    breaks="Z4",
    text="A request with Accept-Encoding: identity is answered in deflate.",
)
class _IdentityAnsweredInDeflate(Behaviour):
    def response_coding(self, request: Request) -> str | None:
        coding = super().response_coding(request)
        return "deflate" if coding is None and request.values("Accept-Encoding") else coding


@fault(
    "response-in-coding-of-request",
    breaks="Z4",
    text="A response has the coding of its request, whatever Accept-Encoding says.",
)
class _ResponseInCodingOfRequest(Behaviour):
    def response_coding(self, request: Request) -> str | None:
        codings = self.request_codings(request)
        return codings[0] if codings else super().response_coding(request)


@fault(
    "decompression-bomb-served",
    breaks="Z5",
    text="A body that decodes to too much is served; the zeros after its message are ignored.",
)
class _DecompressionBombServed(Behaviour):
    def decompress(self, coding: str, data: Buffer) -> bytes:
        try:
            return super().decompress(coding, data)
        except Rejected as rejection:
            wbits = self.zlib_format(coding)
            if rejection.status != 413 or wbits is None:
                raise
            return zlib.decompressobj(wbits).decompress(data, 2**16).rstrip(b"\0")


@fault(
    "decompression-bomb-ends-server",
    breaks="Z5",
    text="A body that decodes to more than 32 MiB crashes the server.",
)
class _DecompressionBombEndsServer(CrashingServer):
    def decompress(self, coding: str, data: Buffer) -> bytes:
        try:
            return super().decompress(coding, data)
        except Rejected as rejection:
            self.crashed = self.crashed or rejection.status == 413
            raise


@fault(
    "damaged-stream-taken-as-far-as-it-goes",
    breaks="Z6",
    text="Whatever can be decoded of a damaged or truncated stream is read as the body.",
)
class _DamagedStreamTakenAsFarAsItGoes(Behaviour):
    def damaged_stream(self, coding: str, data: Buffer, problem: str) -> bytes:
        decompressor = zlib.decompressobj(self.zlib_format(coding) or zlib.MAX_WBITS)
        decoded = b""
        for at in range(len(data)):
            try:
                decoded += decompressor.decompress(data[at : at + 1])
            except zlib.error:
                break
        return decoded


@fault(
    "body-not-in-its-coding-taken-as-it-is",
    breaks="Z6",
    text="A body that is not in the named coding is read as if it had none.",
)
class _BodyNotInItsCodingTakenAsItIs(Behaviour):
    def damaged_stream(self, coding: str, data: Buffer, problem: str) -> bytes:
        return bytes(data)
