"""Triton's endpoints for SageMaker and Vertex AI, as those platforms start them."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from servers import ServerFailedError, log_tail, running_triton, started_again, usable_port
from v2_conformance.kits import write_kit
from v2_conformance.suite.models import contract

_LOADED_WITHIN_S = 120
_LISTENS_WITHIN_S = 30
_POLL_S = 0.1
_ROUTE = "/predict"


@started_again
@contextmanager
def sagemaker_endpoint(
    workdir: Path, port: int | None = None, python: Path | None = None
) -> Iterator[str]:
    """Run a multi-model endpoint for SageMaker; yield its URL once every model is loaded.

    The platform loads each model from a folder of its own (POST /models), and so does this.
    """
    port = usable_port(port)
    write_kit("triton", workdir / "models")
    options = (
        "--model-control-mode=explicit",
        "--allow-sagemaker=true",
        f"--sagemaker-port={port}",
    )
    with running_triton(workdir, usable_port(None), python, *options, models=()):
        _await_listening(port, workdir / "server.log")
        for name in dict.fromkeys(model.model for model in contract().values()):
            alone = workdir / "loaded" / name
            alone.mkdir(parents=True)
            (workdir / "models" / name).rename(alone / name)
            _load(port, name, alone, workdir / "server.log")
        yield f"http://127.0.0.1:{port}"


def _await_listening(port: int, log: Path) -> None:
    """Wait for the endpoint, which Triton opens after its own port, by which it is ready."""
    deadline = time.monotonic() + _LISTENS_WITHIN_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise ServerFailedError(f"port {port} is not open\n{log_tail(log)}") from None
            time.sleep(_POLL_S)
        else:
            return


def _load(port: int, name: str, folder: Path, log: Path) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_LOADED_WITHIN_S)
    try:
        connection.request("POST", "/models", json.dumps({"model_name": name, "url": str(folder)}))
        status = connection.getresponse().status
    finally:
        connection.close()
    if status != 200:
        raise ServerFailedError(f"{name} cannot be loaded: status {status}\n{log_tail(log)}")


@started_again
@contextmanager
def vertex_endpoint(
    workdir: Path, port: int | None = None, python: Path | None = None
) -> Iterator[str]:
    """Run the endpoint for Vertex AI; yield the URL of its predict route once models are ready."""
    port = usable_port(port)
    write_kit("triton", workdir / "models")
    options = (
        "--allow-vertex-ai=true",
        f"--vertex-ai-port={port}",
        f"--vertex-ai-default-model={contract()['identity/INT32'].model}",
    )
    routes = {"AIP_PREDICT_ROUTE": _ROUTE, "AIP_HEALTH_ROUTE": "/health"}
    with running_triton(workdir, usable_port(None), python, *options, environment=routes):
        _await_listening(port, workdir / "server.log")
        yield f"http://127.0.0.1:{port}{_ROUTE}"


ENDPOINTS: dict[str, Callable[..., AbstractContextManager[str]]] = {
    "sagemaker": sagemaker_endpoint,
    "vertex": vertex_endpoint,
}
"""The context managers by the name of their binding; see `servers.SERVERS`."""
