"""docs/clients.md: its examples are executed, and what it says of the documents is so."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

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


def outcomes(folder: Path, *arguments: str) -> dict[str, Outcome]:
    main(["client", "--report-dir", str(folder), *arguments])
    return {case.id: case.outcome for case in load_report(folder / REPORT).cases}


@pytest.mark.long
def test_adapter_of_the_manual_works_on_the_bench(adapter: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(adapter)]
    found = outcomes(tmp_path / "report", "--scenario", "K8", "--", *command)
    assert set(found.values()) <= {Outcome.PASS, Outcome.UNSUPPORTED}
    assert Outcome.PASS in found.values()


def test_the_example_of_a_task_is_one() -> None:
    tasks = [json.loads(block) for block in blocks("json") if '"requests"' in block]
    assert tasks
    for task in tasks:
        schema("client-task").validate(task)


def test_the_examples_of_lines_are_some() -> None:
    lines = [
        json.loads(line)
        for block in blocks("json")
        if '"requests"' not in block
        for line in block.splitlines()
    ]
    assert len(lines) >= 4
    answers = [line for line in lines if "scenario" in line]
    assert answers
    for line in (line for one in lines for line in one.get("lines", [one])):
        schema("client-line").validate(line)


def test_every_script_of_the_kit_is_in_the_manual(tmp_path: Path) -> None:
    for path in write_kit("clients", tmp_path):
        shared = path.name in ("README.md", "bench.py", "triton_interface.py")
        described = shared or f" codec of {path.name} |" in TEXT
        assert described or f"| {path.name} |" in TEXT
