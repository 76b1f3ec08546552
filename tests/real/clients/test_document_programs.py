"""The programs of the documents, with KServe's real client: they send what the examples say."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.document_models import JsonObject, bytes_of, described
from support.responses import v2
from support.servers import answering, serving
from v2_conformance.protocol.datatypes import from_json
from v2_conformance.protocol.message import parse_json
from v2_conformance.protocol.names import HEADER_LENGTH

PROGRAMS = Path(__file__).parent / "documents" / "kserve_programs.py"
ANSWERS = {"program_mixed": "kserve-mixed", "program_all_binary": "kserve-all-binary"}


@pytest.fixture(scope="module")
def python() -> str:
    """The Python of the newest KServe client on the bench: older ones send other headers."""
    work = os.environ.get("V2_PUBLIC_CLIENTS")
    found = sorted(Path(work).glob("kserve*/environment/bin/python")) if work else []
    if not found:
        pytest.skip("V2_PUBLIC_CLIENTS names no folder with KServe's client; tox -e clients does")
    return str(found[-1].absolute())


@pytest.mark.parametrize("program", list(ANSWERS))
def test_the_program_sends_the_example_and_reads_the_response(program: str, python: str) -> None:
    request, line = run(python, program, {"model_name": "TestModel"})
    example = f"kserve-{program.replace('_', '-')}.request"
    about = described(example)
    head, _, body = request.partition(b"\r\n\r\n")
    fields = dict(field.lower().split(b": ", 1) for field in head.split(b"\r\n")[1:])
    assert head.startswith(f"POST {about['http']['target']} HTTP/1.1\r\n".encode())
    for name, value in about["http"]["headers"]:
        if name != "Content-Length":
            assert fields[name.lower().encode()] == value.encode()
    length = fields.get(HEADER_LENGTH.lower().encode())
    assert (length is None) == (about["header_length"] is None)
    document = parse_json(body if length is None else body[: int(length)])
    at = len(body) if length is None else int(length)
    for entry, tensor in zip(document["inputs"], about["tensors"], strict=True):
        if tensor["form"] == "json":
            found = from_json(entry["datatype"], entry["shape"], entry.pop("data"))
        else:
            found = body[at : at + entry["parameters"]["binary_data_size"]]
            at += len(found)
        assert found == bytes_of(tensor)
    assert at == len(body)
    for entry in about["json"]["inputs"]:
        entry.pop("data", None)
    assert document == about["json"]
    read = [base64.b64decode(output["data"]) for output in line["outputs"]]
    assert read == [
        bytes_of(tensor) for tensor in described(f"{ANSWERS[program]}.response")["tensors"]
    ]


@pytest.mark.parametrize("program", list(ANSWERS))
def test_the_documented_response_lacks_the_model_name_that_clients_need(
    program: str, python: str
) -> None:
    """If this fails, the client has learned to read it: take the erratum back."""
    _, line = run(python, program, {})
    assert line["error"] == "KeyError: 'model_name'"


def test_the_programs_pass_their_scenarios_on_the_bench(tmp_path: Path, python: str) -> None:
    bench = [sys.executable, "-m", "v2_conformance", "client", "--report-dir", str(tmp_path)]
    for pattern in ("K*/example*program_mixed*", "K*/example*program_all_binary*"):
        bench += ["--scenario", pattern]
    done = subprocess.run([*bench, "--", python, str(PROGRAMS)], capture_output=True)
    cases = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["cases"]
    assert len(cases) == 7, done.stdout
    assert {case["outcome"] for case in cases} == {"pass"}, done.stdout
    assert done.returncode == 0, done.stdout


def run(python: str, program: str, members: JsonObject) -> tuple[bytes, JsonObject]:
    """The request that a program sends, and what it says of the page's response to it."""
    example = described(f"{ANSWERS[program]}.response")
    blobs = [bytes_of(tensor) for tensor in example["tensors"] if tensor["form"] == "binary"]
    with serving(answering(v2({**members, **example["json"]}, *blobs))) as server:
        task = {"url": server.url, "scenario": f"K3/examples[{program}]"}
        done = subprocess.run(
            [python, str(PROGRAMS)],
            input=json.dumps(task).encode(),
            capture_output=True,
            timeout=60,
            check=True,
        )
    (request,) = server.requests
    line: JsonObject = json.loads(done.stdout.splitlines()[-1])["lines"][0]
    return request, line
