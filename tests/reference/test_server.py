"""The reference server over real sockets and the plain client: what no case asks of them."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from support.scenarios import UNSAID
from support.servers import call, free_port, read_answer
from v2_clients.plain import PlainClient, run_task
from v2_clients.plain.task import calls
from v2_conformance.protocol.datatypes import from_values
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request
from v2_conformance.reference.response_writer import reason_phrase
from v2_conformance.reference.server import ReferenceServer
from v2_mutants.servers import MutantServer


@pytest.fixture
def connect(server: ReferenceServer) -> Iterator[Callable[[], socket.socket]]:
    with contextlib.ExitStack() as stack:
        address = ("127.0.0.1", server.port)
        yield lambda: stack.enter_context(socket.create_connection(address, timeout=10))


def test_errors_say_what_is_allowed(server: ReferenceServer) -> None:
    for method, path, expected in (
        ("GET", "/", 404),
        ("GET", "/v2/models/mixed/versions/2", 404),
        ("GET", "/v2/models/mixed/infer", 405),
        ("POST", "/v2", 405),
    ):
        status, headers, body = call(server.url, method, path)
        assert (status, headers["content-type"]) == (expected, "application/json")
        assert isinstance(json.loads(body)["error"], str)
        assert ("allow" in headers) == (expected == 405)


def test_models_of_other_profiles_are_absent() -> None:
    with ReferenceServer(profiles=("binary",)) as plain:
        assert call(plain.url, "GET", "/v2/models/raw_fixed")[0] == 404
        assert call(plain.url, "GET", "/v2/models/identity_bf16")[0] == 404
        with socket.create_connection(("127.0.0.1", plain.port), timeout=10) as sock:
            head = b"POST /v2/models/identity_int32/infer HTTP/1.1\r\nHost: test\r\n"
            lengths = b"Inference-Header-Content-Length: 0\r\nContent-Length: 16\r\n\r\n"
            sock.sendall(head + lengths + bytes(16))
            assert read_answer(sock)[0] == 400


@pytest.mark.parametrize(
    ("wire", "status"),
    [
        (b"POST /v2 HTTP/1.1\r\nHost: t\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /v2 HTTP/1.1\r\nHost: t\r\nContent-Length: 8589934593\r\n\r\n", 413),
        (b"GET /v2 HTTP/1.1\r\nHost: t\r\nX: " + b"x" * 70000 + b"\r\n\r\n", 431),
    ],
)
def test_bad_http_is_refused(
    connect: Callable[[], socket.socket], wire: bytes, status: int
) -> None:
    sock = connect()
    sock.sendall(wire)
    sock.shutdown(socket.SHUT_WR)
    assert read_answer(sock)[0] == status
    assert sock.recv(1) == b""


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


def test_an_unexpected_exception_is_500() -> None:
    class Broken(Behavior):
        def extensions(self) -> list[str]:
            raise RuntimeError("broken")

    request = Request("GET", "/v2", "1.1", (), b"", memoryview(b""))
    assert Broken().handle(request).status == 500


DATA = base64.b64encode(np.arange(4, dtype="<i4").tobytes()).decode()


def task(**changes: Any) -> dict[str, Any]:
    """A task with one request for identity/INT32."""
    tensor = {"name": "INPUT0", "datatype": "INT32", "shape": [4], "data": DATA, "form": "binary"}
    request: dict[str, Any] = {
        **UNSAID,
        "model": "identity_int32",
        "inputs": [tensor],
        "outputs": [{"name": "OUTPUT0", "form": "binary"}],
    }
    return {"scenario": "made up", "url": "", "timeout_s": 20, "requests": [request | changes]}


def test_a_server_that_is_not_there_is_an_error() -> None:
    (line,) = run_task(task(), f"http://127.0.0.1:{free_port()}")
    assert (line["status"], "ConnectionError" in line["error"]) == (None, True)


@pytest.mark.parametrize(
    ("layout", "strides"), [("row-major", (8, 4)), ("column-major", (4, 8)), ("big-endian", (8, 4))]
)
def test_an_array_lies_in_memory_as_the_task_says(layout: str, strides: tuple[int, int]) -> None:
    entry = {"name": "I", "datatype": "INT32", "shape": [2, 2], "data": DATA, "form": "binary"}
    (call,) = calls(task(inputs=[{**entry, "layout": layout}]))
    array = call.inputs[0].array
    assert array.tolist() == [[0, 1], [2, 3]]
    assert (array.strides, array.dtype.byteorder == ">") == (strides, layout == "big-endian")


def test_fp32_is_rounded_to_bf16_as_the_suite_does() -> None:
    values = [1.0, -1.0, 0.1, 3e38, float("inf"), float("-inf"), 0.0, -0.0, 1e-40, 1.00390625, 7.1]
    single = np.array(values, "<f4")
    exact = from_values("BF16", single.astype("<f8").tolist())
    assert PlainClient("http://localhost", 1).bf16_bits(single).tobytes() == exact


def run_command(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "v2_clients.plain", *arguments],
        input=json.dumps({**task(), "scenario": "K2/made", "url": url}),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_as_a_command_it_prints_a_line_for_each_request_and_takes_a_fault(url: str) -> None:
    done = run_command(url)
    assert done.returncode == 0, done.stderr
    (line,) = json.loads(done.stdout)["lines"]
    assert line["outputs"][0]["data"] == DATA
    (line,) = json.loads(run_command(url, "--fault", "header-length-missing").stdout)["lines"]
    assert line["status"] == 400
    misspelled = run_command(url, "--fault", "header-length-mising")
    assert misspelled.returncode == 2
    assert "did you mean header-length-missing" in misspelled.stderr


def test_phrases_are_those_of_rfc_9110_in_each_python() -> None:
    assert [*map(reason_phrase, (200, 413, 799))] == ["OK", "Content Too Large", "Unknown"]
