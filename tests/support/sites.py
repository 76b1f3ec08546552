"""Reports that hold, on servers and clients with any name, and what a site has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.runs import GOOD, chosen, made
from v2_clients.run import client_target, make_client_plan, start_client_run
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.targets.making import make_target
from v2_mutants.selftest.clients import plain_client

SOME = chosen(GOOD, "P1/", "P4/", "H6/not-a-number[letters]")


def report_on(folder: Path, name: str = "Server", version: str = "1") -> Path:
    """The report.json of a run of a few cases against a good server of this name and version."""

    class Named(Behavior):
        def server_metadata(self, request: Request) -> Response:
            extensions = self.extensions()
            return self.json_response({"name": name, "version": version, "extensions": extensions})

    folder.mkdir(parents=True, exist_ok=True)
    with ReferenceServer(Named) as server:
        return made(folder, make_target(server.url, timeout=3), SOME)


def report_on_client(folder: Path) -> Path:
    """The report.json of a run of one scenario with the plain client."""
    folder.mkdir(parents=True, exist_ok=True)
    plan = make_client_plan(("K35/json",))
    started = start_client_run(
        client_target(), plan, folder, command=("client", "{url}"), timeout_s=2.0
    )
    started.finish(plain_client(), timeout_s=2.0)
    return folder / "report.json"


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with what is in it."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def index_of(site: Path) -> dict[str, Any]:
    """What a JSON library reads from a site's index.json."""
    found: dict[str, Any] = json.loads((site / "index.json").read_bytes())
    return found
