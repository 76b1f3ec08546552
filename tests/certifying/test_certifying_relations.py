"""A run about models that nobody knows: its verdict, its report, and judging that again."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from support.behaviors import Floats, Noisy, OtherFloats
from support.first_mistakes import StaticShape
from support.right_models import SumsInAnyOrder
from support.servers import Start
from v2_conformance.certifying import servers
from v2_conformance.certifying.relations import Asked, learned_plan
from v2_conformance.cli.reporting import exit_code_of
from v2_conformance.errors import UsageError
from v2_conformance.formats.text.terminal import summary_lines
from v2_conformance.formats.text.verification import verification_lines
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.files import REPORT, sealed, write_report
from v2_conformance.report.tested import AskedModel
from v2_conformance.report.verdict.judged import Gate, failed_musts
from v2_conformance.report.verdict.standing import claim, standing
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.library import every_case
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.verification import verify
from v2_conformance.wire.encode.deployment import Tolerance
from v2_mutants.faults import FAULTS
from v2_mutants.servers import MutantServer

PATTERNS = ["P2", "S2", "O1", "P1"]


class Rarely(OtherFloats):
    """Models that answer every ninth request in another way."""

    answered = itertools.count(1)
    every = 9
    noisy = "OUTPUT1"

    def other(self, output: TensorSpec, values: Floats) -> Floats:
        right = output.name != self.noisy or next(self.answered) % self.every
        return values if right else values + np.float32(1)


class Slowly(OtherFloats):
    """A model that counts: its numbers are other ones after every hundredth answer."""

    answered = itertools.count(1)

    def other(self, output: TensorSpec, values: Floats) -> Floats:
        counted: Floats = values + np.float32(next(self.answered) // 100)
        return counted


def run(
    server: ReferenceServer,
    directory: Path,
    *names: str,
    patterns: list[str] = PATTERNS,
    tolerance: Tolerance | None = None,
) -> Report:
    """A run's report, which holds when it is judged again, each case for the same reason."""
    asked = Asked(names or ("matrix_product",), tolerance=tolerance)
    target = make_target(server.url)
    report = servers.start(target, learned_plan(target, asked, patterns), directory).finish()
    found = verify(directory / REPORT, every_case())
    assert (found.exit_code, [case.id for case in found.cases if case.other_cause]) == (0, [])
    return report


def failed(report: Report) -> set[str]:
    """The requirements of which a case failed."""
    return {case.requirement for case in report.of(Outcome.FAIL)}


def differing(report: Report) -> list[CaseResult]:
    """The cases of models that answer one request in two ways, none of which fails."""
    found = [case for case in report.cases if isinstance(case.cause, kinds.AnswersDiffer)]
    assert Outcome.FAIL not in {case.outcome for case in found}
    return found


def tried(report: Report) -> list[CaseResult]:
    """The cases of `report` but those about what the server does not claim."""
    return [case for case in report.cases if not isinstance(case.cause, kinds.ProfileNotClaimed)]


def edits(report: Report, directory: Path, **changed: Any) -> list[str]:
    """What `verify` finds edited if the relations of `report` have these members instead."""
    assert report.relations is not None
    relations = msgspec.structs.replace(report.relations, **changed)
    forged = msgspec.structs.replace(report, relations=relations, integrity=None)
    write_report(directory, sealed(forged))
    found = verify(directory / REPORT, every_case())
    assert found.exit_code == 1
    return list(found.edits)


def the_model(report: Report) -> AskedModel:
    assert report.relations is not None
    return report.relations.models[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    directory = tmp_path_factory.mktemp("whole")
    with ReferenceServer() as server:
        return run(server, directory, "matrix_product", patterns=[]), directory / REPORT


def test_a_right_server_is_consistent_and_never_conformant(whole: tuple[Report, Path]) -> None:
    report, path = whole
    assert standing(report).words == "consistent, robust"
    assert not report.verdict.conformant
    assert {"P2", "S2", "H4", "C1", "V1"} <= set(report.verdict.shown)
    assert {"B3", "M7"} <= set(report.verdict.needs_identity)
    assert "relations between the answers of matrix_product" in claim(report)
    assert verify(path, every_case()).now == "consistent, robust"


def test_unrepeatable_model_has_no_value_relations(start: Start, tmp_path: Path) -> None:
    server = start(Noisy)
    report = run(server, tmp_path / "exact")
    unsent = [case for case in report.cases if case.requirement in ("P2", "O1")]
    assert {type(case.cause) for case in unsent} == {kinds.AnswersDiffer}
    assert {case.outcome for case in tried(report) if case.requirement == "S2"} == {Outcome.PASS}
    within = run(server, tmp_path / "within", tolerance=Tolerance(rtol=0.0, atol=0.01))
    assert {case.outcome for case in tried(within)} == {Outcome.PASS}
    assert "floats within rtol 0 and atol 0.01" in claim(within)


class Particular(Noisy):
    """A server of version 1 alone, which wants a parameter, has an input that need not be sent, and
    an output that nobody can compare."""

    def of_model(
        self, request: Request, name: str, version: str | None, action: list[str]
    ) -> Response:
        if version is None:
            return self.error(404, "say which version")
        return super().of_model(request, name, version, action)

    def infer(self, model: ModelContract, request: Request) -> Response:
        if b'"top_k":1' not in bytes(self.decode_request(request).body):
            raise Rejected("say top_k")
        return super().infer(model, request)

    def model_metadata(self, model: ModelContract) -> Response:
        return super().model_metadata(replace(model, inputs=(*model.inputs, SEED)))


SEED = TensorSpec("seed", "INT64", (1,))
STATED = """
models:
  model/matrix_product:
    {version: 1, inputs: [INPUT0, INPUT1, INPUT2], outputs: [OUTPUT2], parameters: {top_k: 1}}
"""


def test_a_target_file_says_what_is_particular_about_a_model(start: Start, tmp_path: Path) -> None:
    (tmp_path / "target.yaml").write_text(STATED)
    target = make_target(start(Particular).url, target_file=tmp_path / "target.yaml")
    plan = learned_plan(target, Asked(["matrix_product"]), ["P2", "S2", "R3"])
    report = servers.start(target, plan, tmp_path).finish()
    assert {case.outcome for case in tried(report)} == {Outcome.PASS}
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0


@pytest.mark.parametrize("wide", [Tolerance(atol=1e300), Tolerance(rtol=1)])
@pytest.mark.long
def test_a_tolerance_with_which_zeros_pass_is_refused_and_never_consistent(
    wide: Tolerance, whole: tuple[Report, Path], tmp_path: Path, server: ReferenceServer
) -> None:
    with pytest.raises(UsageError, match="zeros would pass for the output OUTPUT0"):
        run(server, tmp_path, "matrix_product", tolerance=wide)
    said = edits(whole[0], tmp_path, rtol=wide.rtol, atol=wide.atol)
    assert any("zeros would pass" in edit for edit in said)


def test_the_claim_states_the_tolerance_of_few_digits(tmp_path: Path) -> None:
    with MutantServer(variants=["seven-digit-floats"]) as server:
        learned = run(server, tmp_path / "learned")
        told = run(server, tmp_path / "told", tolerance=Tolerance(rtol=1e-4))
    assert {case.outcome for case in tried(learned)} == {Outcome.PASS}
    words = (
        "floats of matrix_product within rtol 1e-06, as none of those seen needs more than 7 digits"
    )
    assert words in claim(learned)
    assert "digits" not in claim(told)
    exact = msgspec.structs.replace(the_model(learned), json_rtol=0.0)
    said = edits(learned, tmp_path, models=(exact,))
    assert any("its floats were compared within rtol 1e-06" in edit for edit in said)


@pytest.mark.parametrize("changing", [Rarely, Slowly])
def test_a_rare_change_is_the_models(
    start: Start, tmp_path: Path, changing: type[Behavior]
) -> None:
    report = run(start(changing), tmp_path, patterns=[*PATTERNS, "C6", "H6", "R3"])
    outcomes = {case.outcome for case in report.cases}
    assert outcomes <= {Outcome.PASS, Outcome.INCONCLUSIVE, Outcome.UNSUPPORTED, Outcome.NOT_RUN}
    assert differing(report)
    assert any("gave different answers" in reason for reason in report.verdict.reasons)
    lines = summary_lines(report, None)
    reason = next(number for number, line in enumerate(lines) if line.startswith("reason: "))
    assert not any(" first: " in line for line in lines[:reason])
    assert report.verdict.consistent is False
    assert not failed_musts(report)


SUMS = "sums"
OF_SUMS = ["P2", "L1", "O19"]


def test_a_right_model_that_sums_in_any_order_fails_nothing(start: Start, tmp_path: Path) -> None:
    server = start(SumsInAnyOrder)
    report = run(server, tmp_path / "exact", SUMS, patterns=OF_SUMS)
    assert [(case.id, case.message) for case in report.of(Outcome.FAIL)] == []
    assert {case.requirement for case in differing(report)} == {"L1"}
    assert any("--rtol" in reason for reason in report.verdict.reasons)
    assert not failed_musts(report)
    near = Tolerance(rtol=1e-4)
    within = run(server, tmp_path / "near", SUMS, patterns=OF_SUMS, tolerance=near)
    assert {case.outcome for case in tried(within) if case.requirement == "L1"} == {Outcome.PASS}


def test_what_failed_before_its_model_differed_is_withdrawn(start: Start, tmp_path: Path) -> None:
    broken = type("Broken", (FAULTS["request-blobs-off-by-one"].cls, SumsInAnyOrder), {})
    report = run(start(broken), tmp_path, SUMS, patterns=OF_SUMS)
    assert {case.requirement for case in differing(report)} == {"P2", "L1", "O19"}
    assert not failed(report)


class GarbageInBlobs(Behavior):
    """A server whose blobs of one output are other ones each time, never the right ones."""

    garbage = itertools.count(1)

    def output_blob(self, tensor: Tensor) -> Buffer:
        if tensor.name != "OUTPUT0":
            return super().output_blob(tensor)
        return np.full(len(tensor.blob) // 4, next(self.garbage), "<u4").tobytes()


def test_values_that_change_in_one_form_only_are_the_servers(start: Start, tmp_path: Path) -> None:
    report = run(start(GarbageInBlobs), tmp_path, patterns=["P3", "O1"])
    assert failed(report) == {"P3", "O1"}
    assert not differing(report)


class WithOneThatIsNotReady(Behavior):
    """A server whose reverser has metadata, and no answer to any request."""

    def run_model(self, model: ModelContract, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        if model.model == "reverser":
            raise Rejected("the model is not ready", 400)
        return super().run_model(model, inputs)


@pytest.mark.parametrize(
    ("name", "why"),
    [("nothing", "answered with status 404"), ("reverser", "it does not answer a plain request")],
)
@pytest.mark.long
def test_unlearned_model_blocks_verdict(start: Start, tmp_path: Path, name: str, why: str) -> None:
    report = run(start(WithOneThatIsNotReady), tmp_path, "widener", name)
    (reason,) = [line for line in report.verdict.reasons if "was not tested" in line]
    assert reason.startswith(f"the model {name} was not tested: ")
    assert why in reason
    assert report.verdict.consistent is False
    assert exit_code_of(report, Gate()) == 1


class SometimesCut(Behavior):
    """A server that leaves out the end of its second answer."""

    answered = itertools.count(1)

    def output_data(self, tensor: Tensor) -> Any:
        data = super().output_data(tensor)
        return data[:-1] if next(self.answered) == 5 else data


def test_malformed_answer_is_a_failure_with_a_report(start: Start, tmp_path: Path) -> None:
    report = run(start(StaticShape), tmp_path, patterns=["P2", "O1", "H4", "R3"])
    assert {type(case.cause) for case in report.of(Outcome.FAIL)} == {kinds.InvalidTensor}
    assert {case.requirement for case in report.of(Outcome.PASS)} >= {"H4", "R3"}
    assert report.verdict.consistent is False


def test_nothing_holds_beside_a_malformed_plain_answer(start: Start, tmp_path: Path) -> None:
    SometimesCut.answered = itertools.count(1)
    report = run(start(SometimesCut), tmp_path, patterns=["P2", "S2"])
    about_values = [case for case in report.cases if case.requirement == "P2"]
    assert {type(case.cause) for case in about_values} == {kinds.NothingToCompare}
    assert {case.outcome for case in about_values} == {Outcome.INCONCLUSIVE}
    assert report.verdict.consistent is False


class EmptyWithBytes(Behavior):
    """A server that sends one byte too many for a tensor without elements."""

    def output_size(self, tensor: Tensor) -> int:
        return super().output_size(tensor) or 1

    def output_blob(self, tensor: Tensor) -> Buffer:
        return super().output_blob(tensor) or b"\0"


def test_malformed_answer_to_special_values_is_a_failure(start: Start, tmp_path: Path) -> None:
    assert failed(run(start(EmptyWithBytes), tmp_path, "reverser", patterns=["E1", "B2"])) == {"E1"}


@pytest.mark.long
def test_left_out_special_values_are_found(server: ReferenceServer, tmp_path: Path) -> None:
    report = run(server, tmp_path, "reverser", patterns=["E1", "B4", "J3"])
    passed = {case.id for case in report.of(Outcome.PASS)}
    names = {"B4/any-bytes[all-bytes]@reverser", "E1/zero-elements[json,json]@reverser"}
    assert names <= passed
    model = the_model(report)
    plain = model.learned[: len(model.learned) - len(model.special)]
    fewer = msgspec.structs.replace(model, special=(), learned=plain)
    said = edits(report, tmp_path, models=(fewer,))
    assert any("special values are not those" in edit for edit in said)


def test_edited_samples_are_found(whole: tuple[Report, Path], tmp_path: Path) -> None:
    model = the_model(whole[0])
    for changed in ({"learned": model.learned[:-1]}, {"role": "model/other"}):
        edits(whole[0], tmp_path, models=(msgspec.structs.replace(model, **changed),))


def test_report_without_relations_fails(whole: tuple[Report, Path], tmp_path: Path) -> None:
    planned = dict(Counter(case.requirement for case in whole[0].cases))
    bare = msgspec.structs.replace(whole[0], relations=None, planned=planned, integrity=None)
    write_report(tmp_path, sealed(bare))
    found = verify(tmp_path / REPORT, every_case())
    assert found.exit_code == 1
    last = " ".join(verification_lines(found)[-3:])
    assert "amount to CONFORMANT" not in last
    assert "amount to CONSISTENT" not in last
