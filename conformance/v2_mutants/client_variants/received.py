"""Legal ways to use connections, to read an answer, and to give it to the caller."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import requests

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.responses_read import Inference
from v2_clients.plain.task import Call, ClientError
from v2_conformance.protocol.datatypes import Shape
from v2_conformance.protocol.message import Tensor, json_object
from v2_mutants.changes import fail
from v2_mutants.registry import Right, client_variant

_KEPT = "K7 K29 K34 K36 K39; RFC 9112, section 9.3: no connection has to be kept"


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
    "follows-redirects", "K9 K27; RFC 9110, section 15.4: a client may follow", PlainClient.send
)(
    "Redirects are followed as Python's requests does, which drops credentials.",
    lambda right, prepared: right.client.session.send(
        prepared, stream=True, timeout=right.client.time_limit()
    ),
)
client_variant(
    "length-beside-chunks-refused",
    "K7; RFC 9112, section 6.3: such a message ought to be handled as an error",
    PlainClient.received,
)(
    "A response in chunks that says a Content-Length is an error.",
    lambda right, response: (
        fail("two lengths")
        if {"Transfer-Encoding", "Content-Length"} <= set(response.headers)
        else right()
    ),
)
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


_WORDS = "K27 K28 K29; K28: the message and the status, in whatever words"
_TRUTH = "K14 K25; binary extension: a BOOL is 0 or 1"
_ORDER = "K3 K16; base protocol: outputs have names, an order is not required"


@client_variant(
    "halves-in-json-refused",
    "K3 K8 K14 K16; K14: a client may refuse FP16 as JSON",
    PlainClient.read,
)
def _(right: Right[Inference], call: Call, answer: Answer) -> Inference:
    """FP16 is not read from JSON."""
    document, _ = json_object(answer.body) or ({}, 0)
    outputs = document.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict) and "data" in output and output.get("datatype") == "FP16":
            raise ClientError("FP16 has no JSON form here")
    return right()


client_variant("words-behind-the-status", _WORDS, PlainClient.error_words)(
    "The server's words follow its status.",
    lambda right, answer: f"HTTP {answer.status}: {right()}",
)


@client_variant("status-in-words", _WORDS, PlainClient.read)
def _(right: Right[Inference], call: Call, answer: Answer) -> Inference:
    """An error has the status in its words alone."""
    try:
        return right()
    except ClientError as error:
        raise ClientError(f"{error.status or 'malformed response'}: {error}") from error


client_variant("outputs-reversed", _ORDER, PlainClient.read)(
    "The caller gets outputs in reverse order.",
    lambda right, call, answer: replace(right(), outputs=right().outputs[::-1]),
)


@client_variant("bf16-as-fp32", "K14 K15 K23; FP32 has every value of BF16", PlainClient.read)
def _(right: Right[Inference], call: Call, answer: Answer) -> Inference:
    """The caller gets BF16 as FP32, as numpy has no BF16."""
    read = right()
    return replace(read, outputs=tuple(map(_widened, read.outputs)))


def _widened(tensor: Tensor) -> Tensor:
    if tensor.datatype != "BF16":
        return tensor
    blob = b"".join(b"\0\0" + tensor.blob[n : n + 2] for n in range(0, len(tensor.blob), 2))
    return Tensor(tensor.name, "FP32", tensor.shape, blob)


@client_variant("any-byte-is-true", _TRUTH, PlainClient.binary_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
    """The caller gets true for each byte of a BOOL that is not zero."""
    return right(blob=bytes(map(bool, blob)) if datatype == "BOOL" else blob)


@client_variant("other-bytes-of-bool-refused", _TRUTH, PlainClient.binary_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
    """A BOOL that is neither 0 nor 1 is an error."""
    if datatype == "BOOL" and any(byte > 1 for byte in blob):
        raise ClientError("a BOOL is neither true nor false")
    return right()


@client_variant(
    "codings-not-asked-for-refused",
    "K21; K21: only codings that it offers have to be undone",
    PlainClient.decoded,
)
def _(right: Right[bytes], call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
    """A coding that nobody asked for is an error."""
    coding = fields.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("identity", call.response_compression):
        raise ClientError("nobody asked for this coding")
    return right()


client_variant(
    "excess-ignored",
    "K6; K6 is a SHOULD: bytes behind the last blob may be ignored",
    PlainClient.check_all_read,
)(
    "Bytes behind the last blob are ignored.",
    lambda right, blobs: None,
)
