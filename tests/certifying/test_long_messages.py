"""A run with messages longer than its report has room for: it ends with a report all the same."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import pytest

from support.right_models import Arrays, RightModel, Serving
from support.servers import Start
from v2_conformance.certifying.relations import Asked, start_relations
from v2_conformance.certifying.servers import StartedRun
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
    return start_relations(make_target(url), asked, directory, patterns=PATTERNS)


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


def test_models_share_the_room_of_a_report(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start(Images)
    monkeypatch.setattr(learning, "_ROOM", 3 << 19)
    run = started(server.url, tmp_path, "one", "two", choice=THREE)
    assert batches(run.finish()) == [3]
    assert "its messages take more than" in run.engine.server.absent[ROLE + "two"]
