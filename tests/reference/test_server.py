"""The reference server over real sockets."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from support.responses import INT32, binary_int32, out, post, tensor
from support.servers import call, read_answer, split
from v2_conformance import __version__
from v2_conformance.protocol.message import dump_json
from v2_conformance.reference.ordinary_models import ORDINARY_MODELS
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.suite.models import contract
from v2_mutants.servers import MutantServer


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


# --- endpoints -------------------------------------------------------------------------------


def test_server_metadata(server: ReferenceServer) -> None:
    status, headers, body = call(server.url, "GET", "/v2")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body) == {
        "name": "v2-conformance-reference",
        "version": __version__,
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
    names = [model.model for model in contract().values()]
    assert [entry["name"] for entry in entries] == [*names, *ORDINARY_MODELS]
    assert entries[0] | {"name": ""} == {
        "name": "", "version": "1", "state": "READY", "reason": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/", 404),
        ("GET", "/v2/models/none", 404),
        ("GET", "/v2/models/mixed/versions/2", 404),
        ("GET", "/v2/models/mixed/infer", 405),
        ("POST", "/v2", 405),
        ("DELETE", "/v2/models/mixed", 405),
    ],
)
def test_errors(server: ReferenceServer, method: str, path: str, expected: int) -> None:
    status, headers, body = call(server.url, method, path)
    assert (status, headers["content-type"]) == (expected, "application/json")
    assert isinstance(json.loads(body)["error"], str)
    assert ("allow" in headers) == (expected == 405)


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
            assert read_answer(sock)[0] == 400


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
    assert split(read_answer(sock))[1] == INT32


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
        assert split(read_answer(sock))[1] == INT32


def test_100_continue(connect: Callable[[], socket.socket]) -> None:
    sock = connect()
    wire = post("identity_int32", binary_int32(), INT32)
    head, _, body = wire.partition(b"\r\n\r\n")
    sock.sendall(head + b"\r\nExpect: 100-continue\r\n\r\n")
    assert sock.recv(25, socket.MSG_WAITALL) == b"HTTP/1.1 100 Continue\r\n\r\n"
    sock.sendall(body)
    assert split(read_answer(sock))[1] == INT32


def test_keep_alive_after_rejection(connect: Callable[[], socket.socket]) -> None:
    sock = connect()
    for _ in range(3):
        sock.sendall(post("identity_int32", binary_int32(), INT32, length="-1"))
        assert read_answer(sock)[0] == 400
        sock.sendall(post("identity_int32", binary_int32(), INT32))
        assert split(read_answer(sock))[1] == INT32


def test_connection_close(connect: Callable[[], socket.socket]) -> None:
    sock = connect()
    sock.sendall(b"GET /v2 HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
    assert read_answer(sock)[1]["connection"] == "close"
    assert sock.recv(1) == b""


@pytest.mark.parametrize(
    ("wire", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"POST /v2 HTTP/1.1\r\nHost: t\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /v2 HTTP/1.1\r\nHost: t\r\nContent-Length: 8589934593\r\n\r\n", 413),
        (b"GET /v2 HTTP/1.1\r\nHost: t\r\nX: " + b"x" * 70000 + b"\r\n\r\n", 431),
    ],
)
def test_bad_http_is_refused_and_closed(
    connect: Callable[[], socket.socket], wire: bytes, status: int
) -> None:
    sock = connect()
    sock.sendall(wire)
    sock.shutdown(socket.SHUT_WR)
    assert read_answer(sock)[0] == status
    assert sock.recv(1) == b""


def test_large_body(connect: Callable[[], socket.socket]) -> None:
    blob = np.arange(2**20, dtype="<u8").tobytes()
    document = {
        "inputs": [tensor("INPUT0", "UINT64", [2**20], 2**23)],
        "outputs": [out(0, True)],
    }
    sock = connect()
    sender = threading.Thread(
        target=sock.sendall, args=(post("identity_uint64", dump_json(document), blob),)
    )
    sender.start()
    assert split(read_answer(sock))[1] == blob
    sender.join()


@pytest.mark.parametrize(("name", "status"), [(b"gzip", 400), (b"br", 415)])
def test_a_body_that_cannot_be_decoded_is_refused(
    connect: Callable[[], socket.socket], name: bytes, status: int
) -> None:
    sock = connect()
    wire = post("identity_int32", binary_int32(), INT32)
    sock.sendall(wire.replace(b"Host: test", b"Host: test\r\nContent-Encoding: " + name))
    assert read_answer(sock)[0] == status


def test_without_the_profile_compression_a_compressed_body_is_415() -> None:
    with ReferenceServer(profiles=("binary",)) as server:
        sock = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        wire = post("identity_int32", binary_int32(), INT32)
        sock.sendall(wire.replace(b"Host: test", b"Host: test\r\nContent-Encoding: gzip"))
        assert read_answer(sock)[0] == 415
        sock.close()


def test_start_stop_start() -> None:
    server = MutantServer(["rejection-stops-listening"])
    server.start()
    sock = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    sock.sendall(b"GET /v2 HTTP/1.1\r\nHost: test\r\n\r\n")
    assert read_answer(sock)[0] == 200
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
    found = read_answer(sock)
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
    document, rest = split(read_answer(sock))
    assert [entry["shape"] for entry in document["outputs"]] == [[3, 1], [3, 1]]
    assert rest == struct.pack("<6f", 1, -2, 0, -1, 2, -0.0)
