"""Generated requests: well-formed, the same in each run, shrunk to a case file that fails alone.

And a run that would test nothing is an error, in one line.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.servers import Peer, make_case, serving
from v2_conformance.cli.main import main
from v2_conformance.engine import fuzzing as module
from v2_conformance.engine.discovery import Server, discover
from v2_conformance.engine.engine import Engine, Result
from v2_conformance.engine.fuzzing import (
    COUNTEREXAMPLE,
    CertifyingEngine,
    explore,
    roles,
    run_alone,
    write_counterexample,
)
from v2_conformance.engine.target import Target, make_target
from v2_conformance.errors import CaseFileError
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.recorder import REPORT, load_report
from v2_conformance.resources import schema
from v2_conformance.suite.cases import Case, load_cases
from v2_conformance.suite.cases import make_case as case_of
from v2_conformance.suite.library import EXAMPLES, generated_case
from v2_conformance.suite.models import contract

Start = Callable[[type[Behaviour]], ReferenceServer]
SHRINK_S = 1.0


def engine_for(url: str, *profiles: str, timeout: float = 3) -> Engine:
    target = make_target(url, profiles=profiles, timeout=timeout)
    return Engine(target, discover(target))


class Recording(Engine):
    """An engine that sends nothing: it keeps the cases, and each of them passes or fails."""

    def __init__(self, passes: Callable[[Case], bool] = lambda case: True) -> None:
        target = Target("http://host:1", profiles=("binary", "bf16"))
        present = {role: target.binding(role) for role in contract()}
        super().__init__(target, Server("s", "1", (), present))
        self.cases: list[Case] = []
        self.passes = passes

    def run(self, case: Case) -> Result:
        self.cases.append(case)
        return Result(case, "pass" if self.passes(case) else "fail", "a message")


def generated(seed: int, count: int = 60) -> list[Case]:
    engine = Recording()
    assert explore(engine, count, seed, extras=True).sent == count
    return engine.cases


# What is generated.


def test_generated_entries_are_valid_case_entries_and_survive_yaml() -> None:
    for case in generated(1):
        entry = entry_of(case)
        text = yaml.safe_dump({"family": "M", "cases": [entry]})
        schema("case").validate(yaml.safe_load(text))
        assert case_of(yaml.safe_load(text)["cases"][0]) == case


def entry_of(case: Case) -> dict[str, Any]:
    level = {} if case.level == "MUST" else {"level": case.level}
    own = {"id": case.id, "why": case.why, "model": case.model}
    return {**own, **level, "request": dict(case.request), "expect": dict(case.expect)}


def test_everything_is_mixed() -> None:
    cases = generated(2, 200)
    requests = [case.request for case in cases]
    inputs = [entry for request in requests for entry in request["inputs"]]
    models = {case.model for case in cases}
    assert models >= {"mixed", "all_types"}
    assert len(models) > 4
    assert {entry.get("form", "binary") for entry in inputs} == {"binary", "json", "nested"}
    assert any(0 in entry["shape"] for entry in inputs)
    assert any(max(entry["shape"]) > 16 for entry in inputs)
    assert {"slices", "chunks"} <= {key for r in requests for key in r.get("delivery", {})}
    assert any("id" in request for request in requests)
    assert any("json" in request for request in requests)
    assert any("outputs" not in request for request in requests)
    defaults = {r.get("parameters", {}).get("binary_data_output") for r in requests}
    assert defaults == {None, True, False}
    orders = {tuple(e["tensor"] for e in r["inputs"]) for r in requests if len(r["inputs"]) == 3}
    assert len(orders) > 2
    assert {case.level for case in cases} == {"MUST", "SHOULD"}


def test_nothing_that_the_documents_dispute_or_leave_free_is_generated() -> None:
    for case in generated(3, 150):
        request = case.request
        listed = request.get("outputs")
        assert listed != []
        if request.get("parameters", {}).get("binary_data_output"):
            assert all("binary_data" in output for output in listed or ())
        specs = contract()[case.model].inputs
        half = {i for i, spec in enumerate(specs) if spec.datatype in ("FP16", "BF16")}
        for number, entry in enumerate(request["inputs"]):
            assert "form" not in entry or entry.get("tensor", number) not in half
        assert all(case.expect["outputs"].get(str(i), "binary") == "binary" for i in half)


def test_models_whose_datatypes_or_profile_are_not_claimed_get_no_request() -> None:
    target = Target("http://host:1", unsupported=frozenset({"BYTES"}))
    present = {role: target.binding(role) for role in contract()}
    usable = roles(Engine(target, Server("s", "1", (), present)))
    assert "identity/INT32" in usable
    assert not {"identity/BYTES", "all_types", "identity/BF16", "raw/fixed"} & set(usable)


def test_a_server_without_faults_answers_random_requests() -> None:
    with ReferenceServer() as server:
        engine = engine_for(server.url, "bf16")
        found = explore(engine, 150, seed=20, extras=True)
        engine.close()
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
    with ReferenceServer([fault]) as server:
        engine = engine_for(server.url)
        count = 60 if fault.startswith("id-") else 300
        found = explore(engine, count, seed=4, shrink_s=SHRINK_S)
        engine.close()
        if fault.startswith("id-"):  # a requirement of its own, with cases of its own
            assert not found.failed
            return
        assert found.failed
        assert found.result is not None
        path = write_counterexample(engine, found, tmp_path, "--seed 4")
        fresh = engine_for(server.url)
        again = run_alone(fresh, path)
        fresh.close()
    assert (again.outcome, again.message) == (found.result.outcome, found.result.message)
    assert bytes(again.exchanges[0].transcript.request) == bytes(
        found.result.exchanges[0].transcript.request
    )
    with ReferenceServer() as server:
        well = engine_for(server.url)
        assert run_alone(well, path).outcome == "pass"
        well.close()


def test_a_counterexample_is_shrunk_to_what_fails() -> None:
    def passes(case: Case) -> bool:
        return not any(max(entry["shape"], default=0) > 9 for entry in case.request["inputs"])

    found = explore(Recording(passes), 200, seed=5, shrink_s=20)
    assert found.entry is not None
    assert set(found.entry["request"]) <= {"inputs", "outputs", "parameters"}
    (entry,) = found.entry["request"]["inputs"]
    assert max(entry["shape"]) == 10


def test_a_server_that_dies_ends_the_campaign_and_is_found_dead_alone(
    start: Start, tmp_path: Path
) -> None:
    class Dies(Behaviour):
        dead = False

        def infer(self, model: Any, request: Request) -> Response:
            self.dead = self.dead or (model.model == "mixed" and len(request.body) > 600)
            if self.dead:
                return self.error(500, "dead")
            return super().infer(model, request)

    engine = engine_for(start(Dies).url)
    found = explore(engine, 300, seed=6)
    engine.close()
    assert found.result is not None
    assert found.result.outcome == "fail"
    assert "did not survive" in found.result.message
    path = write_counterexample(engine, found, tmp_path, "--seed 6")
    (case,) = load_cases(path)
    assert case.model == "mixed"


def test_a_server_that_is_wrong_only_once_is_not_said_to_reproduce(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Once(Behaviour):
        answers = 0

        def infer(self, model: Any, request: Request) -> Response:
            self.answers += 1
            if self.answers == 15:
                return self.error(500, "once")
            return super().infer(model, request)

    url = start(Once).url
    code = main(["run", url, "--fuzz", "30", "--seed", "7", "--report-dir", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert code == 1
    assert lines[-1].startswith("run alone it does not reproduce: pass")
    assert lines[-2] == f"written: {tmp_path / COUNTEREXAMPLE}"


def test_a_silent_server_ends_a_campaign_without_shrinking(start: Start) -> None:
    class Silent(Behaviour):
        answers = 0

        def infer(self, model: Any, request: Request) -> Response:
            self.answers += 1
            if self.answers > 30:
                time.sleep(0.4)
            return super().infer(model, request)

    engine = engine_for(start(Silent).url, timeout=0.2)
    begun = time.monotonic()
    found = explore(engine, 300, seed=8)
    engine.close()
    assert found.result is not None
    # It does not come back: neither the request nor what is to show survival is answered.
    assert found.result.outcome == "fail"
    assert "no complete response in time" in found.result.message
    assert time.monotonic() - begun < 20


def test_shrinking_ends_in_time() -> None:
    class Slow(Recording):
        def run(self, case: Case) -> Result:
            if len(self.cases) > 1:
                time.sleep(0.05)
            return super().run(case)

    begun = time.monotonic()
    found = explore(Slow(lambda case: "mixed" not in case.model), 300, seed=9, shrink_s=0.3)
    assert found.failed
    assert time.monotonic() - begun < 20


# In a run.


def test_a_certifying_run_sends_the_same_bytes_each_time() -> None:
    sent = []
    with ReferenceServer() as server:
        target = make_target(server.url)
        for _ in range(2):
            engine = CertifyingEngine(target, discover(target))
            result = engine.run(generated_case())
            engine.close()
            assert result.outcome == "pass"
            assert result.message.startswith(f"{EXAMPLES} generated requests (seed 0")
            sent.append([bytes(exchange.transcript.request) for exchange in result.exchanges])
    assert sent[0] == sent[1]
    assert len(set(sent[0])) > EXAMPLES / 2


def test_the_generated_requests_are_one_planned_case_of_a_run(tmp_path: Path) -> None:
    fault = ["--fault", "request-blobs-in-model-order"]
    arguments = ["run", *fault, "--case", "M7", "--report-dir", str(tmp_path)]
    assert main(arguments) == 1
    report = load_report(tmp_path / REPORT)
    schema("report").validate(report)
    (case,) = [case for case in report["cases"] if case["id"] == generated_case().id]
    assert case["outcome"] == "fail"
    assert "(shrunk from generated request " in case["message"]
    assert COUNTEREXAMPLE in case["message"]
    assert all(case_of(exchange["entry"]).model for exchange in case["exchanges"])
    total = len(load_cases()) + 1
    assert f"{total - 1} of {total} cases were left out" in report["verdict"]["reasons"]
    (alone,) = load_cases(tmp_path / COUNTEREXAMPLE)
    assert alone.requirement == "M7"


def test_a_run_of_given_cases_is_no_run_of_the_suite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / COUNTEREXAMPLE
    engine = Recording(lambda case: False)
    write_counterexample(engine, explore(engine, 1, seed=0), tmp_path, "--seed 0")
    for given in (path, tmp_path):
        arguments = ["run", "--cases", str(given), "--report-dir", str(tmp_path / "reports")]
        assert main(arguments) == 1
        report = load_report(tmp_path / "reports" / REPORT)
        assert [case["outcome"] for case in report["cases"]] == ["pass"]
        assert report["verdict"]["reasons"] == [
            "this was not the suite: the cases were those given with --cases"
        ]
        assert not report["verdict"]["conformant"]
        assert not report["verdict"]["robust"]
    assert path.exists()
    assert "NOT CONFORMANT" in capsys.readouterr().out


def test_a_counterexample_keeps_secrets_and_axes_out(tmp_path: Path) -> None:
    engine = Recording(lambda case: False)
    engine.target = Target("http://host:1", headers=(("Authorization", "Bearer open-sesame"),))
    found = explore(engine, 1, seed=0)
    assert found.result is not None
    found.result = Result(make_case(), "fail", "it said open-sesame and ${axis}")
    path = write_counterexample(engine, found, tmp_path, "--seed 0")
    assert "sesame" not in path.read_text()
    assert "?{axis}" in load_cases(path)[0].why


# A run that would test nothing.


CASE = """\
family: D
cases:
  - id: D1/slug
    why: A sentence that is long enough.
    {axes}
    model: identity/INT32
    request: {{inputs: [{{shape: [1]}}]}}
    expect: {{outcome: success, outputs: {{0: binary}}}}
"""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--case", "M75"], 4, "--case 'M75' matches no case"),
        (["--case", "M7", "--case", "X9/*"], 4, "--case 'X9/*' matches no case"),
        (["--profile", "rwa"], 2, "unknown profile 'rwa': did you mean raw"),
        (["--cases", "{here}/nowhere"], 2, "there is no such file or folder"),
        (["--cases", "{here}"], 2, "no case files (*.yaml) are there"),
        (["--cases", "{here}/empty/none.yaml"], 2, "should be non-empty"),
        (["--cases", "{here}/empty/nothing.yaml"], 2, "is not of type 'object'"),
        (["--cases", "{here}/empty/axis.yaml"], 2, "axes.n"),
        (["--fuzz", "0"], 2, "--fuzz takes a number of requests from 1"),
        (["--seed", "1"], 2, "--seed is for --fuzz"),
        (["--fuzz", "9", "--case", "M7"], 2, "leave --case and --cases out"),
    ],
)
def test_a_run_that_would_test_nothing_is_an_error_in_one_line(
    arguments: Sequence[str],
    code: int,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "none.yaml").write_text("family: D\ncases: []\n")
    (folder / "nothing.yaml").write_text("")
    (folder / "axis.yaml").write_text(CASE.format(axes="axes: {n: []}"))
    arguments = [argument.format(here=tmp_path) for argument in arguments]
    assert main(["run", *arguments, "--report-dir", str(tmp_path / "reports")]) == code
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not (tmp_path / "reports" / REPORT).exists()


def test_an_axis_without_values_is_refused(tmp_path: Path) -> None:
    for axes in ("{n: []}", "{n: {}}", "{}"):
        (tmp_path / "a.yaml").write_text(CASE.format(axes=f"axes: {axes}"))
        with pytest.raises(CaseFileError, match=r"a\.yaml:5: cases|a\.yaml:5: axes"):
            load_cases(tmp_path)


def test_a_server_without_usable_models_is_no_pass() -> None:
    engine = CertifyingEngine(Target("http://host:1"), Server("s", "1", ()))
    assert engine.run(generated_case()).outcome == "not_run"


def test_hypothesis_is_left_as_it_was() -> None:
    from hypothesis.internal.conjecture import providers

    before = getattr(providers, "_get_local_constants", None)
    explore(Recording(), 3, seed=0)
    assert getattr(providers, "_get_local_constants", None) is before


def test_a_refusing_connection_is_inconclusive(tmp_path: Path) -> None:
    def closes(peer: Peer) -> None:
        peer.request()

    with serving(closes) as server:
        target = make_target(server.url, timeout=1)
        present = {"identity/INT32": target.binding("identity/INT32")}
        engine = Engine(target, Server("s", "1", (), present))
    found = explore(engine, 20, seed=0)
    engine.close()
    assert found.result is not None
    assert found.result.outcome == "inconclusive"
    assert found.sent == 1
    assert module.roles(engine) == ["identity/INT32"]
