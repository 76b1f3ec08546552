"""All generated requests of a run are one case: the same bytes each time, shrunk if one fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import hypothesis

from support.runs import chosen, engine_for
from support.servers import Start
from v2_conformance.engine.counterexamples import COUNTEREXAMPLE
from v2_conformance.engine.discovery import Server
from v2_conformance.engine.engine import Engine
from v2_conformance.engine.target import Target
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.suite.case_files import load_cases
from v2_conformance.suite.case_files import make_case as case_of
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.causes import (
    GeneratedFailure,
    GeneratedRequests,
    KilledBy,
    NoUsableModel,
    died,
)
from v2_conformance.suite.findings import WrongStatus
from v2_conformance.suite.library import EXAMPLES, SEED, generated_case
from v2_conformance.suite.models import ModelContract
from v2_conformance.suite.outcomes import Outcome


def test_generated_requests_are_one_case_and_the_same_bytes_each_time() -> None:
    sent = []
    with ReferenceServer() as server:
        for _ in range(2):
            with engine_for(server.url) as engine:
                result = engine.run(generated_case())
            assert result.outcome is Outcome.PASS
            version = hypothesis.__version__
            assert result.cause == GeneratedRequests(EXAMPLES, SEED, version)
            words = f"{EXAMPLES} generated requests (seed 0, Hypothesis {version})"
            assert result.message == words
            assert result.duration_s > 0
            sent.append([bytes(exchange.transcript.request) for exchange in result.exchanges])
    assert sent[0] == sent[1]
    assert len(set(sent[0])) > EXAMPLES / 2


def test_a_case_of_another_number_or_seed_sends_other_generated_requests() -> None:
    with ReferenceServer() as server, engine_for(server.url) as engine:
        few = engine.run(replace(generated_case(), count=3, seed=7))
        other = engine.run(replace(generated_case(), count=3, seed=8))
    assert few.cause == GeneratedRequests(3, 7, hypothesis.__version__)
    assert len(few.exchanges) == 3
    first, second = (
        [bytes(exchange.transcript.request) for exchange in result.exchanges]
        for result in (few, other)
    )
    assert first != second


def test_a_generated_request_that_fails_is_the_cases_failure_and_a_case_file(
    tmp_path: Path,
) -> None:
    (tmp_path / COUNTEREXAMPLE).write_text("an older run's")
    with (
        ReferenceServer(["request-blobs-in-model-order"]) as server,
        engine_for(server.url, directory=tmp_path) as engine,
    ):
        result = engine.run(generated_case())
        assert result.outcome is Outcome.FAIL
        assert isinstance(result.cause, GeneratedFailure)
        assert result.cause.file == COUNTEREXAMPLE
        assert result.cause.number > 0
        assert (result.cause.seed, result.cause.hypothesis) == (SEED, hypothesis.__version__)
        assert f"(shrunk from generated request {result.cause.number}, " in result.message
        assert result.message.endswith(f"; {COUNTEREXAMPLE} has it as a case)")
        entries = [exchange.entry for exchange in result.exchanges]
        assert all(entry and isinstance(case_of(entry), RequestCase) for entry in entries)
        (case,) = load_cases(tmp_path / COUNTEREXAMPLE)
        alone = engine.run(case)
    assert (alone.outcome, alone.cause) == (Outcome.FAIL, result.cause.request)


def test_without_a_folder_no_case_file_is_written(start: Start) -> None:
    class Refuses(Behaviour):
        def infer(self, model: ModelContract, request: Request) -> Response:
            return self.error(500, "no")

    with engine_for(start(Refuses).url) as engine:
        result = engine.run(generated_case())
    version = hypothesis.__version__
    wrong = WrongStatus("200", 500, '{"error":"no"}')
    assert result.cause == GeneratedFailure(wrong, 1, SEED, version, None)
    assert COUNTEREXAMPLE not in result.message


def test_a_pass_removes_the_case_file_of_an_older_run(tmp_path: Path) -> None:
    (tmp_path / COUNTEREXAMPLE).write_text("an older run's")
    with (
        ReferenceServer() as server,
        engine_for(server.url, directory=tmp_path) as engine,
    ):
        assert engine.run(replace(generated_case(), count=1)).outcome is Outcome.PASS
    assert list(tmp_path.iterdir()) == []


def test_a_server_without_usable_models_is_no_pass() -> None:
    engine = Engine(Target("http://host:1"), Server("s", "1", ()))
    result = engine.run(generated_case())
    assert (result.outcome, result.cause) == (Outcome.NOT_RUN, NoUsableModel())
    assert not result.exchanges


def test_generated_requests_to_a_dead_server_are_not_run_and_name_the_killer() -> None:
    with (
        ReferenceServer(["rejection-stops-listening"]) as server,
        engine_for(server.url) as engine,
    ):
        killer = chosen("R3/")[0]
        assert died(engine.run(killer).cause)
        result = engine.run(generated_case())
    assert result.outcome is Outcome.NOT_RUN
    assert result.cause == KilledBy(killer.id, ANY)
    assert not result.exchanges
