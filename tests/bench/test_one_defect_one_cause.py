"""A client that lacks one thing has one cause in its report, whatever needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from v2_clients.bench.clients import InProcessClient
from v2_clients.bench.features import needed
from v2_clients.bench.messages import Task
from v2_clients.bench.tasks import asked_of
from v2_clients.plain import PlainClient, run_task
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.responses_read import Inference
from v2_clients.plain.task import Call, CallerInput, ClientError
from v2_clients.scenarios import run_scenario
from v2_conformance.report.root_causes import CauseGroup, root_causes
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.choosing import CLIENT_PROFILES
from v2_conformance.suite.library import client_cases
from v2_mutants.selftest.clients import plain_client
from v2_mutants.selftest.servers import Judged, judged

# Scenarios that wait or send much, or are many of one kind.
LEFT_OUT = ("K5/", "K7/", "K21/", "K23/", "K25/", "K27/", "K29/", "K30/", "K31/", "K32/", "K40/")
FORMS = ("K9/", "K12/any-bytes", "K14/nans", "K15/", "K16/", "K18/", "K19/")
SOME = (
    "id", "headers", "request-compression", "binary-data-output", "json-inputs", "json-outputs",
    "BOOL", "BYTES",
)  # fmt: skip


def causes(
    client: InProcessClient, needs: Callable[[ClientCase], bool]
) -> tuple[CauseGroup[Judged], ...]:
    """The causes of what fails in scenarios."""
    found = [case for case in client_cases() if isinstance(case, ClientCase) and needs(case)]
    return root_causes([judged(run_scenario(case, client), CLIENT_PROFILES) for case in found])


def requirements(groups: Iterable[CauseGroup[Judged]]) -> list[tuple[str, str]]:
    return [(group.requirement, group.finding) for group in groups]


def refuses(feature: str) -> InProcessClient:
    """A client whose caller gets an error for whatever needs a feature."""

    def does(task: Task) -> list[dict[str, Any]]:
        plain = msgspec.to_builtins(task)
        lines: list[dict[str, Any]] = []
        for asked, request in zip(task.requests, plain["requests"], strict=True):
            if needed(asked, [feature]):
                lines.append({"error": f"{len(lines)}: this client has no {feature}"})
            else:
                lines += run_task({**plain, "requests": [request]}, task.url)
        return lines

    return InProcessClient(does)


@pytest.mark.parametrize("feature", SOME)
def test_what_a_client_refuses_to_send_is_one_cause(feature: str) -> None:
    def needs(case: ClientCase) -> bool:
        used = not case.id.startswith(LEFT_OUT)
        return used and any(needed(asked.request, [feature]) for asked in asked_of(case))

    (group,) = causes(refuses(feature), needs)
    assert group.finding == "no_request"


def test_two_things_that_a_client_refuses_are_two_causes() -> None:
    class Refuses(PlainClient):
        def infer(self, call: Call) -> Inference:
            if call.version is not None:
                raise ClientError("no versions")
            if call.request_compression is not None:
                raise ClientError("no compression")
            return super().infer(call)

    def needs(case: ClientCase) -> bool:
        return case.requirement in {"K9", "K18", "K35"}

    found = causes(plain_client(Refuses), needs)
    assert requirements(found) == [("K18", "no_request"), ("K35", "no_request")]


def test_a_datatype_that_a_client_cannot_read_is_one_cause() -> None:
    class Reads(PlainClient):
        def infer(self, call: Call) -> Inference:
            read = super().infer(call)
            if any(one.datatype == "BYTES" for one in read.outputs):
                raise ClientError("unknown datatype BYTES")
            return read

    def needs(case: ClientCase) -> bool:
        used = not case.id.startswith(LEFT_OUT)
        return used and any(
            "BYTES" in {one.datatype for one in asked.inputs} for asked in asked_of(case)
        )

    found = causes(plain_client(Reads), needs)
    assert requirements(found) == [("K12", "error_for_answer")]


def without(change: Callable[[Call], Call]) -> InProcessClient:
    """A client that leaves out what a caller says."""

    class Leaves(PlainClient):
        def infer(self, call: Call) -> Inference:
            return super().infer(change(call))

    return plain_client(Leaves)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (
            lambda call: replace(call, inputs=tuple(replace(i, binary=False) for i in call.inputs)),
            ("K16", "wrong_form"),
        ),
        (
            lambda call: replace(call, inputs=tuple(replace(i, binary=True) for i in call.inputs)),
            ("K16", "wrong_form"),
        ),
        (lambda call: replace(call, outputs=None), ("K16", "wrong_outputs_asked")),
        (lambda call: replace(call, binary_data_output=None), ("K16", "wrong_parameter")),
        (lambda call: replace(call, request_compression=None), ("K18", "wrong_field")),
        (lambda call: replace(call, parameters={}), ("K19", "wrong_parameter")),
    ],
    ids=["no_blobs", "no_json", "no_outputs", "no_form_of_all", "no_coding", "no_parameters"],
)
def test_what_a_client_leaves_out_is_one_cause(
    change: Callable[[Call], Call], cause: tuple[str, str]
) -> None:
    def needs(case: ClientCase) -> bool:
        return case.id.startswith(FORMS)

    assert requirements(causes(without(change), needs)) == [cause]


@pytest.mark.parametrize("size", [0, 3, None], ids=["of_nothing", "wrong", "of_the_data"])
def test_a_size_beside_data_without_its_blob_is_one_cause(size: int | None) -> None:
    class Sizes(PlainClient):
        def input_object(self, tensor: CallerInput, blob: bytes | None) -> JsonObject:
            entry = super().input_object(tensor, blob)
            if blob is None:
                given = len(self.blob(tensor)) if size is None else size
                entry["parameters"] = {**entry.get("parameters", {}), "binary_data_size": given}
            return entry

    def needs(case: ClientCase) -> bool:
        return case.id.startswith((*FORMS, "K2/", "K12/", "K13/", "K17/"))

    (group,) = causes(plain_client(Sizes), needs)
    assert requirements([group]) == [("K13", "data_and_size")]
    assert {"K2", "K12", "K16", "K18"} <= set(group.requirements)
