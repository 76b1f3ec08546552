"""A client may look at the metadata of a model before it asks: it agrees with task and answer."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from v2_clients.bench.answers import make_answer
from v2_clients.bench.requests import read_client_request
from v2_clients.bench.stage import ScenarioStage
from v2_clients.bench.tasks import asked_of
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.library import client_cases

SCENARIOS = [case for case in client_cases() if isinstance(case, ClientCase)]


def get(stage: ScenarioStage, path: str) -> tuple[int, bytes]:
    request = read_client_request(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert request is not None
    answer = stage.answer(None, request)
    return answer.status, answer.data.partition(b"\r\n\r\n")[2]


def fits(dims: list[int], shape: Any) -> bool:
    pairs = zip(dims, shape, strict=False)
    return len(dims) == len(shape) and all(dim in (-1, size) for dim, size in pairs)


@pytest.mark.parametrize("letters", [str.upper, str.lower])
def test_a_model_with_a_slash_in_its_name_is_found(letters: Any) -> None:
    (case,) = (one for one in SCENARIOS if one.id == "K33/target-is-encoded[slash]")
    stage = ScenarioStage(case, asked_of(case))
    path = letters("%2f").join(["/v2/models/a", "model"])
    assert get(stage, path)[0] == get(stage, f"{path}/ready")[0] == 200


def test_metadata_agrees_with_task_and_answer() -> None:
    """An answer may have another datatype or shape than it should, but no output of its own."""
    for case in SCENARIOS:
        asked = asked_of(case)
        stage = ScenarioStage(case, asked)
        for number, one in enumerate(asked):
            status, body = get(stage, f"/v2/models/{quote(one.request.model, safe='')}")
            assert status == 200, case.id
            metadata = json.loads(body)
            assert (one.request.version or "1") in metadata["versions"], case.id
            inputs = {entry["name"]: entry for entry in metadata["inputs"]}
            outputs = {entry["name"] for entry in metadata["outputs"]}
            for tensor in one.request.inputs:
                assert inputs[tensor.name]["datatype"] == tensor.datatype, case.id
                assert fits(inputs[tensor.name]["shape"], tensor.shape), case.id
            assert outputs >= {output.name for output in one.request.outputs or ()}, case.id
            answer = make_answer(one, case.answer(number, 0))
            assert outputs >= {tensor.name for tensor in answer.outputs}, case.id
