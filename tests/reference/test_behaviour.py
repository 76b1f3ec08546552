"""What the reference server rejects, without sockets, and its faults."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from support.responses import ALL, INT32, binary_int32, mixed, of_bytes, one, out, post, tensor
from support.servers import ask, read_answer
from v2_conformance.protocol.message import dump_json
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request
from v2_mutants.faults import FAULTS
from v2_mutants.servers import MutantServer, mutated


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
    status, sent = ask(Behaviour(), "identity_int32", text, blob)
    assert status == 400, sent


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


def test_faults_name_known_requirements() -> None:
    broken = {fault.requirement for fault in FAULTS.values()}
    must = "P2 P3 P5 P6 P8 P9 P10 P11 P12 H1 H2 H3 H4 H5 H6 H7 H9 H10 H13 S1 S2 S3 S4 S5 S6 S7 S8"
    must += " S12 S13 D1 D2 D3 D5 D6 D7 D8 D9 D10 D11 D14 M1 M2 M3 M4 M5 M6 E1 E2 E4 E5 O18 R1 R2"
    must += " R3 " + " ".join(f"B{i}" for i in range(1, 14))
    must += " O1 O2 O3 O4 O5 O7 O8 O10 O11 O12 O13"
    assert set(must.split()) <= broken


def test_faults_compose() -> None:
    both = mutated(["output-size-as-string", "response-blobs-in-model-order"])
    _, sent = ask(both, *mixed(outputs=[out(2, True), out(1, True)]))
    assert b'"binary_data_size":"3"' in sent
    assert sent.partition(b"}]}")[2].startswith(bytes(range(16, 24)) + b"\1\0\1")


@pytest.mark.parametrize("backwards", [False, True])
def test_every_fault_composes_with_every_other(backwards: bool) -> None:
    assert mutated(sorted(FAULTS, reverse=backwards)).handle is not None


def test_a_crash_closes_the_port() -> None:
    with MutantServer(["rejection-stops-listening"]) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
            sock.sendall(post("identity_int32", binary_int32(), INT32))
            assert read_answer(sock)[0] == 200
            sock.sendall(post("identity_int32", binary_int32(), INT32, length="-1"))
            assert read_answer(sock)[0] == 400
        server.wait()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port), timeout=10)


def test_a_fault_sees_real_chunk_boundaries() -> None:
    model, text, blob = one("BYTES", [1], of_bytes(b"abc"), **ALL)
    head = post(model, text, blob, framing="Transfer-Encoding: chunked")
    with (
        MutantServer(["bytes-prefix-split-by-chunk"]) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock,
    ):
        for cut, status in ((len(text) + 2, 400), (len(text), 200), (len(text) + 4, 200)):
            whole = text + blob
            pieces = b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in (whole[:cut], whole[cut:]))
            sock.sendall(head + pieces + b"0\r\n\r\n")
            assert read_answer(sock)[0] == status
