"""cases/clients/documents.yaml asks for, and answers with, what is in examples/."""

from __future__ import annotations

import json

import pytest

from support.document_models import body_of, bytes_of, described
from v2_clients.bench.answers import make_answer
from v2_clients.bench.tasks import asked_of
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.resources import folder
from v2_conformance.suite.case_files import load_scenarios
from v2_conformance.suite.cases import ClientCase

CASES = [
    case
    for case in load_scenarios(folder("cases") / "clients" / "documents.yaml")
    if isinstance(case, ClientCase)
]
EXAMPLES = {
    "two_blobs": "triton-two-blobs",
    "raw": "triton-raw",
    "mixed": "kserve-mixed",
    "all_binary": "kserve-all-binary",
    "program_mixed": "kserve-program-mixed",
    "program_all_binary": "kserve-program-all-binary",
    "json": "oip-json",
}
FORMS = {"binary": True, "json": False, None: None}


def example_of(case: ClientCase) -> str:
    return EXAMPLES[case.id.partition("[")[2].rstrip("]")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_task_is_the_request_of_the_example(case: ClientCase) -> None:
    (asked,) = asked_of(case)
    about = described(f"{example_of(case)}.request")
    found = [(t.datatype, list(t.shape), bytes(t.blob)) for t in asked.inputs]
    assert found == [(t["datatype"], t["shape"], bytes_of(t)) for t in about["tensors"]]
    assert [given.form for given in asked.request.inputs] == [t["form"] for t in about["tensors"]]
    if about["json"] is None:  # clients have no raw requests
        return
    request, document = asked.request, about["json"]
    assert request.model == document.get("model_name", "mymodel")
    assert [given.name for given in request.inputs] == [t["name"] for t in about["tensors"]]
    assert request.id == document.get("id")
    parameters = document.get("parameters", {})
    assert request.binary_data_output == parameters.get("binary_data_output")
    listed = (
        None
        if request.outputs is None
        else [
            {"name": output.name, "binary_data": FORMS[output.form]} for output in request.outputs
        ]
    )
    assert listed == about["outputs"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_answer_is_the_response_of_the_example(case: ClientCase) -> None:
    (asked,) = asked_of(case)
    answer = make_answer(asked, case.requests[0]["answer"])
    head, _, body = answer.data.partition(b"\r\n\r\n")
    fields = dict(field.split(": ", 1) for field in head.decode().split("\r\n")[1:])
    stem = f"{example_of(case).replace('-program', '')}.response"
    if case.requirement == "K25":
        stem = stem.replace("kserve", "wrong-sizes")
    about = described(stem)
    length = about["header_length"]
    assert (HEADER_LENGTH in fields) == (length is not None)
    end = int(fields.get(HEADER_LENGTH, len(body)))
    assert body[end:] == body_of(stem)[len(body_of(stem)) if length is None else length :]
    document, printed = json.loads(body[:end]), json.loads(body_of(stem)[:length])
    sizes = [output.get("parameters") for output in printed["outputs"]]
    assert [output.get("parameters") for output in document["outputs"]] == sizes
    if case.requirement == "K22":
        assert {"model_name", "model_version"}.isdisjoint(document)
    if case.requirement != "K25":
        read = [(t.datatype, list(t.shape), bytes(t.blob)) for t in answer.outputs]
        assert read == [(t["datatype"], t["shape"], bytes_of(t)) for t in about["tensors"]]
