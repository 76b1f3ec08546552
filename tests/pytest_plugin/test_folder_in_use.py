"""A session of pytest has its report folder alone, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.recorder import sole_run


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_session_into_a_folder_in_use_is_refused(workers: str, pytester: pytest.Pytester) -> None:
    folder = Path(pytester.path) / "reports"
    with ReferenceServer() as server, sole_run(folder):
        options = [f"--v2-url={server.url}", f"--v2-report-dir={folder}", "-k", "P2", "-n", workers]
        result = pytester.runpytest_subprocess(*options)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*v2-conformance: {folder} is in use: another run*"])
        assert not list(folder.iterdir())
