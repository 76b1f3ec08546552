"""Faults of how a response is received (K7, K26, K32, K34)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import requests
import urllib3

from v2_conformance.reference.client.connection import Answer
from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.responses_read import Inference
from v2_conformance.reference.client.task import Call, ClientError
from v2_conformance.reference.client_faults.registry import client_fault

# --- fragments and chunks ---------------------------------------------------------------------


@client_fault(
    "one-read-for-all", breaks="K7", text="What the first read returns is taken for the whole body."
)
class _OneRead(PlainClient):
    def received(self, response: requests.Response) -> bytes:
        return bytes(response.raw.read1(1 << 16, decode_content=False))


@client_fault("first-chunk-only", breaks="K7", text="Of a body in chunks, only the first is read.")
class _FirstChunk(PlainClient):
    def received(self, response: requests.Response) -> bytes:
        if "Transfer-Encoding" not in response.headers:
            return super().received(response)
        return bytes(next(response.raw.stream(decode_content=False), b""))


@client_fault(
    "chunks-not-understood", breaks="K7", text="A body in chunks is read with their sizes in it."
)
class _ChunksNotUnderstood(PlainClient):
    def received(self, response: requests.Response) -> bytes:
        body = super().received(response)
        if "Transfer-Encoding" not in response.headers:
            return body
        return b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


@client_fault(
    "body-only-with-content-length",
    breaks="K7",
    text="A response without Content-Length counts as one without a body.",
)
class _OnlyWithContentLength(PlainClient):
    def received(self, response: requests.Response) -> bytes:
        body = super().received(response)
        return body if "Content-Length" in response.headers else b""


# --- ends -------------------------------------------------------------------------------------


@client_fault(
    "truncated-body-read-on",
    breaks="K26",
    text="A body that ends before its Content-Length or last chunk is taken as it is.",
)
class _TruncatedReadOn(PlainClient):
    def received(self, response: requests.Response) -> bytes:
        pieces = []
        with contextlib.suppress(urllib3.exceptions.HTTPError, OSError):
            while piece := response.raw.read(1, decode_content=False):
                pieces.append(piece)
        return b"".join(pieces)


@client_fault(
    "truncated-chunks-read-on",
    breaks="K26",
    text="A body in chunks that ends before its last chunk is taken as it is.",
)
class _TruncatedChunks(_TruncatedReadOn):
    def received(self, response: requests.Response) -> bytes:
        if "Transfer-Encoding" in response.headers:
            return super().received(response)
        return PlainClient.received(self, response)


@client_fault(
    "closed-connection-tried-without-end",
    breaks="K32",
    text="A request whose connection closes is sent again at once, without end.",
)
class _ClosedTriedAgain(PlainClient):
    def exchange(self, call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
        while True:
            try:
                return super().exchange(call, fields, body)
            except ClientError as error:
                # It ends when the bench has gone and refuses connections.
                if "refused" in str(error) or not isinstance(
                    error.__cause__, requests.ConnectionError
                ):
                    raise


@client_fault(
    "no-time-limit", breaks="K32", text="The client waits for a silent server without a limit."
)
class _NoTimeLimit(PlainClient):
    def time_limit(self) -> float | None:
        return None


@client_fault(
    "closed-connection-is-no-error",
    breaks="K32",
    text="A connection that closes without an answer is an inference without outputs.",
)
class _ClosedIsNoError(PlainClient):
    def infer(self, call: Call) -> Inference:
        try:
            return super().infer(call)
        except ClientError as error:
            if isinstance(error.__cause__, requests.ConnectionError):
                return Inference(())
            raise


@client_fault(
    "silence-is-no-error",
    breaks="K32",
    text="A server that does not answer in time is an inference without outputs.",
)
class _SilenceIsNoError(PlainClient):
    def infer(self, call: Call) -> Inference:
        try:
            return super().infer(call)
        except ClientError as error:
            if isinstance(error.__cause__, requests.Timeout):
                return Inference(())
            raise


# --- no Content-Length, HTTP/1.0 --------------------------------------------------------------


@client_fault(
    "content-length-required",
    breaks="K34",
    text="A response has to have a Content-Length or chunks.",
)
class _LengthRequired(PlainClient):
    def received(self, response: requests.Response) -> bytes:
        if "Transfer-Encoding" not in response.headers:
            response.headers["Content-Length"]
        return super().received(response)


@client_fault(
    "body-until-close-is-empty",
    breaks="K34",
    text="A response that ends with its connection counts as one without a body.",
)
class _UntilCloseIsEmpty(PlainClient):
    def received(self, response: requests.Response) -> bytes:
        delimited = {"Content-Length", "Transfer-Encoding"} & set(response.headers)
        return super().received(response) if delimited else b""


@client_fault("only-http-1-1", breaks="K34", text="A response of HTTP/1.0 is an error.")
class _OnlyHttp11(PlainClient):
    def received(self, response: requests.Response) -> bytes:
        if response.raw.version != 11:
            raise ClientError("expected HTTP/1.1")
        return super().received(response)
