"""The suite against a real server, twice, compared with what is committed in expectations/. A
server that cases kill is tested once: each time it starts again takes seconds.

V2_REAL_SERVER says which one, as its file there is named: kserve-0.21.0. It has to be installed in
the environment that runs the tests, which is what `tox -e triton,kserve,kserve014,mlserver` is for.
The reports are left in reports/real-SERVER-VERSION/, those of the second run in second/ there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from expectation import SOMETIMES, Expectation, differences, expectation_files, load_expectation
from servers import SERVERS, Deployed, inside
from v2_conformance.cli.main import main
from v2_conformance.formats.registry import PAGE
from v2_conformance.report.document import Report
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.suite.library import every_case
from v2_conformance.verifying.verification import verify

NAME = os.environ.get("V2_REAL_SERVER", "")
if not NAME:
    pytest.skip("V2_REAL_SERVER is not set (kserve-0.21.0, …)", allow_module_level=True)
KNOWN = {path.stem: path for path in expectation_files()}
if NAME not in KNOWN:
    raise pytest.UsageError(f"V2_REAL_SERVER={NAME}: there are {', '.join(KNOWN)}")

REPORTS = Path(__file__).parents[2] / "reports" / f"real-{NAME}"


@dataclass(frozen=True)
class Run:
    """One run of the suite: its exit code, its report, and where that is."""

    code: int
    report: Report
    folder: Path


@pytest.fixture(scope="module")
def expected() -> Expectation:
    return load_expectation(KNOWN[NAME])


@pytest.fixture(scope="module")
def runs(expected: Expectation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Run]]:
    """Two runs on one server, with a fixed and a fresh seed; only the first if cases kill it, which
    then is started again."""
    server = tmp_path_factory.mktemp(NAME)
    with SERVERS[expected.server](server) as url:
        folders = ((REPORTS, 1), (REPORTS / "second", None))
        count = 2 if expected.survives else 1
        yield [_run(url, expected, folder, server, seed) for folder, seed in folders[:count]]


def _run(url: str, expected: Expectation, folder: Path, server: Path, seed: int | None) -> Run:
    with inside(server / "models"):
        code = main(expected.run_arguments(url, folder, seed=seed))
    return Run(code, load_report(folder / REPORT), folder)


def test_everything_is_as_committed(expected: Expectation, runs: list[Run]) -> None:
    found = differences(expected, runs[0].report)
    if found:
        pytest.fail(
            f"{len(found)} differences from {expected.path.name}, see "
            f"{runs[0].folder / PAGE.file_name}:\n" + "\n".join(found),
            pytrace=False,
        )
    assert {run.code for run in runs} == {0 if expected.conformant else 1}


def test_a_second_run_has_the_same_outcomes(expected: Expectation, runs: list[Run]) -> None:
    if len(runs) == 1:
        pytest.skip("a server that cases kill is tested once")
    first, second = ({c.id: c.outcome for c in run.report.cases} for run in runs)
    changed = [
        f"{key}: first {first.get(key)}, then {second.get(key)}"
        for key in {**first, **second}
        if first.get(key) != second.get(key) and expected.outcome_of(key) != SOMETIMES
    ]
    assert not changed, "\n".join(changed)


def test_a_matrix_product_is_consistent_but_for_what_is_traced(tmp_path: Path) -> None:
    """What any model shows is in any_model/NAME.yaml, each failure with its reason in the server's
    source or in the documents."""
    models = Path(__file__).with_name("any_model")
    known = models / f"{NAME}.yaml"
    if not known.exists():
        pytest.skip(f"there is no any_model/{NAME}.yaml")
    kit = NAME.partition("-")[0]
    deployed = Deployed(models / kit, ("matrix_product",))
    folder = tmp_path / "report"
    (tmp_path / "server").mkdir()
    with SERVERS[kit](tmp_path / "server", deployed=deployed) as url:
        arguments = ["run", url, "--model", "matrix_product", "--timeout", "10"]
        code = main([*arguments, "--report-dir", str(folder), "--expect", str(known)])
    report = load_report(folder / REPORT)
    assert code == 0, [case.id for case in report.cases if case.expected is None and case.message]
    assert report.verdict.consistent is not None
    assert len(report.verdict.shown) > 80
    assert verify(folder / REPORT, every_case()).exit_code == 0
