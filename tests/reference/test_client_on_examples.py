"""The plain client with the examples of the documents: what it sends, and what it reads."""

from __future__ import annotations

from typing import Any

import pytest

from support.document_models import JsonObject, body_of, bytes_of, described, stems
from support.responses import http
from support.scenarios import UNSAID
from support.servers import answering, serving
from v2_clients.plain import run_task
from v2_conformance.protocol.message import parse_json
from v2_conformance.protocol.names import HEADER_LENGTH

RESPONSES = stems(kind="response")
WRONG = stems(kind="response", wrong=True)
# No client library sends raw requests, and the plain one makes the others.
REQUESTS = [stem for stem in stems(kind="request") if "raw" not in stem]
# The response alone decides which outputs there are.
NAMES_NO_OUTPUT = "kserve-all-binary.request"


@pytest.mark.parametrize("stem", RESPONSES)
def test_it_reads_the_response(stem: str) -> None:
    _, line = asked(NAMES_NO_OUTPUT, stem)
    expected = [
        {name: tensor[name] for name in ("name", "datatype", "shape", "data")}
        for tensor in described(stem)["tensors"]
    ]
    assert line["outputs"] == expected


@pytest.mark.parametrize("stem", WRONG)
def test_it_refuses_what_is_wrong(stem: str) -> None:
    _, line = asked(NAMES_NO_OUTPUT, stem)
    assert "outputs" not in line
    assert line["error"]


@pytest.mark.parametrize("stem", REQUESTS)
def test_it_sends_the_request(stem: str) -> None:
    """White space and the order of members apart: the tensors, lengths and wishes."""
    about = described(stem)
    request, _ = asked(stem, "oip-json.response")
    head, _, body = request.partition(b"\r\n\r\n")
    fields = dict(field.lower().split(b": ", 1) for field in head.split(b"\r\n")[1:])
    assert head.startswith(f"POST {about['http']['target']} HTTP/1.1\r\n".encode())
    length = fields.get(HEADER_LENGTH.lower().encode())
    assert (length is None) == (about["header_length"] is None)
    assert int(fields[b"content-length"]) == len(body)
    document = parse_json(body if length is None else body[: int(length)])
    names = [tensor["name"] for tensor in about["tensors"]]
    assert [entry["name"] for entry in document["inputs"]] == names
    blobs = [bytes_of(tensor) for tensor in about["tensors"] if tensor["form"] == "binary"]
    assert body[len(body) if length is None else int(length) :] == b"".join(blobs)
    for entry, tensor in zip(document["inputs"], about["tensors"], strict=True):
        assert (entry["datatype"], entry["shape"]) == (tensor["datatype"], tensor["shape"])
        assert ("data" in entry) == (tensor["form"] == "json")
    assert document.get("id") == about["json"].get("id")


def asked(request: str, response: str) -> tuple[bytes, dict[str, Any]]:
    """What the plain client sends, asked for a request, and what it says of a response."""
    about = described(response)
    fields = [(n, v) for n, v in about["http"]["headers"] if n != "Content-Length"]
    with serving(answering(http(body_of(response), 200, *fields))) as server:
        (line,) = run_task(task_of(request), server.url)
    (came,) = server.requests
    return came, line


def task_of(stem: str) -> JsonObject:
    """A request of the examples as a client gets it to make."""
    about = described(stem)
    document, outputs = about["json"], about["outputs"]
    forms = {True: "binary", False: "json", None: None}
    names = ("name", "datatype", "shape", "data", "form")
    request = {
        **UNSAID,
        "model": about["http"]["target"].split("/")[3],
        "id": document.get("id"),
        "binary_data_output": document.get("parameters", {}).get("binary_data_output"),
        "inputs": [{name: tensor[name] for name in names} for tensor in about["tensors"]],
        "outputs": outputs
        and [{"name": out["name"], "form": forms[out["binary_data"]]} for out in outputs],
    }
    return {"timeout_s": 10, "requests": [request]}
