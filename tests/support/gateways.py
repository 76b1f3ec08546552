"""nginx, HAProxy and Caddy from the system's packages, in front of a server, on free ports.

`default` is the least that a gateway's manual needs for a reverse proxy, `tuned` what
docs/gateways.md recommends. The others are what gateways often do beside that.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from socket import create_connection
from string import Formatter
from urllib.parse import urlsplit

import trustme
import yaml

from support.servers import free_port
from support.tools import tool

READY_WITHIN_S = 15.0
USER, PASSWORD = "models", "a-password-of-the-tests"
_POLL_S = 0.02

_DATA = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_EMPTY = {
    name: ""
    for text in _DATA["files"].values()
    for _, name, _, _ in Formatter().parse(text)
    if name and name not in ("folder", "port", "server")
}


@dataclass(frozen=True)
class Setup:
    """One configuration of a gateway: what is in the places of its file."""

    gateway: str
    name: str
    places: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    tls: bool = False
    password: bool = False

    def __str__(self) -> str:
        return f"{self.gateway}-{self.name}"


SETUPS = tuple(Setup(**setup) for setup in _DATA["setups"])


@contextmanager
def running_gateway(setup: Setup, server_url: str, folder: Path) -> Iterator[str]:
    """The gateway's base URL while it runs in front of the server; its files are in `folder`.

    A URL of https has its CA in `folder`/ca.pem. Raises RuntimeError with the gateway's own words
    if it does not start.
    """
    path = tool(setup.gateway)
    port = free_port()
    config = folder / f"{setup.gateway}.conf"
    config.write_text(_configuration(setup, server_url, folder, port), "utf-8")
    _write_secrets(setup, folder)
    file = {"folder": str(folder), "file": str(config)}
    command = [path, *(word.format(**file) for word in _DATA["commands"][setup.gateway][1:])]
    home = {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}
    log = folder / "gateway.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **home},
        )
    try:
        _await_port(process, port, log)
        user = f"{USER}:{PASSWORD}@" if setup.password else ""
        yield f"http{'s' if setup.tls else ''}://{user}127.0.0.1:{port}{setup.prefix}"
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()


def configuration(setup: Setup) -> str:
    """The file of a setup as a manual shows it."""
    return _configuration(setup, "http://127.0.0.1:8000", Path("/var/lib/gateway"), 8080)


def _configuration(setup: Setup, server_url: str, folder: Path, port: int) -> str:
    places = {**_EMPTY, "scheme": "http", **setup.places}
    if os.geteuid() == 0:  # nginx's workers must be able to read the folder
        places["user"] = "user root;"
    values = {"folder": str(folder), "port": str(port), "server": urlsplit(server_url).netloc}
    filled = {name: text.format(**values) for name, text in places.items()}
    text = _DATA["files"][setup.gateway].format(**filled, **values)
    return "".join(f"{line}\n" for line in text.splitlines() if line.strip())


def _write_secrets(setup: Setup, folder: Path) -> None:
    if setup.tls:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(folder / "ca.pem"))
        issued = authority.issue_cert("127.0.0.1")
        issued.private_key_and_cert_chain_pem.write_to_path(str(folder / "certificate.pem"))
    if setup.password and setup.gateway == "nginx":
        users = folder / "users"
        users.write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n", "utf-8")
        users.chmod(0o644)
        folder.chmod(0o755)


def _await_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        with suppress(OSError), create_connection(("127.0.0.1", port), timeout=1):
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_S)
            break
    raise RuntimeError(f"the gateway did not start:\n{log.read_text('utf-8', 'replace')}")
