"""A target that names the version of a model: every URL has it, and the report can be verified."""

from __future__ import annotations

from pathlib import Path

from support.runs import made, said
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import load_report
from v2_conformance.runs.targets.making import load_target
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome

NAMES = ("P2/blob-follows-json[INT32]", "H6/not-a-number[letters]", "R1/unknown-version")


def test_the_report_of_a_pinned_version_holds(tmp_path: Path, server: ReferenceServer) -> None:
    cases = [
        case
        for case in suite_cases()
        if case.id in NAMES or case.id.startswith("V2/request-in-any-spelling[version-path")
    ]
    assert len(cases) >= len(NAMES)
    file = tmp_path / "target.yaml"
    file.write_text(
        f"url: {server.url}\nmodels:\n"
        "  identity/INT32: {model: identity_int32, version: 1}\n"
        "  identity/FP32: {model: identity_fp32, version: 9}\n"
    )
    path = made(tmp_path, load_target(file), cases)
    report = load_report(path)
    assert {case.outcome for case in report.cases} == {Outcome.PASS}
    case = report.case(NAMES[0])
    assert case is not None
    asked = bytes(case.exchanges[0].request)
    assert asked.startswith(b"POST /v2/models/identity_int32/versions/1/infer HTTP/1.1\r\n")
    assert "identity/FP32" in report.target.absent
    found, words = said(path)
    assert found.exit_code == 0, words
