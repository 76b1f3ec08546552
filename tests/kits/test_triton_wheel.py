"""The script of the kit triton that serves it from a wheel, with a wheel that carries no Triton."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.servers import free_port
from v2_conformance.kits.registry import write_kit

_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
# It tells how it was started, and stays until it is told to end, unless an option says otherwise.
# With --answer it is ready at once, and dies of GET /die.
_SERVER = f"""#!{sys.executable}
import json, os, signal, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
backends = next(a.partition("=")[2] for a in sys.argv if a.startswith("--backend-directory="))
stub = os.path.join(backends, "python", "triton_python_backend_stub")
print(json.dumps({{
    "arguments": sys.argv[1:],
    "backends": backends,
    "stub": os.access(stub, os.X_OK),
    "libraries": os.environ["LD_LIBRARY_PATH"].split(os.pathsep),
    "path": os.environ["PATH"].split(os.pathsep),
    "pid": os.getpid(),
}}), flush=True)
if "--end=signal" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
if "--end=7" in sys.argv:
    sys.exit(7)
if "--answer" in sys.argv:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/die":
                os._exit(7)
            self.send_response(200)
            self.end_headers()
    port = next(a.partition("=")[2] for a in sys.argv if a.startswith("--http-port="))
    HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
signal.pause()
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with what nvidia-pytriton 0.7.0 installs, as far as the script looks at it."""
    folder = tmp_path / "packages"
    triton = folder / "pytriton" / "tritonserver"
    stubs = triton / "python_backend_stubs" / _PYTHON
    for each in (triton / "bin", triton / "backends" / "python", stubs):
        each.mkdir(parents=True)
    (folder / "pytriton" / "__init__.py").write_text("raise ImportError('no need to')\n", "utf-8")
    (triton / "backends" / "python" / "libtriton_python.so").touch()
    (stubs / "triton_python_backend_stub").touch(mode=0o644)
    server = triton / "bin" / "tritonserver"
    server.write_text(_SERVER, "utf-8")
    server.chmod(0o755)
    info = folder / "nvidia_pytriton-0.7.0.dist-info"
    info.mkdir()
    text = "Metadata-Version: 2.1\nName: nvidia-pytriton\nVersion: 0.7.0\n"
    (info / "METADATA").write_text(text, "utf-8")
    return folder


@pytest.fixture
def start(packages: Path, tmp_path: Path) -> Start:
    write_kit("triton", tmp_path / "models")
    # For the backends that it copies: short, and gone with the test.
    (tmp_path / "tmp").mkdir()

    def started(*options: str, port: int | None = None) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(packages), "TMPDIR": str(tmp_path / "tmp")}
        script = str(tmp_path / "models" / "serve_wheel.py")
        # A shell that runs the tests in the background has them ignore SIGINT.
        heed = (
            "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
            "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
        )
        return subprocess.Popen(
            [sys.executable, "-c", heed, script, f"--port={port or free_port()}", *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return started


def _told(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def test_server_gets_models_port_and_options(start: Start, tmp_path: Path, packages: Path) -> None:
    port = free_port()
    with start("--allow-vertex-ai=true", "--end=7", port=port) as process:
        told = _told(process)
    assert process.returncode == 7
    assert f"--model-repository={tmp_path / 'models'}" in told["arguments"]
    assert f"--http-port={port}" in told["arguments"]
    assert told["arguments"][-2:] == ["--allow-vertex-ai=true", "--end=7"]
    assert "--backend-config=python,shm-default-byte-size=1048576" in told["arguments"]
    assert told["stub"] is True
    assert told["libraries"][0] == str(packages / "nvidia_pytriton.libs")
    assert told["path"][0] == str(Path(sys.executable).parent)
    with start("--end=signal") as process:
        _told(process)
    assert process.returncode == 128 + signal.SIGKILL  # as a shell tells it
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_leaving_nothing(number: signal.Signals, start: Start, tmp_path: Path) -> None:
    with start() as process:
        told = _told(process)
        assert Path(told["backends"]).is_dir()
        process.send_signal(number)
        assert process.wait(30) == 128 + signal.SIGTERM
    assert not list((tmp_path / "tmp").iterdir())


def _restart(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(tmp_path / "models" / "serve_wheel.py"), "--restart"]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60, check=False)


def test_a_server_that_dies_is_started_again(start: Start, tmp_path: Path) -> None:
    port = free_port()
    with start("--answer", port=port) as process:
        first = _told(process)
        assert _restart(tmp_path).returncode == 0  # so the server is known to be ready
        second = _told(process)
        with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
            connection.request("GET", "/die")
        third = _told(process)
        process.terminate()
    assert len({told["pid"] for told in (first, second, third)}) == 3


def test_what_keeps_it_from_serving_is_one_line(
    start: Start, packages: Path, tmp_path: Path
) -> None:
    def complaint(**how: int) -> str:
        with start(**how) as process:
            _out, error = process.communicate(timeout=30)
        assert process.returncode == 1
        return error

    done = _restart(tmp_path)
    assert (done.returncode, done.stderr) == (1, "nothing serves this folder: start it first\n")
    with start() as process:
        _told(process)
        assert complaint() == "something serves this folder already\n"
        process.terminate()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert complaint(port=port) == f"something else listens on 127.0.0.1:{port}\n"
    stubs = packages / "pytriton" / "tritonserver" / "python_backend_stubs"
    (stubs / _PYTHON).rename(stubs / "0.0")
    assert complaint() == f"nvidia-pytriton 0.7.0 has no stub for Python {_PYTHON}\n"
    (packages / "pytriton" / "__init__.py").unlink()
    (packages / "pytriton").rename(packages / "other")
    assert complaint() == f"{sys.executable} has no nvidia-pytriton: install it with its pip\n"
