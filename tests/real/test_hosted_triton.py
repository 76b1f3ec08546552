"""Triton's endpoints for SageMaker and Vertex AI: every case beside the same case on its own V2.

V2_REAL_SERVER=triton-2.51.0 turns it on. expectations/bindings/ has what differs there from the
expectation of that server; cases that do not apply to a binding, or to what the endpoint claims,
are left out.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from expectation import FOLDER, Expectation, agrees, load_expectation, matches
from hosted_triton import ENDPOINTS
from v2_conformance.cli.main import main
from v2_conformance.report.document import Report
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.suite.causes.circumstances import NotInBinding, ProfileNotClaimed

NAME = os.environ.get("V2_REAL_SERVER", "")
FILES = sorted((FOLDER / "bindings").glob(f"{NAME}-*.yaml")) if NAME else []
if not FILES:
    pytest.skip("V2_REAL_SERVER is no Triton with these endpoints", allow_module_level=True)

REPORTS = Path(__file__).parents[2] / "reports"


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_every_case_is_as_on_the_v2_endpoint_but_for_what_is_committed(
    file: Path, tmp_path: Path
) -> None:
    written = yaml.safe_load(file.read_text(encoding="utf-8"))
    plain = load_expectation(FOLDER / f"{NAME}.yaml")
    plain = replace(plain, profiles=tuple(written["profiles"]))
    folder = REPORTS / f"real-{file.stem}"
    binding = written["binding"]
    with ENDPOINTS[binding](tmp_path) as url:
        code = main([*plain.run_arguments(url, folder), "--binding", binding])
    report = load_report(folder / REPORT)
    differs = {
        pattern: outcome
        for entry in written["differs"].values()
        for pattern, outcome in entry["cases"].items()
    }
    assert not differences(plain, differs, report)
    assert (code, report.complete, dict(report.target.absent)) == (1, True, {})
    assert main(["verify", str(folder / REPORT)]) == 0


def differences(plain: Expectation, differs: dict[str, str], report: Report) -> list[str]:
    """Every case whose outcome is not the expected one, and every pattern without a case."""
    found = []
    idle = set(differs)
    for case in report.cases:
        if isinstance(case.cause, NotInBinding | ProfileNotClaimed):
            continue
        pattern = next((one for one in differs if matches(one, case.id)), None)
        idle.discard(pattern or "")
        wanted = plain.outcome_of(case.id) if pattern is None else differs[pattern]
        if not agrees(wanted, case.outcome):
            found.append(f"{case.id}: expected {wanted}, got {case.outcome} {case.message[:160]}")
    return [*found, *(f"{pattern}: matches no case" for pattern in sorted(idle))]
