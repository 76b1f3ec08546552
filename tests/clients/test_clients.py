"""The kit of clients and docs/clients.md: its examples work, and its clients pass on the bench."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.tools import missing, tool
from v2_conformance.cli.main import main
from v2_conformance.kits.registry import write_kit
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.resources import schema
from v2_conformance.suite.outcomes import Outcome

MANUAL = Path(__file__).resolve().parents[2] / "docs" / "clients.md"
TEXT = MANUAL.read_text(encoding="utf-8")

# What the manual calls my_client: a client that takes and returns arrays by name.
MY_CLIENT = """
import codec
import numpy as np
import plain

class Error(Exception):
    status = None

class Client:
    def __init__(self, url):
        self.client = plain.V2Client(url, 5)

    def infer(self, model, arrays):
        codes = [(name, code) for name, code in codec.NUMPY.items() if name != "BF16" and code]
        names = {np.dtype(code): name for name, code in reversed(codes)}
        inputs = [(n, (names[a.dtype], a.shape, a.tobytes()), True, {}) for n, a in arrays.items()]
        try:
            outputs, _ = self.client.infer(model, codec.encode_request(inputs, {}), {})
        except Exception as error:
            raise Error(str(error)) from error
        return {
            name: np.frombuffer(blob, codec.NUMPY[datatype]).reshape(shape)
            for name, (datatype, shape, blob) in outputs.items()
        }
"""


def blocks(language: str) -> list[str]:
    """The blocks of the manual in `language`."""
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    """The manual's adapter, in a folder with the client that it imports."""
    folder = tmp_path / "adapter"
    write_kit("clients", folder)
    (folder / "my_client.py").write_text(MY_CLIENT, encoding="utf-8")
    (example,) = blocks("python")[:1]
    (folder / "my_adapter.py").write_text(example, encoding="utf-8")
    return folder / "my_adapter.py"


@pytest.mark.long
def test_the_example_for_pytest_passes(
    adapter: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(adapter.parent))
    (example,) = (block for block in blocks("python") if "v2_bench" in block)
    pytester.makepyfile(example)
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider").parseoutcomes()
    assert found.get("passed", 0) >= 2
    assert set(found) <= {"passed", "skipped"}


@pytest.mark.long
def test_adapter_of_the_manual_works_on_the_bench(adapter: Path, tmp_path: Path) -> None:
    words = ["--report-dir", str(tmp_path), "--scenario", "K8"]
    main(["client", *words, "--", sys.executable, str(adapter)])
    found = {case.outcome for case in load_report(tmp_path / REPORT).cases}
    assert Outcome.PASS in found <= {Outcome.PASS, Outcome.UNSUPPORTED}


def test_the_examples_of_tasks_and_lines_fit_their_schemas() -> None:
    tasks = [json.loads(block) for block in blocks("json") if '"requests"' in block]
    lines = [
        json.loads(line)
        for block in blocks("json")
        if '"requests"' not in block
        for line in block.splitlines()
    ]
    assert tasks
    assert len(lines) >= 4
    for task in tasks:
        schema("client-task").validate(task)
    for line in (line for one in lines for line in one.get("lines", [one])):
        schema("client-line").validate(line)


_AT = TEXT.index("On Node's `fetch`")
_FETCH, _NODE = TEXT[_AT : TEXT.index("\n\n", _AT)].split("With node:http")
OF_FETCH, OF_NODE = (set(re.findall(r"`(K[0-9]+/[^`]+)`", part)) for part in (_FETCH, _NODE))
"""What Node's fetch does, and node:http may do: no client on them can do otherwise."""
RESET = "K30/early-answer[resets]"
"""A SHOULD: an answer may be lost with its connection, if the client is still writing."""


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
    """Run scenarios, by default all: the messages of those that do not pass, but for those that
    ask for arrays in a layout that a client does not have."""
    chosen = [word for pattern in scenarios for word in ("--scenario", pattern)]
    main(["client", "--profile", "bf16", *chosen, "--report-dir", str(folder), "--", *command])
    report = load_report(folder / REPORT)
    assert report.cases
    assert report.complete
    found = {c.id: c.message for c in report.cases if c.outcome is not Outcome.PASS}
    layouts = {name for name in found if name.startswith("K10/layout")}
    assert all("does not support" in found[name] for name in layouts)
    return {name: text for name, text in found.items() if name not in layouts}


# Each scenario starts a client. All of them are tried in tox -e clients.
SOME = () if "V2_PUBLIC_CLIENTS" in os.environ else ("K3", "K7", "K12", "K21")


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_client_in_javascript_passes(tmp_path: Path, kit: Path, node: str) -> None:
    found = failures(tmp_path, node, str(kit / "node.mjs"), scenarios=SOME)
    assert set(found) <= {*OF_NODE, RESET}, found


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_client_on_fetch_fails_by_what_fetch_does(tmp_path: Path, kit: Path, node: str) -> None:
    some = SOME and (*SOME, "K26", "K34")
    found = failures(tmp_path, node, str(kit / "node.mjs"), "fetch", scenarios=some)
    assert set(found) <= OF_FETCH | OF_NODE


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_client_in_go_passes(tmp_path: Path, go_client: str) -> None:
    assert set(failures(tmp_path, go_client, scenarios=SOME)) <= {RESET}
