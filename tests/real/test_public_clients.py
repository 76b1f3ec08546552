"""Public clients on the bench, compared with what is committed in clients/expectations/.

V2_PUBLIC_CLIENTS is a folder for their environments, into which pip installs them: they pin
different numpy. `tox -e clients` sets it. The reports are left in reports/real-NAME/.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from expectation import client_expectation_files, differences, load_expectation
from publish import run_client
from v2_conformance.formats.registry import PAGE
from v2_conformance.report.files import REPORT, load_report

WORK = os.environ.get("V2_PUBLIC_CLIENTS", "")
if not WORK:
    pytest.skip("V2_PUBLIC_CLIENTS names no folder", allow_module_level=True)
REPORTS = Path(__file__).parents[2] / "reports"


@pytest.mark.parametrize("path", client_expectation_files(), ids=lambda path: str(path.stem))
def test_everything_is_as_committed(path: Path) -> None:
    expected = load_expectation(path)
    folder = REPORTS / f"real-{expected.name}"
    _, code = run_client(expected, Path(WORK).resolve() / expected.name, folder)
    found = differences(expected, load_report(folder / REPORT))
    if found:
        pytest.fail(
            f"{len(found)} differences from {path.name}, see {folder / PAGE.file_name}:\n"
            + "\n".join(found),
            pytrace=False,
        )
    assert code == (0 if expected.conformant else 1)
