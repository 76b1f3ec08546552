"""`run --binding`: the endpoints of the reference server, their reports, and what reads those."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import Cli
from support.long_tests import sample
from v2_conformance.cli.main import main
from v2_conformance.errors import UsageError
from v2_conformance.maintenance.selftest.servers import try_fault
from v2_conformance.protocol.names import BINDING_NAMES, SERVER_PROFILES
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.document import Report
from v2_conformance.report.files import load_report
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.make import make_target
from v2_conformance.suite.library import suite_cases
from v2_mutants.faults import FAULTS
from v2_mutants.servers import MutantServer

BOUND = [name for name, fault in FAULTS.items() if fault.binding is not None]


def reported(folder: Path, *words: str) -> tuple[int, Report]:
    code = main(["run", *words, "--report-dir", str(folder)])
    return code, load_report(folder / "report.json")


@pytest.mark.parametrize("binding", BINDING_NAMES)
@pytest.mark.long
def test_the_embedded_server_conforms_at_each_endpoint(binding: str, tmp_path: Path) -> None:
    profiles = [word for name in SERVER_PROFILES[1:] for word in ("--profile", name)]
    code, report = reported(tmp_path, "--binding", binding, *profiles)
    assert (code, report.target.binding) == (0, binding)
    assert f"binding {binding}" in report.verdict.claim
    left_out = [case for case in report.cases if case.outcome == "unsupported"]
    assert {type(case.cause).__name__ for case in left_out} == {"NotInBinding"}
    assert len(left_out) < len(report.cases) / 10
    assert main(["verify", str(tmp_path / "report.json")]) == 0


@pytest.mark.parametrize("fault", sample(BOUND, 4))  # `selftest` tries all
def test_a_fault_of_an_endpoint_is_caught_with_its_binding(fault: str) -> None:
    assert try_fault(fault).caught


def test_a_run_without_a_binding_notices_no_fault_of_an_endpoint() -> None:
    broken = {FAULTS[name].requirement for name in BOUND}
    chosen = [case for case in suite_cases() if case.requirement in broken]
    with MutantServer(BOUND) as server:
        target = make_target(server.url, profiles=SERVER_PROFILES)
        results = [event.result for event in run(Engine(target, discover(target)), chosen)]
    assert {result.outcome for result in results} == {"pass"}


@pytest.mark.parametrize("binding", BINDING_NAMES)
def test_a_report_is_judged_again_with_its_binding(binding: str, tmp_path: Path) -> None:
    fault = {"sagemaker": "binding-response-size-of-body", "vertex": "binding-size-in-32-bits"}
    with MutantServer([fault[binding]]) as server:
        asked = ["--case", "P5", "--case", "H7", "--strict"]
        code, report = reported(tmp_path, server.url_of(binding), "--binding", binding, *asked)
    failed = [case.id for case in report.cases if case.outcome == "fail"]
    assert (code, bool(failed)) == (1, True)
    assert main(["verify", str(tmp_path / "report.json")]) == 0
    assert main(["show", str(tmp_path / "report.json"), failed[0]]) == 0


def test_changed_binding_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reported(tmp_path, "--binding", "sagemaker", "--case", "P2")
    document = json.loads((tmp_path / "report.json").read_bytes())
    document["target"]["binding"] = "vertex"
    del document["integrity"]
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document), encoding="utf-8")
    assert main(["verify", str(changed)]) != 0
    assert "not what the suite sends" in " ".join(capsys.readouterr().out.split())


def test_show_finds_the_json_by_the_size_in_the_type(tmp_path: Path, cli: Cli) -> None:
    reported(tmp_path, "--binding", "sagemaker", "--case", "P2")
    shown = cli("show", tmp_path / "report.json", "P2/blob-follows-json[INT32]", code=0).out
    assert "json-header-size=" in shown
    assert "not a JSON object" not in shown


def test_a_model_that_is_not_loaded_is_absent(tmp_path: Path, server: ReferenceServer) -> None:
    target_file = tmp_path / "target.yaml"
    target_file.write_text(
        f"url: {server.url}\nbinding: sagemaker\nmodels: {{identity/BOOL: not_loaded}}\n",
        encoding="utf-8",
    )
    _, report = reported(tmp_path, "--target", str(target_file), "--case", "D1")
    assert report.target.binding == "sagemaker"
    assert report.target.absent == {
        "identity/BOOL": "no model not_loaded: GET /models/not_loaded answered with status 404"
    }
    assert main(["verify", str(tmp_path / "report.json")]) == 0


def test_a_version_in_a_binding_without_versions_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "target.yaml"
    file.write_text(
        "url: http://h\nbinding: sagemaker\nmodels: {identity/INT32: {model: m, version: 2}}\n",
        encoding="utf-8",
    )
    with pytest.raises(UsageError, match="has no place for"):
        make_target(target_file=file)


def test_a_gateway_is_compared_without_a_binding(cli: Cli) -> None:
    words = ["http://h", "--through", "http://g", "--binding", "sagemaker"]
    assert "remove the binding" in cli("run", *words, code=2).err
