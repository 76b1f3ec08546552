"""`run --model` on a real server whose only model multiplies two matrices.

V2_REAL_SERVER says which one, as in test_real_servers. What the suite finds there is in
any_model/SERVER-VERSION.yaml, each failure with its reason in the server's source or in the
documents; any other failure, or one that is gone, fails the test.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from servers import SERVERS, Deployed
from v2_conformance.cli.main import main
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.suite.library import every_case
from v2_conformance.verifying.verification import verify

NAME = os.environ.get("V2_REAL_SERVER", "")
MODELS = Path(__file__).with_name("any_model")
EXPECTED = MODELS / f"{NAME}.yaml"
if not NAME or not EXPECTED.exists():
    pytest.skip("V2_REAL_SERVER names no server with any_model/NAME.yaml", allow_module_level=True)


def test_a_matrix_product_is_consistent_but_for_what_is_traced(tmp_path: Path) -> None:
    kit = NAME.partition("-")[0]
    deployed = Deployed(MODELS / kit, ("matrix_product",))
    folder = tmp_path / "report"
    (tmp_path / "server").mkdir()
    with SERVERS[kit](tmp_path / "server", deployed=deployed) as url:
        arguments = ["run", url, "--model", "matrix_product", "--timeout", "10"]
        code = main([*arguments, "--report-dir", str(folder), "--expect", str(EXPECTED)])
    report = load_report(folder / REPORT)
    assert code == 0, [case.id for case in report.cases if case.expected is None and case.message]
    assert report.verdict.consistent is not None
    assert len(report.verdict.shown) > 80
    assert verify(folder / REPORT, every_case()).exit_code == 0
