"""Which cases a run has: some of the suite's, those of a file, or none, which is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from v2_conformance.cli.main import main
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.library import generated_case, suite_cases
from v2_conformance.suite.outcomes import Outcome


def test_the_generated_requests_are_one_planned_case_of_a_run(tmp_path: Path) -> None:
    fault = ["--fault", "request-blobs-in-model-order"]
    arguments = ["run", *fault, "--case", "M7", "--report-dir", str(tmp_path)]
    assert main(arguments) == 1
    report = load_report(tmp_path / REPORT)
    case = report.case(generated_case().id)
    assert case is not None
    assert case.outcome is Outcome.FAIL
    assert "(generated request " in case.message
    assert all(isinstance(make_case(e.entry or {}), RequestCase) for e in case.exchanges)
    total = len(suite_cases())
    assert f"{total - 1} of {total} cases were left out" in report.verdict.reasons


CASE = """\
family: D
cases:
  - id: D1/slug
    why: A sentence that is long enough.
    model: identity/INT32
    request: {inputs: [{shape: [1]}]}
    expect: {outcome: success, outputs: {0: any}}
"""


def test_given_cases_are_no_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(CASE)
    for given in (path, tmp_path):
        arguments = ["run", "--cases", str(given), "--report-dir", str(tmp_path / "reports")]
        assert main(arguments) == 0  # nothing failed, and nothing is certified
        report = load_report(tmp_path / "reports" / REPORT)
        assert [case.outcome for case in report.cases] == [Outcome.PASS]
        assert report.verdict.reasons == (
            "this run used the cases given with --cases, not the suite's",
        )
        assert not report.verdict.conformant
        assert not report.verdict.robust
    assert path.exists()
    out = capsys.readouterr().out
    assert "INCOMPLETE RUN" in out
    assert "required to be conformant: met by the 1 case that ran" in out


def test_a_run_that_is_out_of_time_counts_the_cases_that_were_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--case", "P2/*", "--max-time", "0.001", "--report-dir", str(tmp_path)]
    main(["run", *arguments])
    report = load_report(tmp_path / REPORT)
    assert 0 < len(report.cases) < len(suite_cases())
    left = sum(case.outcome is Outcome.NOT_RUN for case in report.cases)
    assert left > 0
    assert f"the run is incomplete: it was stopped with {left} cases to go" in (
        report.verdict.reasons
    )
    shown = " ".join(capsys.readouterr().out.split())
    assert f"stopped with {left} of {len(report.cases)} cases to go" in shown


def test_the_embedded_server_is_tested_with_all_profiles_that_it_serves(tmp_path: Path) -> None:
    main(["run", "--case", "W1", "--report-dir", str(tmp_path)])
    report = load_report(tmp_path / REPORT)
    assert report.target.profiles == SERVER_PROFILES
    assert {case.outcome for case in report.cases} == {Outcome.PASS}
    main(["run", "--case", "P2", "--profile", "raw", "--report-dir", str(tmp_path)])
    assert load_report(tmp_path / REPORT).target.profiles == ("binary", "raw")
