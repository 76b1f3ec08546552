"""Requests and responses as bytes: plain HTTP, V2 messages, right ones and such as a test says."""

from __future__ import annotations

import json
import struct
from typing import Any

from msgspec.structs import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import dump_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.wire.exchange import Body, Exchange, unsent
from v2_conformance.wire.response import Ending, Limits, Response
from v2_conformance.wire.response_reader import ResponseReader

BLOB = struct.pack("<3i", 1, 2, 3)

# For HTML, XML, Markdown, terminals and GitHub's runner alike.
HOSTILE = (
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>]]>&amp;\n::error::forged\r\n"
    "##[error]forged | `x` *b* [l](javascript:x) @octocat #1 http://e.example\x00\x0b\x1b[31m\ufffe\u202e"
)


# HTTP


def http(body: bytes = b"", status: int = 200, *fields: tuple[str, object]) -> bytes:
    """A whole HTTP/1.1 response with Content-Length."""
    lines = [f"HTTP/1.1 {status} Any", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in fields]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def posting(body: bytes) -> bytes:
    """A request with a body."""
    return b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def v2(document: object, *blobs: bytes, status: int = 200, length: object = None) -> bytes:
    """A whole V2 response; the header length is sent when blobs are there, or `length` is."""
    head = document if isinstance(document, bytes) else dump_json(document)
    fields: list[tuple[str, object]] = [("Content-Type", "application/json")]
    if blobs or length is not None:
        fields = [("Content-Type", "application/octet-stream")]
        fields.append((HEADER_LENGTH, len(head) if length is None else length))
    return http(head + b"".join(blobs), status, *fields)


def exchange_of(
    received: Buffer = b"",
    ending: Ending = Ending.COMPLETE,
    detail: str = "",
    *,
    request: Buffer = b"",
    response: Response | None = None,
    **members: Any,
) -> Exchange:
    """An exchange that received these bytes, or was given this `response`, and other `members`."""
    usual = replace(unsent(request, ending, detail), received=Body(received))
    made = replace(usual, sent=len(request), **members)
    if response is not None:
        vars(made)["partial"] = response
    return made


def parsed(received: bytes) -> Response:
    """The response that these bytes are."""
    reader = ResponseReader(Limits())
    reader.feed(received)
    if not reader.done:
        reader.feed(b"")
    assert reader.done, reader.error
    return reader.response()


# Responses of V2


def entry(**members: Any) -> dict[str, Any]:
    """An output's JSON; by default the right one for 12 bytes of INT32."""
    return {"name": "OUTPUT0", "shape": [3], "datatype": "INT32", **members}


def sized(size: object = 12, **members: Any) -> dict[str, Any]:
    return entry(parameters={"binary_data_size": size}, **members)


def answer(*outputs: Any, **members: Any) -> dict[str, Any]:
    return {"model_name": "m", "outputs": list(outputs), **members}


GOOD = v2(answer(sized()), BLOB)
GOOD_JSON = v2(answer(entry(data=[1, 2, 3])))


# Requests of V2


def message_with(blob: bytes, name: str = "INPUT0") -> bytes:
    entry = {"name": name, "parameters": {"binary_data_size": len(blob)}}
    head = json.dumps({"inputs": [entry]}).encode()
    lines = (
        "POST /v2/models/m/infer HTTP/1.1",
        f"Inference-Header-Content-Length: {len(head)}",
        f"Content-Length: {len(head) + len(blob)}",
    )
    return "\r\n".join([*lines, "", ""]).encode() + head + blob
