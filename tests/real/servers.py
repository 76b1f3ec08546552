"""Real servers with the suite's model kits deployed, run from what pip installed.

The server is looked up in the environment of the running Python, or of another one that is named:
`nvidia-pytriton` brings a complete Triton, the others are Python packages. They pin different
numpy and protobuf, so each wants an environment of its own.

A server that ends before it is ready is started again, for Triton sometimes does on a busy machine
(boost's lock_exception while its models load). One that was ready never is.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from v2_conformance.kits.registry import write_kit
from v2_conformance.runs.targets.started import signal_group
from v2_conformance.suite.models import contract

READY_WITHIN_S = 180.0
STARTS = 3
_POLL_S = 0.2
_STOP_WITHIN_S = 15.0
_LOG_TAIL_LINES = 40
_LOOK_UP = "import importlib.util, sys; sys.exit(not importlib.util.find_spec(sys.argv[1]))"
_MODULES = {
    "kserve": "kserve",
    "lite-server": "lite_server",
    "mlserver": "mlserver",
    "triton": "pytriton",
}


class ServerFailedError(RuntimeError):
    """A real server is not installed, ended, or was not ready in time; the message says which."""


class EndedEarlyError(ServerFailedError):
    """A server ended before it was ready."""


@dataclass(frozen=True)
class Deployed:
    """Models to deploy instead of the kit: those in `folder`, under these names."""

    folder: Path
    names: tuple[str, ...]


@contextmanager
def real_server(
    kit: str,
    workdir: Path,
    port: int | None = None,
    python: Path | None = None,
    deployed: Deployed | None = None,
) -> Iterator[str]:
    """Run the server of a kit; yield its URL on 127.0.0.1 once every model is ready.

    `workdir` must be new or empty. It gets the kit, or what is `deployed` instead, in models/, and
    server.log. `port` None is any free one. `python` is that of the environment with the server, by
    default the running one; v2-conformance need not be installed there.
    """
    python = python or Path(sys.executable)
    # Looked up, not imported: importing any of them starts a lot that is of no use here.
    if subprocess.run([str(python), "-c", _LOOK_UP, _MODULES[kit]], check=False).returncode:
        raise ServerFailedError(f"{_MODULES[kit]} is not installed for {python}")
    models = workdir / "models"
    names = _deploy(kit, deployed, models)
    port = usable_port(port)
    with started(_command(kit, python, models, port), workdir, port, names) as url:
        yield url


SERVERS: dict[str, Callable[..., AbstractContextManager[str]]] = {
    kit: partial(real_server, kit) for kit in _MODULES
}
"""`real_server` by the name of its kit."""


def _deploy(kit: str, deployed: Deployed | None, models: Path) -> list[str]:
    """Write a kit, or in it what is `deployed` instead of its models; return their names."""
    if deployed is None:
        write_kit(kit, models)
        names = [model.model for model in contract().values()]
        # MLServer has no BF16.
        return [name for name in names if kit != "mlserver" or (models / name).is_dir()]
    shutil.copytree(deployed.folder, models)
    if kit == "triton":  # what starts it belongs to the kit
        write_kit(kit, models.parent / "kit")
        shutil.copy(models.parent / "kit" / "serve_wheel.py", models)
    return list(deployed.names)


def _command(kit: str, python: Path, models: Path, port: int) -> list[str]:
    """What starts a server. KServe always listens on all interfaces, it has no option for that."""
    if kit == "lite-server":
        program = [str(python.with_name("lite-server")), "serve", f"--port={port}"]
        return [*program, f"--config={models}/server.yaml", f"--model-repo={models}/models"]
    if kit != "mlserver":
        script = {"kserve": "server.py", "triton": "serve_wheel.py"}[kit]
        return [str(python), str(models / script), f"--port={port}"]
    settings = models / "settings.json"
    # Its gRPC server cannot be left out.
    ports = {"http_port": port, "grpc_port": usable_port(None)}
    settings.write_text(json.dumps({**json.loads(settings.read_text("utf-8")), **ports}), "utf-8")
    return [str(python.with_name("mlserver")), "start", str(models)]


def usable_port(port: int | None) -> int:
    """`port` if nobody listens there, or any such port for None."""
    # Asked beforehand: polling would take whoever has the port for the server just started.
    try:
        with socket.create_server(("127.0.0.1", port or 0)) as listener:
            usable: int = listener.getsockname()[1]
            return usable
    except OSError as error:
        raise ServerFailedError(f"cannot use port {port}: {error.strerror}") from error


@contextmanager
def started(
    command: Sequence[str], workdir: Path, port: int, models: Collection[str]
) -> Iterator[str]:
    """The URL of a running server once `models` are ready, after up to STARTS attempts as long as
    it ends before that. Stderr tells, and server.log has all of them."""
    with ExitStack() as stack:
        for attempt in range(1, STARTS + 1):
            try:
                url = stack.enter_context(_running(command, workdir, port, models))
                break
            except EndedEarlyError as error:
                if attempt == STARTS:
                    raise
                again = f"starting it again, attempt {attempt + 1} of {STARTS}"
                print(f"{error}\n{again}", file=sys.stderr)
        # Whatever happens from here on, the server was ready.
        yield url


@contextmanager
def _running(
    command: Sequence[str], workdir: Path, port: int, models: Collection[str]
) -> Iterator[str]:
    url = f"http://127.0.0.1:{port}"
    log = workdir / "server.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=workdir,
            # lite-server starts its models with the first python3 on the PATH.
            env={**os.environ, "PATH": _path(Path(command[0]))},
            # A group of its own: what it starts must end with it.
            start_new_session=True,
        )
    try:
        _await_ready(process, url, log, models)
        yield url
    finally:
        signal_group(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_WITHIN_S)
        # A server that hangs, and children that outlived theirs.
        signal_group(process, signal.SIGKILL)
        process.wait()


def _path(program: Path) -> str:
    """Return the PATH on which what lies beside a program comes first."""
    return f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"


@contextmanager
def inside(folder: Path, python: Path | None = None) -> Iterator[None]:
    """In `folder`, with `python` first on the PATH: so the words of a kit are to be followed, and a
    report has none of this machine's paths."""
    before, path = Path.cwd(), os.environ.get("PATH", "")
    os.environ["PATH"] = _path(python or Path(sys.executable))
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ["PATH"] = path


def _await_ready(
    process: subprocess.Popen[bytes], url: str, log: Path, models: Collection[str]
) -> None:
    missing = ["/v2/health/ready"]
    for model in models:
        missing += [f"/v2/models/{model}", f"/v2/models/{model}/ready"]
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        while missing and _answers_200(url, missing[0]):
            del missing[0]
        try:
            # The pause between two polls, which ends at once when the server does.
            code = process.wait(_POLL_S if missing else 0)
        except subprocess.TimeoutExpired:
            if not missing:
                return
            if time.monotonic() > deadline:
                late = f"not ready after {READY_WITHIN_S:.0f} s: {', '.join(missing)}"
                raise ServerFailedError(f"{late}\n{log_tail(log)}") from None
        else:
            ended = f"the server ended with exit code {code} before it was ready"
            raise EndedEarlyError(f"{ended}\n{log_tail(log)}")


def _answers_200(url: str, path: str) -> bool:
    # http.client and no library above it: a proxy from the environment must not come between.
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def log_tail(log: Path) -> str:
    """The last lines of a server's log."""
    with log.open(encoding="utf-8", errors="replace") as lines:
        return "".join(deque(lines, _LOG_TAIL_LINES))
