"""All generated requests of a run are one case: those of the file, and then those that are drawn
(`--generated`), up to the first failure, which is shrunk and recorded."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import pytest

from support.reports import Document, case_of, read_document
from support.runs import cases_that_differ, changed, chosen, engine_for, said, target_of
from v2_conformance.cli.main import main
from v2_conformance.conversations.discovery import Server
from v2_conformance.conversations.steps import Result
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.judging.verdict import Verdict
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.generated import Failure, first_failure, usable_roles
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.causes.causes import GeneratedFailure, died
from v2_conformance.suite.causes.kinds import GeneratedRequests, KilledBy, LeftoverBytes
from v2_conformance.suite.library import GENERATED, generated_case
from v2_conformance.suite.models import ModelContract, contract
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.servers import MutantServer

ROLES = [role for role, model in contract().items() if model.does == "identity"]


def drawn(url: str, count: int, seed: int, *profiles: str) -> Failure | None:
    """The failure of requests to all models that the server at `url` has."""
    with engine_for(url, *profiles) as engine:
        roles = usable_roles(engine.target, engine.server)
        return first_failure(engine.run, roles, count, seed, shrink_s=1.0)


# The requests of the file.

REQUESTS = generated_case().requests


def test_generated_requests_are_one_case_and_are_sent_as_their_file_has_them(
    monkeypatch: pytest.MonkeyPatch, server: ReferenceServer
) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)  # whatever it would make
    with engine_for(server.url) as engine:
        first, again = engine.run(generated_case()), engine.run(generated_case())
    assert first.outcome is Outcome.PASS
    usable = [e for e in REQUESTS if contract()[e["model"]].profile == "binary"]
    assert first.cause == GeneratedRequests(len(usable), None, None)
    assert [exchange.entry for exchange in first.exchanges] == usable
    sent = [[bytes(exchange.request) for exchange in one.exchanges] for one in (first, again)]
    assert sent[0] == sent[1]
    assert len(set(sent[0])) > 50  # some differ in their delivery alone


def test_a_server_gets_the_generated_requests_that_it_has_the_models_for(url: str) -> None:
    target = replace(target_of(url), unsupported=frozenset({"FP16", "BYTES"}))
    found = discover(target)
    present = {role: found.present[role] for role in found.present if "cube" not in role}
    for roles in (present, {}):
        engine = Engine(target, replace(found, present=roles))
        result = engine.run(generated_case())
        engine.close()
        sent = {exchange.entry["model"] for exchange in result.exchanges if exchange.entry}
        assert result.outcome is (Outcome.PASS if roles else Outcome.NOT_RUN)
        assert not sent & {"mixed", "all_types", "trio", "cube/FP64", "matrix/BYTES"}
        assert ("matrix/FP32" in sent) is bool(roles)


def test_a_generated_request_that_fails_is_the_failure_of_the_case() -> None:
    fault = "request-blobs-in-model-order"
    with MutantServer([fault]) as server, engine_for(server.url) as engine:
        result = engine.run(generated_case())
        assert result.outcome is Outcome.FAIL
        assert isinstance(result.cause, GeneratedFailure)
        assert REQUESTS[result.cause.number - 1] == result.exchanges[0].entry
        assert f" (generated request {result.cause.number}) (sent " in result.message
        alone = engine.run(make_case(result.exchanges[0].entry or {}))
    assert (alone.outcome, alone.cause) == (Outcome.FAIL, result.cause.request)


def test_generated_requests_to_a_dead_server_are_not_run_and_name_the_killer() -> None:
    fault = "rejection-stops-listening"
    with MutantServer([fault]) as server, engine_for(server.url) as engine:
        killer = chosen("R3/survives")[0]
        assert died(engine.run(killer).cause)
        result = engine.run(generated_case())
    assert (result.outcome, result.cause) == (Outcome.NOT_RUN, KilledBy(killer.id, ANY))
    assert not result.exchanges


# Those that are drawn.


class Recording:
    """Sends nothing: it keeps the cases, and each of them passes or fails."""

    def __init__(self, passes: Callable[[RequestCase], bool] = lambda case: True) -> None:
        self.cases: list[Case] = []
        self._passes = passes

    def __call__(self, case: Case) -> Result:
        assert isinstance(case, RequestCase)
        self.cases.append(case)
        if self._passes(case):
            return Result(case, Verdict(Outcome.PASS))
        return Result(case, Verdict(Outcome.FAIL, LeftoverBytes(1, 2, 4)))


def test_models_whose_datatypes_or_profile_are_not_claimed_get_no_request() -> None:
    target = Target("http://host:1", unsupported=frozenset({"BYTES"}))
    present = {role: target.binding(role) for role in contract()}
    usable = usable_roles(target, Server(ServerInfo("s", "1", ()), present))
    assert "identity/INT32" in usable
    assert not {"identity/BYTES", "all_types", "identity/BF16", "raw/fixed"} & set(usable)


def test_a_seed_decides_all_requests() -> None:
    first, again, other = Recording(), Recording(), Recording()
    first_failure(first, ROLES, 30, seed=1)
    first_failure(again, ROLES, 30, seed=1)
    first_failure(other, ROLES, 30, seed=2)
    assert first.cases == again.cases
    assert first.cases != other.cases


def test_a_server_without_faults_answers_drawn_requests(server: ReferenceServer) -> None:
    assert drawn(server.url, 150, 20, "bf16") is None


# Failures.


@pytest.mark.parametrize(
    "fault", ["blobs-read-aligned", "bytes-trailing-nul-stripped", "last-output-flag-decides"]
)
def test_a_fault_is_found_and_its_entry_fails_alone(fault: str) -> None:
    with MutantServer([fault]) as server:
        found = drawn(server.url, 300, 4)
        assert found is not None
        with engine_for(server.url) as engine:  # it knows nothing else
            again = engine.run(make_case(found.entry))
    assert again.verdict == found.result.verdict
    sent, came = (bytes(one.exchanges[0].request) for one in (again, found.result))
    assert sent == came
    with ReferenceServer() as right, engine_for(right.url) as engine:
        assert engine.run(make_case(found.entry)).outcome is Outcome.PASS


def test_a_failure_is_shrunk_to_what_fails() -> None:
    def passes(case: RequestCase) -> bool:
        return not any(max(entry["shape"], default=0) > 9 for entry in case.request["inputs"])

    single = [role for role in ROLES if len(contract()[role].inputs) == 1]
    found = first_failure(Recording(passes), single, 200, seed=5, shrink_s=20)
    assert found is not None
    assert set(found.entry["request"]) <= {"inputs", "outputs", "parameters"}
    (entry,) = found.entry["request"]["inputs"]
    assert max(entry["shape"]) == 10


# Whole runs.


class Refuses(Behavior):
    """It refuses INT16 tensors of the lengths that no request of the file has."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if model.role == "identity/INT16" and len(request.body) > 300:
            return self.error(500, "too long")
        return super().infer(model, request)


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run whose drawn requests fail, and those of the file do not."""
    folder = tmp_path_factory.mktemp("failed")
    options = ["--case", "M7", "--report-dir", str(folder), "--seed", "2"]
    with ReferenceServer(Refuses) as server, pytest.MonkeyPatch.context() as patched:
        patched.setattr(first_failure, "__kwdefaults__", {"shrink_s": 1.0})
        assert main(["run", server.url, *options]) == 0
        assert main(["run", server.url, *options, "--generated", "400"]) == 1
    return folder / "report.json"


def test_the_smallest_drawn_failure_is_in_the_report_and_verified(
    failed: Path, tmp_path: Path
) -> None:
    case = case_of(read_document(failed), GENERATED)
    assert case["outcome"] == "fail"
    assert case["cause"]["seed"] == 2
    entry = case["exchanges"][0]["entry"]
    assert entry["model"] == "identity/INT16"
    assert "shrunk from generated request " in case["message"]
    found, text = said(failed)
    assert found.exit_code == 0, text
    found, _ = changed(failed, tmp_path, lambda r: case_of(r, GENERATED)["cause"].update(seed=6))
    assert cases_that_differ(found) == [GENERATED]


@pytest.mark.parametrize(
    "change",
    [
        {"id": 5},
        {"id": "P2/blob-follows-json[INT32]"},
        {"why": 3, "request": {}},
        {"axes": {"n": [1, 2]}},
        {"level": "MAY"},
        {"expect": {"outcome": "reject"}},
        {"model": "no/such-role"},
        {"request": {"inputs": [{"shape": ["${n}"]}]}},
        {"request": {"inputs": [{"shape": [1 << 40], "values": {"hex": "", "then": "zeros"}}]}},
        {"request": {"inputs": 7}},
    ],
    ids=str,
)
def test_what_nothing_draws_is_no_entry(failed: Path, tmp_path: Path, change: Document) -> None:
    def edit(report: Document) -> None:
        for exchange in case_of(report, GENERATED)["exchanges"]:
            exchange["entry"] = {**exchange["entry"], **change}

    found, text = changed(failed, tmp_path, edit)
    assert cases_that_differ(found) == [GENERATED]
    assert "the entry of a generated request is not one" in text
