"""Which cases a run has: some of the suite's, those of a file, or none, which is an error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from v2_conformance.cli.main import main
from v2_conformance.engine.counterexamples import COUNTEREXAMPLE, write_counterexample
from v2_conformance.engine.fuzzing import Exploration
from v2_conformance.engine.result import Result
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.verdict import Verdict
from v2_conformance.redaction import Mask
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.suite.case_files import load_cases, make_case
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.findings import HeaderLengthMissing
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
    assert COUNTEREXAMPLE in case.message
    assert all(isinstance(make_case(e.entry or {}), RequestCase) for e in case.exchanges)
    total = len(suite_cases())
    assert f"{total - 1} of {total} cases were left out" in report.verdict.reasons
    (alone,) = load_cases(tmp_path / COUNTEREXAMPLE)
    assert alone.requirement == "M7"


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
ENTRY = {
    "id": "M7/generated",
    "why": "Generated: a well-formed request.",
    "model": "identity/INT32",
    "request": {"inputs": [{"shape": [1]}]},
    "expect": {"outcome": "success", "outputs": {"0": "any"}},
}


def test_a_run_of_given_cases_is_no_run_of_the_suite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = Verdict(Outcome.FAIL, HeaderLengthMissing())
    found = Exploration(9, Result(generated_case(), verdict), ENTRY)
    path = write_counterexample(found, Mask(), tmp_path, "--seed 0")
    for given in (path, tmp_path):
        arguments = ["run", "--cases", str(given), "--report-dir", str(tmp_path / "reports")]
        assert main(arguments) == 0  # nothing failed, and nothing is certified
        report = load_report(tmp_path / "reports" / REPORT)
        assert [case.outcome for case in report.cases] == [Outcome.PASS]
        assert report.verdict.reasons == (
            "this was not the suite: the cases were those given with --cases",
        )
        assert not report.verdict.conformant
        assert not report.verdict.robust
    assert path.exists()
    assert "NOT CONFORMANT" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--case", "M75"], 4, "the pattern 'M75' matches no case"),
        (["--case", "M7", "--case", "X9/*"], 4, "the pattern 'X9/*' matches no case"),
        (["--profile", "rwa"], 2, "unknown profile 'rwa': did you mean raw"),
        (["--cases", "{here}/nowhere"], 2, "there is no such file or folder"),
        (["--cases", "{here}"], 2, "no case files (*.yaml) are there"),
        (["--cases", "{here}/empty/none.yaml"], 2, "should be non-empty"),
        (["--cases", "{here}/empty/nothing.yaml"], 2, "expected a mapping"),
        (["--cases", "{here}/empty/axis.yaml"], 2, "axes.n"),
        (["--fuzz", "0"], 2, "--fuzz: expected a whole number from 1, got 0"),
        (["--seed", "1"], 2, "--seed needs --fuzz"),
        (["--fuzz", "9", "--case", "M7"], 2, "remove --case, --cases and --variation"),
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
