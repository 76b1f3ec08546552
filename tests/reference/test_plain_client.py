"""The plain client, in process and as a command; that it passes every scenario is tested in
tests/maintenance/test_client_selftest.py."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.scenarios import UNSAID
from support.servers import free_port
from v2_clients.plain import PlainClient, run_task
from v2_clients.plain.task import calls
from v2_conformance.protocol.datatypes import from_values
from v2_conformance.reference.server import ReferenceServer

INT32 = base64.b64encode(np.arange(4, dtype="<i4").tobytes()).decode()


def task(**changes: Any) -> dict[str, Any]:
    """A task with one request for identity/INT32."""
    tensor = {"name": "INPUT0", "datatype": "INT32", "shape": [4], "data": INT32, "form": "binary"}
    request: dict[str, Any] = {
        **UNSAID,
        "model": "identity_int32",
        "inputs": [tensor],
        "outputs": [{"name": "OUTPUT0", "form": "binary"}],
    }
    return {"scenario": "made up", "url": "", "timeout_s": 20, "requests": [request | changes]}


def test_what_was_sent_comes_back(server: ReferenceServer) -> None:
    (line,) = run_task(task(id="größe"), server.url)
    assert line["outputs"] == [
        {"name": "OUTPUT0", "datatype": "INT32", "shape": [4], "data": INT32}
    ]
    assert (line["id"], line["model_name"]) == ("größe", "identity_int32")


def test_a_rejection_is_an_error_with_the_servers_words(server: ReferenceServer) -> None:
    (line,) = run_task(task(model="nowhere"), server.url)
    assert (line["status"], "unknown model" in line["error"]) == (404, True)


def test_a_server_that_is_not_there_is_an_error() -> None:
    (line,) = run_task(task(), f"http://127.0.0.1:{free_port()}")
    assert (line["status"], "ConnectionError" in line["error"]) == (None, True)


def test_all_requests_of_a_task_are_made_though_one_fails(server: ReferenceServer) -> None:
    both = task(model="nowhere")
    both["requests"] += task()["requests"]
    first, second = run_task(both, server.url)
    assert "error" in first
    assert "outputs" in second


@pytest.mark.parametrize(
    ("layout", "strides"), [("row-major", (8, 4)), ("column-major", (4, 8)), ("big-endian", (8, 4))]
)
def test_an_array_lies_in_memory_as_the_task_says(layout: str, strides: tuple[int, int]) -> None:
    entry = {"name": "I", "datatype": "INT32", "shape": [2, 2], "data": INT32, "form": "binary"}
    (call,) = calls(task(inputs=[{**entry, "layout": layout}]))
    array = call.inputs[0].array
    assert array.tolist() == [[0, 1], [2, 3]]
    assert array.strides == strides
    assert (array.dtype.byteorder == ">") is (layout == "big-endian")


@pytest.mark.parametrize(
    "values",
    [
        [1.0, -1.0, 0.1, 3e38],
        [float("inf"), float("-inf"), 0.0, -0.0],
        [1e-40, 1.00390625, 2.5, 7.1],
    ],
)
def test_fp32_is_rounded_to_bf16_as_the_suite_does(values: list[float]) -> None:
    client = PlainClient("http://localhost", 1)
    single = np.array(values, "<f4")
    exact = from_values("BF16", single.astype("<f8").tolist())
    assert client.bf16_bits(single).tobytes() == exact


def run_command(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "v2_clients.plain", *arguments],
        input=json.dumps({**task(), "scenario": "K2/made", "url": url}),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_as_a_command_it_prints_a_line_for_each_request(tmp_path: Path) -> None:
    with ReferenceServer() as server:
        done = run_command(server.url)
    assert done.returncode == 0, done.stderr
    (line,) = json.loads(done.stdout)["lines"]
    assert line["outputs"][0]["data"] == INT32


def test_as_a_command_it_takes_a_fault(tmp_path: Path, server: ReferenceServer) -> None:
    done = run_command(server.url, "--fault", "header-length-missing")
    (line,) = json.loads(done.stdout)["lines"]
    assert line["status"] == 400


def test_as_a_command_it_refuses_a_fault_that_is_not_there(tmp_path: Path) -> None:
    done = run_command("http://localhost:1", "--fault", "header-length-mising")
    assert done.returncode == 2
    assert "did you mean header-length-missing" in done.stderr
