"""What tests of the reference server share: requests, and reading what comes."""

from __future__ import annotations

import http.client
import socket
import struct
from collections.abc import Sequence
from typing import Any

from v2_conformance.protocol.message import HEADER_LENGTH, dump_json, parse_json
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Request

INT32 = bytes(range(16))
Answer = tuple[int, dict[str, str], bytes]


def tensor(name: str, datatype: str, shape: list[int], size: Any = None, **more: Any) -> Any:
    entry = {"name": name, "datatype": datatype, "shape": shape} | more
    return entry if size is None else entry | {"parameters": {"binary_data_size": size}}


def out(index: int = 0, flag: Any = None) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": f"OUTPUT{index}"}
    return entry if flag is None else entry | {"parameters": {"binary_data": flag}}


def binary_int32(**more: Any) -> bytes:
    inputs = [tensor("INPUT0", "INT32", [4], 16)]
    return dump_json({"inputs": inputs, "outputs": [out(0, True)]} | more)


def post(
    model: str, text: bytes, blob: bytes = b"", *, length: str | None = "true", framing: str = ""
) -> bytes:
    lines = [f"POST /v2/models/{model}/infer HTTP/1.1", "Host: test"]
    if length is not None:
        lines.append(f"{HEADER_LENGTH}: {len(text) if length == 'true' else length}")
    lines.append(framing or f"Content-Length: {len(text) + len(blob)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + (b"" if framing else text + blob)


def answer(sock: socket.socket) -> Answer:
    response = http.client.HTTPResponse(sock)
    response.begin()
    body = response.read()
    headers = {name.lower(): value for name, value in response.getheaders()}
    response.close()
    return response.status, headers, body


def call(url: str, method: str, path: str) -> Answer:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
    finally:
        connection.close()


def split(found: Answer) -> tuple[dict[str, Any], bytes]:
    status, headers, body = found
    assert status == 200, body
    end = int(headers[HEADER_LENGTH.lower()])
    return parse_json(body[:end]), body[end:]


def ask(
    behaviour: Behaviour,
    model: str,
    text: bytes,
    blob: bytes = b"",
    lengths: Sequence[str] | None = None,
    *,
    name: str = HEADER_LENGTH,
    headers: Sequence[tuple[str, str]] = (),
    chunk_cuts: tuple[int, ...] = (),
    segment_cuts: tuple[int, ...] = (),
) -> tuple[int, bytes]:
    """One inference without sockets: the status and everything that would be sent."""
    given = [(name, value) for value in (lengths if lengths is not None else [f" {len(text)}"])]
    lines = [f"{key}:{value}" for key, value in (*given, *headers)]
    head = ("\r\n".join([f"POST /v2/models/{model}/infer HTTP/1.1", *lines]) + "\r\n\r\n").encode()
    request = Request(
        method="POST",
        target=f"/v2/models/{model}/infer",
        version="1.1",
        headers=tuple((key.lower(), value.strip()) for key, value in (*given, *headers)),
        head=head,
        body=memoryview(text + blob),
        chunk_cuts=chunk_cuts,
        segment_cuts=segment_cuts,
    )
    response = behaviour.handle(request)
    keep_open = behaviour.keeps_open(request, response)
    sent = b"".join(behaviour.serialise(response, keep_open=keep_open))
    left = behaviour.left_over(request, response)
    return response.status, sent + b"|" + left + b"|%d" % behaviour.listening()


def one(datatype: str, shape: list[int], blob: bytes | None, **more: Any) -> tuple[Any, ...]:
    """A request to an identity model with one binary input; `data` and others in `more`."""
    model = f"{'identity' if len(shape) == 1 else 'matrix'}_{datatype.lower()}"
    extra = {"data": more.pop("data")} if "data" in more else {}
    size = more.pop("size", None if blob is None else len(blob))
    document = {"inputs": [tensor("INPUT0", datatype, shape, size, **extra)]} | more
    return model, dump_json(document), blob or b""


def mixed(order: Sequence[int] = (0, 1, 2), outputs: Any = None, **more: Any) -> tuple[Any, ...]:
    entries = [
        (tensor("INPUT0", "FP16", [1, 3], 6), b"\1\2\3\4\5\6"),
        (tensor("INPUT1", "UINT32", [2, 1], 8), bytes(range(16, 24))),
        (tensor("INPUT2", "BOOL", [3], 3), b"\1\0\1"),
    ]
    inputs = [entries[i][0] for i in order]
    document = {"inputs": inputs} | ({} if outputs is None else {"outputs": outputs}) | more
    return "mixed", dump_json(document), b"".join(entries[i][1] for i in order)


def of_bytes(*elements: bytes) -> bytes:
    return b"".join(struct.pack("<I", len(element)) + element for element in elements)


ALL = {"parameters": {"binary_data_output": True}}
