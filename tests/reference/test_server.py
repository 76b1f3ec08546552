"""The reference server over real sockets, and its faults."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import conformance
from conformance.contract import contract
from conformance.errors import UsageError
from conformance.message import HEADER_LENGTH, dump_json, parse_json
from conformance.reference.behaviour import Behaviour
from conformance.reference.exchange import Request
from conformance.reference.faults import FAULTS, behaviour_with
from conformance.reference.server import ReferenceServer

INT32 = bytes(range(16))
Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture(scope="module")
def server() -> Iterator[ReferenceServer]:
    with ReferenceServer() as running:
        yield running


@pytest.fixture
def connect(server: ReferenceServer) -> Iterator[Callable[[], socket.socket]]:
    opened: list[socket.socket] = []

    def open_one() -> socket.socket:
        opened.append(socket.create_connection(("127.0.0.1", server.port), timeout=10))
        opened[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened[-1]

    yield open_one
    for sock in opened:
        sock.close()


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


# --- endpoints -------------------------------------------------------------------------------


def test_server_metadata(server: ReferenceServer) -> None:
    status, headers, body = call(server.url, "GET", "/v2")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body) == {
        "name": "v2-conformance-reference",
        "version": conformance.__version__,
        "extensions": ["binary_tensor_data"],
    }


@pytest.mark.parametrize("path", ["/v2/models/mixed", "/v2/models/mixed/versions/1"])
def test_model_metadata(server: ReferenceServer, path: str) -> None:
    document = json.loads(call(server.url, "GET", path)[2])
    assert (document["name"], document["versions"]) == ("mixed", ["1"])
    assert document["inputs"][2] == {"name": "INPUT2", "datatype": "BOOL", "shape": [-1]}
    assert [entry["name"] for entry in document["outputs"]] == ["OUTPUT0", "OUTPUT1", "OUTPUT2"]


@pytest.mark.parametrize("path", ["/v2/health/live", "/v2/health/ready", "/v2/models/mixed/ready"])
def test_health(server: ReferenceServer, path: str) -> None:
    status, headers, body = call(server.url, "GET", path)
    assert (status, headers["content-length"], body) == (200, "0", b"")


def test_repository_index(server: ReferenceServer) -> None:
    entries = json.loads(call(server.url, "POST", "/v2/repository/index")[2])
    assert [entry["name"] for entry in entries] == [m.model for m in contract().values()]
    assert entries[0] | {"name": ""} == {
        "name": "", "version": "1", "state": "READY", "reason": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "wanted"),
    [
        ("GET", "/", 404),
        ("GET", "/v2/models/none", 404),
        ("GET", "/v2/models/mixed/versions/2", 404),
        ("GET", "/v2/models/mixed/infer", 405),
        ("POST", "/v2", 405),
        ("DELETE", "/v2/models/mixed", 405),
    ],
)
def test_errors(server: ReferenceServer, method: str, path: str, wanted: int) -> None:
    status, headers, body = call(server.url, method, path)
    assert (status, headers["content-type"]) == (wanted, "application/json")
    assert isinstance(json.loads(body)["error"], str)
    assert ("allow" in headers) == (wanted == 405)


def test_head_has_no_body(connect: Callable[[], socket.socket]) -> None:
    sock = connect()
    sock.sendall(b"HEAD /v2 HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
    received = b"".join(iter(lambda: sock.recv(4096), b""))
    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert received.endswith(b"\r\n\r\n")


def test_models_of_other_profiles_are_absent() -> None:
    with ReferenceServer(profiles=("binary",)) as plain:
        assert call(plain.url, "GET", "/v2/models/raw_fixed")[0] == 404
        assert call(plain.url, "GET", "/v2/models/identity_bf16")[0] == 404
        with socket.create_connection(("127.0.0.1", plain.port), timeout=10) as sock:
            sock.sendall(post("identity_int32", b"", INT32, length="0"))
            assert answer(sock)[0] == 400


# --- HTTP ------------------------------------------------------------------------------------


def test_pipelined(connect: Callable[[], socket.socket]) -> None:
    sock = connect()
    texts = [binary_int32(id=str(i)) for i in range(5)]
    sock.sendall(b"".join(post("identity_int32", text, INT32) for text in texts))
    stream = sock.makefile("rb")
    for i in range(5):
        head = b"".join(iter(stream.readline, b"\r\n")).lower()
        size = int(head.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0])
        body = stream.read(size)
        assert f'"id":"{i}"'.encode() in body
        assert body.endswith(INT32)
    stream.close()


def test_byte_by_byte(connect: Callable[[], socket.socket]) -> None:
    sock = connect()
    for byte in post("identity_int32", binary_int32(), INT32):
        sock.sendall(bytes([byte]))
    assert split(answer(sock))[1] == INT32


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_chunked(connect: Callable[[], socket.socket], size: int) -> None:
    sock = connect()
    text = binary_int32()
    body = text + INT32
    chunks = [body[i : i + size] for i in range(0, len(body), size)]
    wire = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    head = post("identity_int32", text, INT32, framing="Transfer-Encoding: chunked")
    for _ in range(2):
        sock.sendall(head + wire)
        assert split(answer(sock))[1] == INT32


def test_100_continue(connect: Callable[[], socket.socket]) -> None:
    sock = connect()
    wire = post("identity_int32", binary_int32(), INT32)
    head, _, body = wire.partition(b"\r\n\r\n")
    sock.sendall(head + b"\r\nExpect: 100-continue\r\n\r\n")
    assert sock.recv(25, socket.MSG_WAITALL) == b"HTTP/1.1 100 Continue\r\n\r\n"
    sock.sendall(body)
    assert split(answer(sock))[1] == INT32


def test_keep_alive_after_rejection(connect: Callable[[], socket.socket]) -> None:
    sock = connect()
    for _ in range(3):
        sock.sendall(post("identity_int32", binary_int32(), INT32, length="-1"))
        assert answer(sock)[0] == 400
        sock.sendall(post("identity_int32", binary_int32(), INT32))
        assert split(answer(sock))[1] == INT32


def test_connection_close(connect: Callable[[], socket.socket]) -> None:
    sock = connect()
    sock.sendall(b"GET /v2 HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
    assert answer(sock)[1]["connection"] == "close"
    assert sock.recv(1) == b""


@pytest.mark.parametrize(
    ("wire", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"POST /v2 HTTP/1.1\r\nHost: t\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /v2 HTTP/1.1\r\nHost: t\r\nContent-Length: 2147483649\r\n\r\n", 413),
        (b"GET /v2 HTTP/1.1\r\nHost: t\r\nX: " + b"x" * 70000 + b"\r\n\r\n", 431),
    ],
)
def test_bad_http_is_refused_and_closed(
    connect: Callable[[], socket.socket], wire: bytes, status: int
) -> None:
    sock = connect()
    sock.sendall(wire)
    sock.shutdown(socket.SHUT_WR)
    assert answer(sock)[0] == status
    assert sock.recv(1) == b""


def test_large_body(connect: Callable[[], socket.socket]) -> None:
    blob = np.arange(2**20, dtype="<u8").tobytes()
    document = {"inputs": [tensor("INPUT0", "UINT64", [2**20], 2**23)], "outputs": [out(0, True)]}
    sock = connect()
    sender = threading.Thread(
        target=sock.sendall, args=(post("identity_uint64", dump_json(document), blob),)
    )
    sender.start()
    assert split(answer(sock))[1] == blob
    sender.join()


@pytest.mark.parametrize(("name", "status"), [(b"gzip", 400), (b"br", 415)])
def test_a_body_that_cannot_be_decoded_is_refused(
    connect: Callable[[], socket.socket], name: bytes, status: int
) -> None:
    sock = connect()
    wire = post("identity_int32", binary_int32(), INT32)
    sock.sendall(wire.replace(b"Host: test", b"Host: test\r\nContent-Encoding: " + name))
    assert answer(sock)[0] == status


def test_without_the_profile_compression_a_compressed_body_is_415() -> None:
    with ReferenceServer(profiles=("binary",)) as server:
        sock = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        wire = post("identity_int32", binary_int32(), INT32)
        sock.sendall(wire.replace(b"Host: test", b"Host: test\r\nContent-Encoding: gzip"))
        assert answer(sock)[0] == 415
        sock.close()


def test_start_stop_start() -> None:
    server = ReferenceServer(["rejection-stops-listening"])
    server.start()
    sock = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    sock.sendall(b"GET /v2 HTTP/1.1\r\nHost: test\r\n\r\n")
    assert answer(sock)[0] == 200
    server.stop()
    server.stop()
    assert sock.recv(1) == b""
    sock.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=10)
    with server:
        assert call(server.url, "GET", "/v2")[0] == 200


# --- the extension ---------------------------------------------------------------------------


def test_binary_round_trip(connect: Callable[[], socket.socket]) -> None:
    sock = connect()
    sock.sendall(post("identity_int32", b" \n" + binary_int32(id="ä€") + b"\t ", INT32))
    found = answer(sock)
    document, rest = split(found)
    assert found[1]["content-type"] == "application/octet-stream"
    assert (document["id"], document["model_name"], document["model_version"]) == (
        "ä€", "identity_int32", "1",
    )  # fmt: skip
    assert document["outputs"] == [tensor("OUTPUT0", "INT32", [4], 16)]
    assert rest == INT32


def test_raw_two_outputs(connect: Callable[[], socket.socket]) -> None:
    sock = connect()
    sock.sendall(post("raw_two_outputs", b"", struct.pack("<5f", 1, -2, 0, 4, 5), length="0"))
    document, rest = split(answer(sock))
    assert [entry["shape"] for entry in document["outputs"]] == [[3, 1], [3, 1]]
    assert rest == struct.pack("<6f", 1, -2, 0, -1, 2, -0.0)


def _int32(**changes: Any) -> dict[str, Any]:
    return {"inputs": [tensor("INPUT0", "INT32", [4], 16) | changes]}


@pytest.mark.parametrize(
    ("document", "blob"),
    [
        (_int32(), INT32[:-1]),
        (_int32(), INT32 + b"\0"),
        (_int32(shape=[3]), INT32),
        (_int32(shape=[2**62 + 4]), INT32),
        (_int32(shape=[2, 2]), INT32),
        (_int32(datatype="FP32"), INT32),
        (_int32(data=[1, 2, 3, 4]), INT32),
        (_int32(parameters={"binary_data_size": 16.5}), INT32),
        (_int32(parameters={"binary_data_size": True}), INT32),
        (_int32(parameters={"binary_data_size": "16"}), INT32),
        (_int32(parameters={"binary_data_size": -16}), INT32),
        (_int32(parameters={}), b""),
        ({"inputs": _int32()["inputs"] * 2}, INT32 * 2),
        ({"inputs": []}, b""),
        (_int32() | {"outputs": [out(), out()]}, INT32),
        (_int32() | {"outputs": [out(7)]}, INT32),
        (_int32() | {"outputs": [out(0, 1)]}, INT32),
        (_int32() | {"parameters": {"binary_data_output": "true"}}, INT32),
        (_int32() | {"id": 5}, INT32),
    ],
)
def test_rejected(document: dict[str, Any], blob: bytes) -> None:
    text = dump_json(document)
    status, answered = ask(Behaviour(), "identity_int32", text, blob)
    assert status == 400, answered


@pytest.mark.parametrize("size", [16.0, 16])
def test_whole_float_sizes_are_accepted(size: float) -> None:
    text = dump_json(_int32(parameters={"binary_data_size": size, "other": 1}))
    assert ask(Behaviour(), "identity_int32", text, INT32)[0] == 200


def test_an_unexpected_exception_is_500() -> None:
    class Broken(Behaviour):
        def extensions(self) -> list[str]:
            raise RuntimeError("broken")

    request = Request("GET", "/v2", "1.1", (), b"", memoryview(b""))
    assert Broken().handle(request).status == 500


# --- faults ----------------------------------------------------------------------------------


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


def _one(datatype: str, shape: list[int], blob: bytes | None, **more: Any) -> tuple[Any, ...]:
    """A request to an identity model with one binary input; `data` and others in `more`."""
    model = f"{'identity' if len(shape) == 1 else 'matrix'}_{datatype.lower()}"
    extra = {"data": more.pop("data")} if "data" in more else {}
    size = more.pop("size", None if blob is None else len(blob))
    document = {"inputs": [tensor("INPUT0", datatype, shape, size, **extra)]} | more
    return model, dump_json(document), blob or b""


def _mixed(order: Sequence[int] = (0, 1, 2), outputs: Any = None, **more: Any) -> tuple[Any, ...]:
    entries = [
        (tensor("INPUT0", "FP16", [1, 3], 6), b"\1\2\3\4\5\6"),
        (tensor("INPUT1", "UINT32", [2, 1], 8), bytes(range(16, 24))),
        (tensor("INPUT2", "BOOL", [3], 3), b"\1\0\1"),
    ]
    inputs = [entries[i][0] for i in order]
    document = {"inputs": inputs} | ({} if outputs is None else {"outputs": outputs}) | more
    return "mixed", dump_json(document), b"".join(entries[i][1] for i in order)


def _b(*elements: bytes) -> bytes:
    return b"".join(struct.pack("<I", len(element)) + element for element in elements)


ALL = {"parameters": {"binary_data_output": True}}


def test_faults_name_known_requirements() -> None:
    broken = {fault.requirement for fault in FAULTS.values()}
    must = "P2 P3 P5 P6 P8 P9 P10 P11 P12 H1 H2 H3 H4 H5 H6 H7 H9 H10 H13 S1 S2 S3 S4 S5 S6 S7 S8"
    must += " S12 S13 D1 D2 D3 D5 D6 D7 D8 D9 D10 D11 D14 M1 M2 M3 M4 M5 M6 E1 E2 E4 E5 O18 R1 R2"
    must += " R3 " + " ".join(f"B{i}" for i in range(1, 14))
    must += " O1 O2 O3 O4 O5 O7 O8 O10 O11 O12 O13"
    assert set(must.split()) <= broken
    assert all(fault.text.endswith(".") for fault in FAULTS.values())


def test_faults_compose() -> None:
    both = behaviour_with(["output-size-as-string", "response-blobs-in-model-order"])
    _, sent = ask(both, *_mixed(outputs=[out(2, True), out(1, True)]))
    assert b'"binary_data_size":"3"' in sent
    assert sent.partition(b"}]}")[2].startswith(bytes(range(16, 24)) + b"\1\0\1")


def test_every_fault_composes_with_every_other() -> None:
    assert behaviour_with(sorted(FAULTS)).handle is not None


def test_unknown_fault_names_the_close_ones() -> None:
    with pytest.raises(UsageError, match="response-blobs-padded"):
        ReferenceServer(["response-blob-padded"])


def test_a_crash_closes_the_port() -> None:
    with ReferenceServer(["rejection-stops-listening"]) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
            sock.sendall(post("identity_int32", binary_int32(), INT32))
            assert answer(sock)[0] == 200
            sock.sendall(post("identity_int32", binary_int32(), INT32, length="-1"))
            assert answer(sock)[0] == 400
        server.wait()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port), timeout=10)


def test_a_fault_sees_real_chunk_boundaries() -> None:
    model, text, blob = _one("BYTES", [1], _b(b"abc"), **ALL)
    head = post(model, text, blob, framing="Transfer-Encoding: chunked")
    with (
        ReferenceServer(["bytes-prefix-split-by-chunk"]) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock,
    ):
        for cut, status in ((len(text) + 2, 400), (len(text), 200), (len(text) + 4, 200)):
            whole = text + blob
            pieces = b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in (whole[:cut], whole[cut:]))
            sock.sendall(head + pieces + b"0\r\n\r\n")
            assert answer(sock)[0] == status
