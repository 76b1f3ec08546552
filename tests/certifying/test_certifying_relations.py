"""A run about models that nobody knows: its verdict, its report, and judging that again."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from support.behaviours import Floats, Noisy, OtherFloats
from support.right_models import SumsInAnyOrder
from support.servers import Start
from v2_conformance.certifying.relations import Asked, start_relations
from v2_conformance.cli import exit_codes
from v2_conformance.errors import UsageError
from v2_conformance.formats.text.verification import verification_lines
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.files import REPORT, sealed, write_report
from v2_conformance.report.tested import AskedModel
from v2_conformance.report.verdict.judged import Gate, failed_musts
from v2_conformance.report.verdict.standing import claim, standing
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.causes.causes import Cause, SeveralWrong
from v2_conformance.suite.causes.kinds import (
    AnswersDiffer,
    InvalidTensor,
    MissingOutput,
    NothingToCompare,
    ProfileNotClaimed,
    WrongStatus,
)
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


class MoreRarely(Rarely):
    """Models that answer every fiftieth request in another way."""

    answered = itertools.count(1)
    every = 50
    noisy = "OUTPUT0"


class WrongBesideOthers(OtherFloats):
    """Models whose first output is another one if two requests are in progress."""

    _met = threading.Condition()
    _here = 0
    _beside = False

    def other(self, output: TensorSpec, values: Floats) -> Floats:
        if output.name != "OUTPUT0":
            return values
        with self._met:
            self._here += 1
            self._beside = self._here > 1
            self._met.notify_all()
            mixed = self._met.wait_for(lambda: self._beside, timeout=0.005)
            self._here -= 1
        found: Floats = values + np.float32(mixed)
        return found


def run(
    server: ReferenceServer,
    directory: Path,
    *names: str,
    patterns: list[str] = PATTERNS,
    tolerance: Tolerance | None = None,
) -> Report:
    asked = Asked(names or ("matrix_product", "reverser"), tolerance=tolerance)
    return start_relations(make_target(server.url), asked, directory, patterns=patterns).finish()


def tried(report: Report) -> list[CaseResult]:
    """The cases of `report` but those about what the server does not claim."""
    return [case for case in report.cases if not isinstance(case.cause, ProfileNotClaimed)]


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
    assert standing(report).words == "consistent"
    assert not report.verdict.conformant
    assert {"P2", "S2", "H4", "C1", "V1"} <= set(report.verdict.shown)
    assert {"B3", "M7"} <= set(report.verdict.needs_identity)
    assert "relations between the answers of matrix_product" in claim(report)
    found = verify(path, every_case())
    assert (found.exit_code, found.now) == (0, "consistent")


def test_a_part_of_the_run_is_no_verdict(tmp_path: Path, server: ReferenceServer) -> None:
    report = run(server, tmp_path, "matrix_product")
    assert standing(report).words == "incomplete run"
    assert not report.verdict.consistent
    assert {case.outcome for case in tried(report)} == {Outcome.PASS}
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0


def test_a_fault_breaks_the_relation_of_its_requirement(tmp_path: Path) -> None:
    with MutantServer(["request-blobs-off-by-one"]) as server:
        report = run(server, tmp_path, "matrix_product")
    assert any(
        reason.startswith("MUST (blocks conformant) P2 failed") for reason in report.verdict.reasons
    )
    found = verify(tmp_path / REPORT, every_case())
    assert found.exit_code == 0


def test_unrepeatable_model_has_no_value_relations(start: Start, tmp_path: Path) -> None:
    server = start(Noisy)
    report = run(server, tmp_path / "exact", "matrix_product")
    unsent = [case for case in report.cases if case.requirement in ("P2", "O1")]
    assert unsent
    assert {type(case.cause) for case in unsent} == {AnswersDiffer}
    assert {case.outcome for case in tried(report) if case.requirement == "S2"} == {Outcome.PASS}
    assert verify(tmp_path / "exact" / REPORT, every_case()).exit_code == 0
    near = Tolerance(rtol=0.0, atol=0.01)
    within = run(server, tmp_path / "within", "matrix_product", tolerance=near)
    assert {case.outcome for case in tried(within)} == {Outcome.PASS}
    assert "floats within rtol 0 and atol 0.01" in claim(within)


@pytest.mark.parametrize("wide", [Tolerance(atol=1e300), Tolerance(rtol=1e300), Tolerance(rtol=1)])
@pytest.mark.long
def test_a_tolerance_with_which_zeros_pass_is_refused_and_never_consistent(
    wide: Tolerance, whole: tuple[Report, Path], tmp_path: Path, server: ReferenceServer
) -> None:
    with pytest.raises(UsageError, match="zeros would pass for the output OUTPUT0"):
        run(server, tmp_path, "matrix_product", tolerance=wide)
    said = edits(whole[0], tmp_path, rtol=wide.rtol, atol=wide.atol)
    assert any("zeros would pass" in edit for edit in said)


def test_the_claim_states_the_tolerance_of_few_digits(
    tmp_path: Path,
) -> None:
    with MutantServer(variants=["six-digit-floats"]) as server:
        learned = run(server, tmp_path / "learned", "matrix_product")
        given = Tolerance(rtol=1e-4)
        told = run(server, tmp_path / "told", "matrix_product", tolerance=given)
    assert {case.outcome for case in tried(learned)} == {Outcome.PASS}
    words = "floats of matrix_product within rtol 1e-05, as their JSON has few digits"
    assert words in claim(learned)
    assert "few digits" not in claim(told)
    for folder in ("learned", "told"):
        assert verify(tmp_path / folder / REPORT, every_case()).exit_code == 0
    exact = msgspec.structs.replace(the_model(learned), json_rtol=0.0)
    said = edits(learned, tmp_path, models=(exact,))
    assert any("its floats were compared within rtol 1e-05" in edit for edit in said)


def test_value_wrong_beside_others_is_the_servers(start: Start, tmp_path: Path) -> None:
    asked = ["C6/unlike-shapes*", "P2"]
    report = run(start(WrongBesideOthers), tmp_path, "matrix_product", patterns=asked)
    assert {case.outcome for case in report.cases if case.requirement == "P2"} == {Outcome.PASS}
    wrong = [case for case in report.cases if case.outcome is Outcome.FAIL]
    assert {case.requirement for case in wrong} == {"C6"}
    assert all(isinstance(case.cause, SeveralWrong) for case in wrong)
    assert not any(isinstance(case.cause, AnswersDiffer) for case in report.cases)
    found = verify(tmp_path / REPORT, every_case())
    assert found.exit_code == 0
    assert not any(case.other_cause for case in found.cases)


def test_rare_difference_beside_another_is_the_models(start: Start, tmp_path: Path) -> None:
    models = ("matrix_product", "widener")
    report = run(start(MoreRarely), tmp_path, *models, patterns=["C6/models-at-once*"])
    assert report.cases
    assert {type(case.cause) for case in report.cases} == {AnswersDiffer}
    assert {case.outcome for case in report.cases} <= {Outcome.INCONCLUSIVE, Outcome.NOT_RUN}
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0


def test_rare_difference_is_the_models(start: Start, tmp_path: Path) -> None:
    asked = [*PATTERNS, "C6", "H6", "R3"]
    report = run(start(Rarely), tmp_path, "matrix_product", patterns=asked)
    outcomes = {case.outcome for case in report.cases}
    assert outcomes <= {Outcome.PASS, Outcome.INCONCLUSIVE, Outcome.UNSUPPORTED}
    differing = [case for case in report.cases if isinstance(case.cause, AnswersDiffer)]
    assert differing
    assert {case.outcome for case in differing} == {Outcome.INCONCLUSIVE}
    assert "gave different answers" in report.verdict.reasons[1]
    assert not failed_musts(report)
    found = verify(tmp_path / REPORT, every_case())
    assert found.exit_code == 0
    assert not any(case.other_cause for case in found.cases)


SUMS = "sums"
OF_SUMS = ["P2", "L1", "O19"]


def test_a_right_model_that_sums_in_any_order_fails_nothing(start: Start, tmp_path: Path) -> None:
    report = run(start(SumsInAnyOrder), tmp_path / "exact", SUMS, patterns=OF_SUMS)
    assert [(case.id, case.message) for case in report.of(Outcome.FAIL)] == []
    differing = [case for case in report.cases if isinstance(case.cause, AnswersDiffer)]
    assert {case.requirement for case in differing} == {"L1"}
    assert any("--rtol" in reason for reason in report.verdict.reasons)
    assert not failed_musts(report)
    found = verify(tmp_path / "exact" / REPORT, every_case())
    assert (found.exit_code, [case.id for case in found.cases if case.other_cause]) == (0, [])
    near = Tolerance(rtol=1e-4)
    within = run(start(SumsInAnyOrder), tmp_path / "near", SUMS, patterns=OF_SUMS, tolerance=near)
    assert {case.outcome for case in tried(within) if case.requirement == "L1"} == {Outcome.PASS}


def test_what_failed_before_its_model_differed_is_withdrawn(start: Start, tmp_path: Path) -> None:
    broken = type("Broken", (FAULTS["request-blobs-off-by-one"].cls, SumsInAnyOrder), {})
    report = run(start(broken), tmp_path, SUMS, patterns=OF_SUMS)
    differing = [case for case in report.cases if isinstance(case.cause, AnswersDiffer)]
    assert {case.requirement for case in differing} == {"P2", "L1", "O19"}
    assert list(report.of(Outcome.FAIL)) == []
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0


class GarbageInBlobs(Behaviour):
    """A server whose blobs of one output are other ones each time, never the right ones."""

    garbage = itertools.count(1)

    def output_blob(self, tensor: Tensor) -> Buffer:
        if tensor.name != "OUTPUT0":
            return super().output_blob(tensor)
        return np.full(len(tensor.blob) // 4, next(self.garbage), "<u4").tobytes()


def test_values_that_change_in_one_form_only_are_the_servers(start: Start, tmp_path: Path) -> None:
    report = run(start(GarbageInBlobs), tmp_path, "matrix_product", patterns=["P3", "O1"])
    assert {case.requirement for case in report.of(Outcome.FAIL)} == {"P3", "O1"}
    assert not [case for case in report.cases if isinstance(case.cause, AnswersDiffer)]
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0


class Slowly(OtherFloats):
    """A model that counts: its numbers are other ones after every hundredth answer."""

    answered = itertools.count(1)

    def other(self, output: TensorSpec, values: Floats) -> Floats:
        counted: Floats = values + np.float32(next(self.answered) // 100)
        return counted


def test_a_model_that_changes_slowly_is_no_dead_server(start: Start, tmp_path: Path) -> None:
    report = run(start(Slowly), tmp_path, "matrix_product", patterns=[*PATTERNS, "C6", "H6", "R3"])
    assert not [case for case in report.cases if case.outcome is Outcome.FAIL]
    assert [case for case in report.cases if isinstance(case.cause, AnswersDiffer)]
    assert report.verdict.consistent is False
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0


class WithOneThatIsNotReady(Behaviour):
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
    server = start(WithOneThatIsNotReady)
    report = run(server, tmp_path, "widener", name)
    (reason,) = [line for line in report.verdict.reasons if "was not tested" in line]
    assert reason.startswith(f"the model {name} was not tested: ")
    assert why in reason
    assert report.verdict.consistent is False
    assert exit_codes.of_report(report, Gate()) == 1
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0


class StaticShape(Behaviour):
    """A server whose outputs always have the shape of one row."""

    def response_output(self, tensor: Tensor, binary: bool) -> dict[str, Any]:
        entry = super().response_output(tensor, binary)
        return {**entry, "shape": [1, *tensor.shape[1:]]}


class OtherNames(Behaviour):
    """A server whose answers name outputs otherwise than its metadata."""

    def response_output(self, tensor: Tensor, binary: bool) -> dict[str, Any]:
        return {**super().response_output(tensor, binary), "name": tensor.name.lower()}


class Created(Behaviour):
    """A server that answers with another status than 200."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        return replace(super().infer(model, request), status=201)


class SometimesCut(Behaviour):
    """A server that leaves out the end of its second answer."""

    answered = itertools.count(1)

    def output_data(self, tensor: Tensor) -> Any:
        data = super().output_data(tensor)
        return data[:-1] if next(self.answered) == 5 else data


@pytest.mark.parametrize(
    ("behaviour", "cause"),
    [
        (StaticShape, InvalidTensor),
        (OtherNames, MissingOutput),
        (Created, WrongStatus),
    ],
)
def test_malformed_answer_is_a_failure_with_a_report(
    start: Start, tmp_path: Path, behaviour: type[Behaviour], cause: type[Cause]
) -> None:
    report = run(start(behaviour), tmp_path, "matrix_product", patterns=["P2", "O1", "H4", "R3"])
    assert {type(case.cause) for case in report.of(Outcome.FAIL)} == {cause}
    assert {case.requirement for case in report.of(Outcome.PASS)} >= {"H4", "R3"}
    assert report.verdict.consistent is False
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0


def test_nothing_holds_beside_a_malformed_plain_answer(start: Start, tmp_path: Path) -> None:
    SometimesCut.answered = itertools.count(1)
    report = run(start(SometimesCut), tmp_path, "matrix_product", patterns=["P2", "S2"])
    about_values = [case for case in report.cases if case.requirement == "P2"]
    assert {type(case.cause) for case in about_values} == {NothingToCompare}
    assert {case.outcome for case in about_values} == {Outcome.INCONCLUSIVE}
    assert report.verdict.consistent is False
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0


class EmptyWithBytes(Behaviour):
    """A server that sends one byte too many for a tensor without elements."""

    def output_data(self, tensor: Tensor) -> Any:
        return [0] if 0 in tensor.shape else super().output_data(tensor)

    def output_size(self, tensor: Tensor) -> int:
        return super().output_size(tensor) or 1

    def output_blob(self, tensor: Tensor) -> Buffer:
        return super().output_blob(tensor) or b"\0"


class EmptyLeftOut(Behaviour):
    """A server whose responses lack the outputs without elements."""

    def response_document(
        self, model: ModelContract, inference: InferenceRequest, entries: list[dict[str, Any]]
    ) -> dict[str, Any]:
        there = [one for one in entries if 0 not in one["shape"]]
        return super().response_document(model, inference, there)


def test_an_output_without_elements_that_is_left_out_is_a_failure(
    start: Start, tmp_path: Path
) -> None:
    report = run(start(EmptyLeftOut), tmp_path, "reverser", patterns=["E1", "B2"])
    assert {case.requirement for case in report.of(Outcome.FAIL)} == {"E1"}
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0


def test_malformed_answer_to_special_values_is_a_failure(start: Start, tmp_path: Path) -> None:
    report = run(start(EmptyWithBytes), tmp_path, "reverser", patterns=["E1", "B2"])
    failed = {case.requirement for case in report.of(Outcome.FAIL)}
    assert failed == {"E1"}
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0


@pytest.mark.long
def test_special_values_that_were_left_out_are_found(tmp_path: Path) -> None:
    with ReferenceServer() as server:
        report = run(server, tmp_path, "reverser", patterns=["E1", "B4", "J3"])
    passed = {case.id for case in report.of(Outcome.PASS)}
    assert "B4/any-bytes[all-bytes]@reverser" in passed
    assert "E1/zero-elements[json,json]@reverser" in passed
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0
    model = the_model(report)
    plain = len(model.learned) - len(model.special)
    fewer = msgspec.structs.replace(model, special=(), learned=model.learned[:plain])
    said = edits(report, tmp_path, models=(fewer,))
    assert any("special values are not those" in edit for edit in said)


def test_edited_samples_are_found(whole: tuple[Report, Path], tmp_path: Path) -> None:
    report, _ = whole
    model = the_model(report)
    fewer = msgspec.structs.replace(model, learned=model.learned[:-1])
    other = msgspec.structs.replace(model, role="model/other")
    for edited in (fewer, other):
        edits(report, tmp_path, models=(edited,))


def test_report_without_relations_fails(whole: tuple[Report, Path], tmp_path: Path) -> None:
    report, _ = whole
    planned = Counter(case.requirement for case in report.cases)
    bare = msgspec.structs.replace(report, relations=None, planned=dict(planned), integrity=None)
    write_report(tmp_path, sealed(bare))
    found = verify(tmp_path / REPORT, every_case())
    assert found.exit_code == 1
    last = " ".join(" ".join(verification_lines(found)).split()).rpartition("hold")[0]
    assert last.endswith("does NOT ")
    said = " ".join(verification_lines(found)[-3:])
    for good in ("amount to CONFORMANT", "amount to CONSISTENT"):
        assert good not in said
