"""No right model gets a wrong verdict, whatever it computes: each row is a server of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.right_models import HALVES, RIGHT_MODELS, Halves, serving
from v2_conformance.certifying.relations import Asked, start_relations
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.http_messages import Rejected
from v2_conformance.reference.request_reader import RequestInput
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import REPORT
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.library import every_case
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.verification import verify
from v2_mutants.servers import MutantServer


# The shape of `row` is that of elements in one list more, as many malformed requests have them.
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name != "row" else ()) for name in RIGHT_MODELS],
)
def test_a_right_model_fails_nothing(tmp_path: Path, name: str) -> None:
    model = RIGHT_MODELS[name]
    asked = Asked([name], model.choice)
    with ReferenceServer(serving(name), profiles=SERVER_PROFILES) as server:
        target = make_target(server.url, profiles=SERVER_PROFILES)
        started = start_relations(target, asked, tmp_path, patterns=model.patterns)
        report = started.finish()
    good = (Outcome.PASS, Outcome.UNSUPPORTED, Outcome.DISPUTED)
    assert [(case.id, case.message) for case in report.cases if case.outcome not in good] == []
    assert report.verdict.warnings == ()
    assert report.verdict.consistent or model.patterns
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0


class RejectsHalvesInJson(Halves):
    """A server without a JSON form of FP16 (D12)."""

    def json_blob(self, entry: RequestInput) -> Buffer:
        if entry.spec.datatype == "FP16":
            raise Rejected("FP16 in JSON is not supported")
        return super().json_blob(entry)

    def output_data(self, tensor: Tensor) -> Any:
        if tensor.datatype == "FP16":
            raise Rejected("FP16 in JSON is not supported")
        return super().output_data(tensor)


class WritesFiveDigits(Halves):
    """A server that writes no more digits than an FP16 needs."""

    def output_data(self, tensor: Tensor) -> Any:
        data = super().output_data(tensor)
        return [float(f"{x:.5g}") for x in data] if tensor.datatype == "FP16" else data


@pytest.mark.parametrize("server", [RejectsHalvesInJson, WritesFiveDigits])
def test_halves_in_json_are_exact_or_rejected(tmp_path: Path, server: type[Halves]) -> None:
    with ReferenceServer(server) as running:
        asked, patterns = Asked([HALVES]), ["D12/*", "O19/*"]
        report = start_relations(
            make_target(running.url), asked, tmp_path, patterns=patterns
        ).finish()
    found = {case.id: case.outcome for case in report.cases if case.requirement == "D12"}
    assert len(found) == 2
    assert [case.id for case in report.cases if case.outcome is Outcome.FAIL] == []
    assert set(found.values()) == {Outcome.PASS}


@pytest.mark.parametrize("model", ["matrix_product", "identity_fp64"])
@pytest.mark.parametrize(
    "variant", ["six-digit-floats", "fifteen-digit-floats", "no-negative-zero-in-json"]
)
@pytest.mark.long
def test_what_json_may_lose_of_a_float_fails_no_blob(
    tmp_path: Path, model: str, variant: str
) -> None:
    with MutantServer(variants=[variant]) as server:
        started = start_relations(make_target(server.url), Asked([model]), tmp_path)
        report = started.finish()
    assert [
        (case.id, case.message) for case in report.of(Outcome.FAIL) if case.level == "MUST"
    ] == []
    assert report.verdict.consistent
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0
