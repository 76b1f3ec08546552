"""Scenarios: those of the documents are their examples; what a client lacks is told once."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from support.document_models import JsonObject, body_of, bytes_of, described
from v2_clients.bench.answers import make_answer
from v2_clients.bench.clients import InProcessClient
from v2_clients.bench.features import FEATURES, needed
from v2_clients.bench.messages import Task
from v2_clients.bench.tasks import asked_of
from v2_clients.plain import PlainClient, run_task
from v2_clients.plain.responses_read import Inference
from v2_clients.plain.task import Call, CallerInput
from v2_clients.scenarios import run_scenario
from v2_conformance.cli.main import main
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.redaction import Mask
from v2_conformance.report.diff import diff_reports
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.report.recorder import case_result
from v2_conformance.report.root_causes import CauseGroup, root_causes
from v2_conformance.resources import folder
from v2_conformance.suite.case_files import load_scenarios
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.choosing import CLIENT_PROFILES
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.client_faults import CLIENT_FAULTS
from v2_mutants.selftest.clients import plain_client

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


def tensors(found: Iterable[Tensor]) -> list[tuple[object, ...]]:
    return [(one.datatype, list(one.shape), bytes(one.blob)) for one in found]


def tensors_of(about: JsonObject) -> list[tuple[object, ...]]:
    return [(one["datatype"], one["shape"], bytes_of(one)) for one in about["tensors"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_task_is_the_request_of_the_example(case: ClientCase) -> None:
    (asked,) = asked_of(case)
    about = described(f"{example_of(case)}.request")
    assert tensors(asked.inputs) == tensors_of(about)
    assert [given.form for given in asked.request.inputs] == [t["form"] for t in about["tensors"]]
    if about["json"] is None:  # clients have no raw requests
        return
    request, document = asked.request, about["json"]
    parameters = document.get("parameters", {})
    assert (request.model, request.id, request.binary_data_output) == (
        document.get("model_name", "mymodel"),
        document.get("id"),
        parameters.get("binary_data_output"),
    )
    assert [given.name for given in request.inputs] == [t["name"] for t in about["tensors"]]
    listed = [{"name": one.name, "binary_data": FORMS[one.form]} for one in request.outputs or ()]
    assert listed == (about["outputs"] or [])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_answer_is_the_response_of_the_example(case: ClientCase) -> None:
    (asked,) = asked_of(case)
    answer = make_answer(asked, case.requests[0]["answer"])
    head, _, body = answer.data.partition(b"\r\n\r\n")
    fields = dict(field.split(": ", 1) for field in head.decode().split("\r\n")[1:])
    stem = f"{example_of(case).replace('-program', '')}.response"
    if case.requirement == "K25":
        stem = stem.replace("kserve", "wrong-sizes")
    about, whole = described(stem), body_of(stem)
    length = about["header_length"]
    assert (HEADER_LENGTH in fields) == (length is not None)
    end = int(fields.get(HEADER_LENGTH, len(body)))
    assert body[end:] == whole[len(whole) if length is None else length :]
    document, printed = json.loads(body[:end]), json.loads(whole[:length])
    sizes = [output.get("parameters") for output in printed["outputs"]]
    assert [output.get("parameters") for output in document["outputs"]] == sizes
    if case.requirement == "K22":
        assert {"model_name", "model_version"}.isdisjoint(document)
    if case.requirement != "K25":
        assert tensors(answer.outputs) == tensors_of(about)


MANUAL = Path(__file__).parents[2] / "docs" / "clients.md"


def test_some_scenario_needs_each_feature_and_the_manual_lists_it() -> None:
    small = [case for case in client_cases() if case.requirement != "K40"]
    asked = [one for case in small if isinstance(case, ClientCase) for one in asked_of(case)]
    assert {name for one in asked for name in needed(one.request, FEATURES)} == set(FEATURES)
    manual = MANUAL.read_text(encoding="utf-8")
    table = manual[manual.index("| feature |") : manual.index("## In pytest")]
    assert [name for name in FEATURES if f"`{name}`" not in table] == [*DATATYPES]


def test_what_is_lacked_does_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = ("--", sys.executable, "-c", "raise SystemExit('it ran')")
    words = ("--scenario", "K10/layout*big-endian,binary,FP32*", "--report-dir", str(tmp_path))
    assert main(["client", *words, "--lacks", "column-mayor", *broken]) == 2
    assert "column-major" in capsys.readouterr().err
    assert main(["client", *words, "--lacks", "big-endian", *broken]) != 1
    assert "without big-endian, BF16" in " ".join(capsys.readouterr().out.split())
    path = tmp_path / REPORT
    report = load_report(path)
    assert report.target.client is not None
    assert report.target.client.lacks == ("big-endian",)
    assert [case.outcome for case in report.cases] == [Outcome.UNSUPPORTED]
    assert main(["verify", str(path)]) == 0
    target = structs.replace(report.target, client=structs.replace(report.target.client, lacks=()))
    noted = diff_reports(structs.replace(report, target=target), report).notes
    assert "unsupported changed: none -> big-endian" in noted
    path.write_text(path.read_text().replace('"lacks":["big-endian"]', '"lacks":["id"]'))
    assert main(["verify", str(path)]) == 1


# Scenarios that wait or send much, or are many of one kind.
LEFT_OUT = ("K5/", "K7/", "K21/", "K23/", "K25/", "K27/", "K29/", "K30/", "K31/", "K32/", "K40/")
FORM_SCENARIOS = ("K9/", "K12/any-bytes", "K14/nans", "K15/", "K16/", "K18/", "K19/")


def causes(client: InProcessClient, needs: Callable[[ClientCase], bool]) -> tuple[CauseGroup, ...]:
    """The causes of what fails in scenarios."""
    found = [case for case in client_cases() if isinstance(case, ClientCase) and needs(case)]
    results = [run_scenario(case, client) for case in found]
    return root_causes([case_result(result, CLIENT_PROFILES, Mask()) for result in results])


@pytest.mark.parametrize("feature", ["id", "headers", "json-inputs", "json-outputs", "BYTES"])
def test_what_a_client_refuses_to_send_is_one_cause(feature: str) -> None:
    def does(task: Task) -> list[dict[str, Any]]:
        plain = msgspec.to_builtins(task)
        lines: list[dict[str, Any]] = []
        for asked, request in zip(task.requests, plain["requests"], strict=True):
            if needed(asked, [feature]):
                lines.append({"error": f"{len(lines)}: this client has no {feature}"})
            else:
                lines += run_task({**plain, "requests": [request]}, task.url)
        return lines

    def needs(case: ClientCase) -> bool:
        used = not case.id.startswith(LEFT_OUT)
        return used and any(needed(asked.request, [feature]) for asked in asked_of(case))

    (group,) = causes(InProcessClient(does), needs)
    assert group.finding == "no_request"


def with_inputs(call: Call, binary: bool) -> Call:
    return replace(call, inputs=tuple(replace(one, binary=binary) for one in call.inputs))


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda call: with_inputs(call, False), ("K16", "wrong_form")),
        (lambda call: with_inputs(call, True), ("K16", "wrong_form")),
        (lambda call: replace(call, outputs=None), ("K16", "wrong_outputs_asked")),
        (lambda call: replace(call, binary_data_output=None), ("K16", "wrong_parameter")),
        (lambda call: replace(call, request_compression=None), ("K18", "wrong_field")),
        (lambda call: replace(call, parameters={}), ("K19", "wrong_parameter")),
    ],
    ids=["no_blobs", "no_json", "no_outputs", "no_form_of_all", "no_coding", "no_parameters"],
)
def test_what_is_left_out_is_one_cause(
    change: Callable[[Call], Call], cause: tuple[str, str]
) -> None:
    class Leaves(PlainClient):
        def infer(self, call: Call) -> Inference:
            return super().infer(change(call))

    found = causes(plain_client(Leaves), lambda case: case.id.startswith(FORM_SCENARIOS))
    assert [(group.requirement, group.finding) for group in found] == [cause]


def test_mistakes_in_blobs_and_json_are_told_as_such_wherever_they_show() -> None:
    class InElements(PlainClient):
        def input_object(self, tensor: CallerInput, blob: bytes | None) -> JsonObject:
            return super().input_object(tensor, blob and bytes(prod(tensor.shape)))

    of_blobs = ("K2/", "K12/", "K14/")
    found = causes(plain_client(InElements), lambda case: case.id.startswith(of_blobs))
    assert {group.requirement for group in found} == {"K2"}
    latin_1 = plain_client(CLIENT_FAULTS["json-in-latin-1"].cls)
    (group,) = causes(latin_1, lambda case: case.id.startswith(("K12/any-text", "K35/not-ascii")))
    assert group.requirement == "K35"
