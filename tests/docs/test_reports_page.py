"""What docs/reports.md says of the format of a report.json."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from support.reports import case, exchange, report_of
from tools import ROOT
from v2_conformance.report.files import write_report

_PROGRAM = re.compile(r"```python\n(.*?)```", re.DOTALL)
ANSWER = b"HTTP/1.1 200 OK\r\n\r\n" + bytes(range(256))


def test_the_program_that_reads_a_body_prints_it(tmp_path: Path) -> None:
    found = _PROGRAM.search((ROOT / "docs" / "reports.md").read_text("utf-8"))
    assert found is not None
    cases = [
        case(f"P2/x{n}", "pass", None, exchange(b"POST / HTTP/1.1" * n, ANSWER * n))
        for n in range(4)
    ]
    write_report(tmp_path, report_of(cases))
    ran = subprocess.run([sys.executable, "-c", found[1]], cwd=tmp_path, capture_output=True)
    assert (ran.stdout, ran.stderr) == (ANSWER * 2, b"")
