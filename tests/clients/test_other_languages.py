"""Clients of other makes on the bench: the kit's in Python, JavaScript and Go.

None of them shares code with the suite. They have to pass everything, so a scenario that only the
suite's own client could pass fails here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.tools import missing, tool
from v2_conformance.cli.main import main
from v2_conformance.kits.registry import write_kit
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.suite.outcomes import Outcome

pytestmark = pytest.mark.long

HERE = Path(__file__).parent

OF_FETCH = {
    "K21/damaged[deflate,2]": "fetch undoes codings by itself and ignores a checksum that is cut",
    "K21/damaged[gzip,2]": "fetch undoes codings by itself and ignores a checksum that is cut",
    "K4/white-space[much]": "Node's parsers refuse a tab behind a Content-Length",
    "K26/chunks-without-end[binary]": "undici ends the body with a connection that is to close",
    "K26/chunks-without-end[json]": "undici ends the body with a connection that is to close",
    "K34/continue-first": "undici refuses a 100 that it has not asked for",
    "K34/interim-responses[of_all_kinds]": "undici refuses a 100 that it has not asked for",
    "K34/interim-responses[two]": "undici refuses a 100 that it has not asked for",
}
"""What Node's fetch does, and no client on top of it can do otherwise. Newer ones may be better."""

RESET = "K30/early-answer[resets]"
"""A SHOULD: an answer may be lost with its connection, if the client is still writing."""

SOMETIMES = {
    "K30/early-answer[closes]": "undici may write on, and lose the answer with the connection",
    "K30/early-answer[resets]": "undici may write on, and lose the answer with the connection",
}
"""What depends on when it notices."""

OF_NODE = {
    RESET: "as with any client that is still writing",
    "K4/white-space[much]": "Node's parsers refuse a tab behind a Content-Length",
    "K36/closed-while-idle": "node:http may use a connection before it notices its end",
}
"""What node:http may do, none of which blocks *conformant*."""


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the kit."""
    folder = tmp_path_factory.mktemp("kit") / "clients"
    write_kit("clients", folder)
    return folder


@pytest.fixture(scope="session")
def node() -> str:
    """A Node.js that has fetch."""
    path = tool("node")
    version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout.strip()
    if int(version.lstrip("v").partition(".")[0]) < 18:
        missing("node", f"{version} has no fetch; 18 or newer is needed")
    return path


@pytest.fixture(scope="session")
def go_client(kit: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Go client, compiled."""
    done = subprocess.run(
        [tool("go"), "build", "-o", "client", "client.go", "codec.go"],
        cwd=kit,
        env={**os.environ, "GOCACHE": str(tmp_path_factory.mktemp("go"))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return str(kit / "client")


def failures(folder: Path, *command: str, scenarios: tuple[str, ...] = ()) -> dict[str, str]:
    """Run every scenario, or those that match; the messages of those that do not pass, by id."""
    chosen = [word for pattern in scenarios for word in ("--scenario", pattern)]
    arguments = ["--profile", "bf16", *chosen, "--report-dir", str(folder)]
    main(["client", *arguments, "--", *command])
    report = load_report(folder / REPORT)
    assert report.cases
    assert report.complete
    return {c.id: c.message for c in report.cases if c.outcome is not Outcome.PASS}


# Each scenario starts a client. All of them are tried in tox -e clients.
SOME = () if "V2_PUBLIC_CLIENTS" in os.environ else ("K3", "K7", "K12", "K21")


def test_the_plain_client_passes(tmp_path: Path, kit: Path) -> None:
    # tests/real/test_public_clients.py tries all of them, in one process.
    some = ("K3", "K12", "K21")
    assert not failures(tmp_path, sys.executable, str(kit / "plain.py"), scenarios=some)


@pytest.mark.timeout(1200)
def test_a_client_in_javascript_passes_but_for_layouts_that_it_does_not_have(
    tmp_path: Path, kit: Path, node: str
) -> None:
    command = (node, str(kit / "node.mjs"))
    found = failures(tmp_path, *command, scenarios=SOME)
    assert set(without_layouts(found)) <= set(OF_NODE), found
    assert not failures(tmp_path, *command, scenarios=("K3",))


@pytest.mark.timeout(1200)
def test_a_client_in_javascript_on_fetch_fails_by_what_fetch_does_itself(
    tmp_path: Path, kit: Path, node: str
) -> None:
    command = (node, str(kit / "node.mjs"), "fetch")
    some = SOME and (*SOME, "K26", "K34")
    found = failures(tmp_path, *command, scenarios=some)
    assert set(without_layouts(found)) - set(SOMETIMES) <= set(OF_FETCH)
    manual = (HERE.parents[1] / "docs" / "clients.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in manual for name in (*OF_FETCH, *SOMETIMES, *OF_NODE))


@pytest.mark.timeout(1200)
def test_a_client_in_go_passes_but_for_layouts_that_it_does_not_have(
    tmp_path: Path, go_client: str
) -> None:
    found = failures(tmp_path, go_client, scenarios=SOME)
    found.pop(RESET, "")
    assert not without_layouts(found)
    assert not failures(tmp_path, go_client, scenarios=("K3/mixed-order[reversed]",))


def without_layouts(found: dict[str, str]) -> dict[str, str]:
    """Leave out what asks for arrays in a layout that a client does not have."""
    layouts = {name for name in found if name.startswith("K10/layout")}
    assert all("does not support" in found[name] for name in layouts)
    return {name: text for name, text in found.items() if name not in layouts}
