"""Generated requests are sent up to the first failure, which is shrunk and fails alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.runs import engine_for
from support.servers import Peer, Start, serving
from v2_conformance.judging.verdict import Verdict
from v2_conformance.redaction import Mask
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.generated.counterexamples import write_counterexample
from v2_conformance.runs.generated.fuzzing import Exploration, explore, usable_roles
from v2_conformance.runs.result import Result
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.targets.make import make_target
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.causes.causes import DidNotSurvive, died
from v2_conformance.suite.causes.circumstances import NoKnownGoodAnswer
from v2_conformance.suite.causes.findings import LeftoverBytes
from v2_conformance.suite.causes.transport_findings import TimedOut
from v2_conformance.suite.entries.case_files import load_cases
from v2_conformance.suite.models import contract
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.servers import MutantServer

SHRINK_S = 1.0
ROLES = [role for role, model in contract().items() if model.does == "identity"]


def explored(
    url: str, examples: int, seed: int, *profiles: str, timeout: float = 3, **options: Any
) -> Exploration:
    """An exploration of all models that the server at `url` has."""
    with engine_for(url, *profiles, timeout=timeout) as engine:
        roles = usable_roles(engine.target, engine.server)
        return explore(engine.run, roles, examples, seed, **options)


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


def test_without_models_nothing_is_sent() -> None:
    recording = Recording()
    assert explore(recording, [], 10, seed=0) == Exploration()
    assert recording.cases == []


def test_a_seed_decides_all_requests() -> None:
    first, again, other = Recording(), Recording(), Recording()
    explore(first, ROLES, 30, seed=1)
    explore(again, ROLES, 30, seed=1)
    explore(other, ROLES, 30, seed=2)
    assert first.cases == again.cases
    assert first.cases != other.cases


def test_a_server_without_faults_answers_random_requests(server: ReferenceServer) -> None:
    found = explored(server.url, 150, 20, "bf16", extras=True)
    assert found.result is not None
    assert not found.failed, (found.entry, found.result.message)
    assert found.sent == 150


# Failures.


@pytest.mark.parametrize(
    "fault",
    [
        "blobs-read-aligned",
        "request-blobs-in-model-order",
        "bytes-trailing-nul-stripped",
        "json-inputs-take-blob-bytes",
        "last-output-flag-decides",
        "id-lost-on-binary-response",
    ],
)
def test_a_fault_is_found_and_its_case_file_fails_alone(fault: str, tmp_path: Path) -> None:
    with MutantServer([fault]) as server:
        count = 60 if fault.startswith("id-") else 300
        found = explored(server.url, count, 4, shrink_s=SHRINK_S)
        if fault.startswith("id-"):  # a requirement of its own, with cases of its own
            assert not found.failed
            return
        assert found.failed
        assert found.result is not None
        path = write_counterexample(found, Mask(), tmp_path, "--seed 4")
        again = run_alone(server.url, path)
    assert again.verdict == found.result.verdict
    assert bytes(again.exchanges[0].transcript.request) == bytes(
        found.result.exchanges[0].transcript.request
    )
    with ReferenceServer() as server:
        assert run_alone(server.url, path).outcome is Outcome.PASS


def run_alone(url: str, path: Path) -> Result:
    """The result of the one case in `path`, for an engine that knows nothing else."""
    (case,) = load_cases(path)
    with engine_for(url) as engine:
        return engine.run(case)


def test_a_failure_is_shrunk_to_what_fails() -> None:
    def passes(case: RequestCase) -> bool:
        return not any(max(entry["shape"], default=0) > 9 for entry in case.request["inputs"])

    single = [role for role in ROLES if len(contract()[role].inputs) == 1]
    found = explore(Recording(passes), single, 200, seed=5, shrink_s=20)
    assert found.entry is not None
    assert set(found.entry["request"]) <= {"inputs", "outputs", "parameters"}
    (entry,) = found.entry["request"]["inputs"]
    assert max(entry["shape"]) == 10


def test_a_server_that_dies_ends_the_exploration_and_is_found_dead_alone(
    start: Start, tmp_path: Path
) -> None:
    class Dies(Behaviour):
        dead = False

        def infer(self, model: Any, request: Request) -> Response:
            self.dead = self.dead or (model.model == "mixed" and len(request.body) > 600)
            if self.dead:
                return self.error(500, "dead")
            return super().infer(model, request)

    found = explored(start(Dies).url, 300, 6)
    assert found.result is not None
    assert found.result.outcome is Outcome.FAIL
    assert died(found.result.cause)
    path = write_counterexample(found, Mask(), tmp_path, "--seed 6")
    (case,) = load_cases(path)
    assert case.role == "mixed"


@pytest.mark.long
def test_a_silent_server_ends_an_exploration_without_shrinking(start: Start) -> None:
    class Silent(Behaviour):
        answers = 0

        def infer(self, model: Any, request: Request) -> Response:
            self.answers += 1
            if self.answers > 120:  # by then, each model has answered a known-good request
                time.sleep(0.4)
            return super().infer(model, request)

    begun = time.monotonic()
    found = explored(start(Silent).url, 300, 8, timeout=0.2)
    assert found.result is not None
    # It does not come back: neither the request nor what is to show survival is answered.
    assert found.result.outcome is Outcome.FAIL
    assert isinstance(found.result.cause, DidNotSurvive)
    assert isinstance(found.result.cause.case, TimedOut)
    assert time.monotonic() - begun < 20


def test_shrinking_ends_in_time() -> None:
    class Slow(Recording):
        def __call__(self, case: Case) -> Result:
            if len(self.cases) > 1:
                time.sleep(0.05)
            return super().__call__(case)

    begun = time.monotonic()
    slow = Slow(lambda case: "mixed" not in case.model)
    found = explore(slow, ROLES, 300, seed=9, shrink_s=0.3)
    assert found.failed
    assert time.monotonic() - begun < 20


def test_a_connection_that_is_refused_is_inconclusive() -> None:
    with serving(Peer.request) as server:
        target = make_target(server.url, timeout=1)
        present = {"identity/INT32": target.binding("identity/INT32")}
        engine = Engine(target, Server("s", "1", (), present))
    roles = usable_roles(engine.target, engine.server)
    assert roles == ["identity/INT32"]
    found = explore(engine.run, roles, 20, seed=0)
    engine.close()
    assert found.result is not None
    assert found.result.outcome is Outcome.INCONCLUSIVE
    assert isinstance(found.result.cause, NoKnownGoodAnswer)
    assert found.sent == 1


def test_hypothesis_is_left_as_it_was() -> None:
    from hypothesis.internal.conjecture import providers

    before = getattr(providers, "_get_local_constants", None)
    explore(Recording(), ROLES, 3, seed=0)
    assert getattr(providers, "_get_local_constants", None) is before
