"""Faults of how a response is received (K7, K26, K32, K34)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping

import requests
import urllib3

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.responses_read import Inference
from v2_clients.plain.task import Call, ClientError
from v2_mutants.changes import fail
from v2_mutants.registry import Right, What, client_fault


def _in_chunks(response: requests.Response) -> bool:
    return "Transfer-Encoding" in response.headers


def _is_delimited(response: requests.Response) -> bool:
    return _in_chunks(response) or "Content-Length" in response.headers


def _what_came(response: requests.Response) -> bytes:
    """The body as far as it came."""
    pieces = []
    with contextlib.suppress(urllib3.exceptions.HTTPError, OSError):
        while piece := response.raw.read(1, decode_content=False):
            pieces.append(piece)
    return b"".join(pieces)


def ignores(cause: type[requests.RequestException]) -> What[Inference]:
    """Return what takes a failed exchange for an inference without outputs."""

    def what(right: Right[Inference], call: Call) -> Inference:
        try:
            return right()
        except ClientError as error:
            if isinstance(error.__cause__, cause):
                return Inference(())
            raise

    return what


client_fault("one-read-for-all", "K7", PlainClient.received)(
    "What the first read returns is taken for the whole body.",
    lambda right, response: bytes(response.raw.read1(1 << 16, decode_content=False)),
)
client_fault("truncated-body-read-on", "K26", PlainClient.received)(
    "A body that ends before its Content-Length or last chunk is taken as it is.",
    lambda right, response: _what_came(response),
)


client_fault("no-time-limit", "K32", PlainClient.time_limit)(
    "The client waits for a silent server without a limit.",
    lambda right: None,
)
client_fault("closed-connection-is-no-error", "K32", PlainClient.infer)(
    "A connection that closes without an answer is an inference without outputs.",
    ignores(requests.ConnectionError),
)


def repeats(after: Callable[[Answer | ClientError], bool]) -> What[Answer]:
    """Return what sends a request a second time after such an outcome."""

    def what(right: Right[Answer], call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
        try:
            answer = right()
        except ClientError as error:
            if after(error):
                return right()
            raise
        return right() if after(answer) else answer

    return what


client_fault("repeated-after-lost-answer", "K39", PlainClient.exchange)(
    "A request is sent again if the connection closes before its answer is whole.",
    repeats(lambda came: isinstance(came, ClientError)),
)
client_fault("repeated-after-server-error", "K39", PlainClient.exchange)(
    "A request is sent again if the server answers with 500.",
    repeats(lambda came: isinstance(came, Answer) and came.status >= 500),
)
client_fault("content-length-required", "K34", PlainClient.received)(
    "A response has to have a Content-Length or chunks.",
    lambda right, response: right() if _is_delimited(response) else fail("no Content-Length"),
)
client_fault("only-http-1-1", "K34", PlainClient.received)(
    "A response of HTTP/1.0 is an error.",
    lambda right, response: right() if response.raw.version == 11 else fail("expected HTTP/1.1"),
)
