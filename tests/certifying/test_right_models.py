"""Right models get no wrong verdict, whatever they compute and however long their messages are."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from support.right_models import HALVES, RIGHT_MODELS, Arrays, Halves, RightModel, Serving, serving
from support.servers import Start
from v2_conformance.certifying import servers
from v2_conformance.certifying.relations import Asked, learned_plan
from v2_conformance.certifying.servers import StartedRun
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.http_messages import Rejected
from v2_conformance.reference.request_reader import RequestInput
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report import bodies, files
from v2_conformance.report.bodies import PlacedBody, streams_of
from v2_conformance.report.document import Report
from v2_conformance.report.files import REPORT, read_report
from v2_conformance.runs import learning
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.library import every_case
from v2_conformance.suite.models import ROLE
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.values.samples import Choice
from v2_conformance.verifying.verification import verify
from v2_conformance.wire.exchange import Body, Exchange
from v2_mutants.servers import MutantServer


# The shape of the row is that of elements in one list more, as many malformed requests have them.
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if "row" in name else pytest.mark.long) for name in RIGHT_MODELS],
)
def test_a_right_model_fails_nothing(tmp_path: Path, name: str) -> None:
    model = RIGHT_MODELS[name]
    asked = Asked([name], model.choice)
    with ReferenceServer(serving(name), profiles=SERVER_PROFILES) as server:
        target = make_target(server.url, profiles=SERVER_PROFILES)
        plan = learned_plan(target, asked, model.patterns)
        report = servers.start(target, plan, tmp_path).finish()
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
        target = make_target(running.url)
        plan = learned_plan(target, Asked([HALVES]), ["D12/*", "O19/*"])
        report = servers.start(target, plan, tmp_path).finish()
    found = [case.outcome for case in report.cases if case.requirement == "D12"]
    assert found == [Outcome.PASS] * 2
    assert list(report.of(Outcome.FAIL)) == []


@pytest.mark.parametrize(
    "variant", ["seven-digit-floats", "fifteen-digit-floats", "no-negative-zero-in-json"]
)
@pytest.mark.long
def test_what_json_may_lose_of_a_float_fails_no_blob(tmp_path: Path, variant: str) -> None:
    asked = Asked(["matrix_product", "identity_fp64"])
    with MutantServer(variants=[variant]) as server:
        target = make_target(server.url)
        report = servers.start(target, learned_plan(target, asked), tmp_path).finish()
    musts = [case for case in report.of(Outcome.FAIL) if case.level == "MUST"]
    assert [(case.id, case.message) for case in musts] == []
    assert report.verdict.consistent
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0


PATTERNS = ["P2", "O1", "O2", "S2", "P1"]
DIMS = (-1, 3, 24, 24)
THREE = Choice({"image": (3, *DIMS[1:])})


def negative(given: Arrays) -> Arrays:
    return {"negative": 1 - given["image"]}


IMAGES = RightModel({"image": ("FP32", *DIMS)}, {"negative": ("FP32", *DIMS)}, negative)


class Images(Serving):
    """A server of models that take images, with any number of them in a batch."""

    right = MappingProxyType({"one": IMAGES, "two": IMAGES})


def started(url: str, directory: Path, *names: str, choice: Choice | None = None) -> StartedRun:
    asked = Asked(names or ("one",), choice or Choice())
    target = make_target(url)
    return servers.start(target, learned_plan(target, asked, PATTERNS), directory)


def batches(report: Report) -> list[int]:
    assert report.relations is not None
    return [model.samples[0][0].shape[0] for model in report.relations.models]


def long_messages(report: Report) -> list[Body]:
    exchanges = (exchange for case in report.cases for exchange in case.exchanges)
    messages = (body for one in exchanges for body in (one.request, one.received))
    return [body for body in messages if len(body) > bodies.SHORT]


def is_cut(exchange: Exchange) -> tuple[bool, bool]:
    asked, answered = (len(one) < one.size for one in (exchange.request, exchange.received))
    return asked, answered


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Report:
    with ReferenceServer(Images) as server:
        return started(server.url, tmp_path_factory.mktemp("whole"), choice=THREE).finish()


@pytest.mark.parametrize("bound", ["UNPACKED", "PACKED"])
def test_a_run_longer_than_its_report_ends_with_a_report(
    whole: Report, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    long = [body for body in long_messages(whole) if isinstance(body, PlacedBody)]
    packed = streams_of(whole).packed
    sizes = {
        "PACKED": sum(len(packed[number]) for number in {body.place.stream for body in long}),
        "UNPACKED": sum(map(len, long)),
    }
    share = {"PACKED": 16, "UNPACKED": 2}  # most messages are packed with how it was learned
    monkeypatch.setattr(files, bound, sizes[bound] // share[bound])
    report = started(start(Images).url, tmp_path, choice=THREE).finish()
    assert read_report(tmp_path / REPORT).report == report
    assert sum(map(len, long_messages(report))) <= files.UNPACKED
    cut = {
        case.id: [is_cut(exchange) for exchange in case.exchanges]
        for case in report.cases
        if any(exchange.omitted for exchange in case.exchanges)
    }
    assert 0 < len(cut) < len(report.cases)
    assert any(asked for exchanges in cut.values() for asked, _ in exchanges)
    if bound == "UNPACKED":  # packed, the answers take nothing: they are those to plain requests
        assert any(answered for exchanges in cut.values() for _, answered in exchanges)
    assert not list(report.of(Outcome.FAIL))  # they were judged by all their bytes
    found = verify(tmp_path / REPORT, every_case())
    assert not found.edits
    assert {case.id for case in found.cases if case.unjudged} >= cut.keys()
    assert not [case.problem for case in found.cases if case.problem]


def test_long_samples_have_one_in_variable_dimensions(start: Start, tmp_path: Path) -> None:
    assert batches(started(start(Images).url, tmp_path).finish()) == [1]
    assert batches(started(start(Images).url, tmp_path, choice=THREE).finish()) == [3]


def test_models_share_room(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "_ROOM", 3 << 19)
    run = started(start(Images).url, tmp_path, "one", "two", choice=THREE)
    assert batches(run.finish()) == [3]
    assert "its messages take more than" in run.engine.server.absent[ROLE + "two"]
