"""Drawn requests (`--generated`) are sent up to the first failure, which is shrunk and recorded."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.reports import Document, case_of, read_document
from support.runs import cases_that_differ, changed, engine_for, said
from support.servers import Start
from v2_conformance.cli.main import main
from v2_conformance.conversations.steps import Result
from v2_conformance.judging.verdict import Verdict
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.generated import Failure, first_failure, usable_roles
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.causes.causes import died
from v2_conformance.suite.causes.kinds import LeftoverBytes
from v2_conformance.suite.library import GENERATED
from v2_conformance.suite.models import ModelContract, contract
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.servers import MutantServer

SHRINK_S = 1.0
ROLES = [role for role, model in contract().items() if model.does == "identity"]


def drawn(
    url: str,
    count: int,
    seed: int,
    *profiles: str,
    timeout: float = 3,
    shrink_s: float = SHRINK_S,
) -> Failure | None:
    """The failure of requests to all models that the server at `url` has."""
    with engine_for(url, *profiles, timeout=timeout) as engine:
        roles = usable_roles(engine.target, engine.server)
        return first_failure(engine.run, roles, count, seed, shrink_s=shrink_s)


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
    usable = usable_roles(target, Server("s", "1", (), present))
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
    "fault",
    [
        "blobs-read-aligned",
        "request-blobs-in-model-order",
        "bytes-trailing-nul-stripped",
        "json-inputs-take-blob-bytes",
        "last-output-flag-decides",
    ],
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


def test_a_server_that_dies_ends_the_requests(start: Start) -> None:
    class Dies(Behaviour):
        dead = False

        def infer(self, model: ModelContract, request: Request) -> Response:
            self.dead = self.dead or (model.role == "mixed" and len(request.body) > 600)
            if self.dead:
                return self.error(500, "dead")
            return super().infer(model, request)

    found = drawn(start(Dies).url, 300, 6)
    assert found is not None
    assert found.result.outcome is Outcome.FAIL
    assert died(found.result.cause)
    assert found.entry["model"] == "mixed"


def test_shrinking_ends_in_time() -> None:
    class Slow(Recording):
        def __call__(self, case: Case) -> Result:
            if len(self.cases) > 1:
                time.sleep(0.05)
            return super().__call__(case)

    begun = time.monotonic()
    slow = Slow(lambda case: "mixed" not in case.model)
    assert first_failure(slow, ROLES, 300, seed=9, shrink_s=0.3) is not None
    assert time.monotonic() - begun < 20


def test_hypothesis_is_left_as_it_was() -> None:
    from hypothesis.internal.conjecture import providers

    before = getattr(providers, "_get_local_constants", None)
    first_failure(Recording(), ROLES, 3, seed=0)
    assert getattr(providers, "_get_local_constants", None) is before


# Whole runs.


class Refuses(Behaviour):
    """It refuses INT16 tensors of the lengths that no request of the file has."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if model.role == "identity/INT16" and len(request.body) > 300:
            return self.error(500, "too long")
        return super().infer(model, request)


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run whose drawn requests fail, and those of the file do not."""
    folder = tmp_path_factory.mktemp("failed")
    options = ["--case", "M7", "--report-dir", str(folder), "--seed", "4"]
    with ReferenceServer(Refuses) as server:
        assert main(["run", server.url, *options]) == 0
        assert main(["run", server.url, *options, "--generated", "400"]) == 1
    return folder / "report.json"


def test_the_smallest_drawn_failure_is_in_the_report_and_verified(
    failed: Path, tmp_path: Path
) -> None:
    case = case_of(read_document(failed), GENERATED)
    assert case["outcome"] == "fail"
    assert case["cause"]["seed"] == 4
    entry = case["exchanges"][0]["entry"]
    assert entry["model"] == "identity/INT16"
    assert "shrunk from generated request " in case["message"]
    found, text = said(failed)
    assert found.exit_code == 0, text


@pytest.mark.parametrize(
    "change",
    [
        {"id": "P2/blob-follows-json[INT32]"},
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


def test_a_drawn_failure_has_the_seed_of_its_run(failed: Path, tmp_path: Path) -> None:
    def edit(report: Document) -> None:
        case_of(report, GENERATED)["cause"]["seed"] = 5

    found, _ = changed(failed, tmp_path, edit)
    assert cases_that_differ(found) == [GENERATED]


def test_a_right_server_passes_as_without_drawn_requests(
    server: ReferenceServer, tmp_path: Path
) -> None:
    options = ["--case", "M7", "--report-dir", str(tmp_path), "--generated", "60"]
    assert main(["run", server.url, *options]) == 0
    assert said(tmp_path / "report.json")[0].exit_code == 0
