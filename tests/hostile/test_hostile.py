"""Each kind of hostile server: the exit code, outcomes, seconds and memory of a run against it.

Servers that break HTTP itself are in judging/observed/test_http_syntax.py, wire/test_reader.py, and
among the faults and variants of the reference server.

An ordinary run of the tests tries a sample of the quick ones, `tox -e hostile` the rest.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hostile import bounds_kinds, message_kinds  # noqa: F401
from hostile.kit import KINDS
from v2_conformance.formats.text.verification import verification_lines
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.suite.library import every_case
from v2_conformance.verifying.verification import verify

CALM = {"pass", "unsupported", "disputed"}
MOST_BYTES = 64 << 20
NOTHING_RAN = 4  # the exit code where only discovery was tested
UNESCAPED = ("<script>alert", "<img src=x", "\x1b", "\u202e", 'href="javascript:')
STARTING_S = 10.0  # for a process of Python on a busy machine
# The command, which writes its peak of resident memory into a file.
PROGRAM = """
import re, sys
from pathlib import Path
from v2_conformance.cli.main import main
code = main(sys.argv[2:])
status = Path("/proc/self/status").read_text()
Path(sys.argv[1]).write_text(re.search(r"VmHWM:\\s+(\\d+)", status)[1])
sys.exit(code)
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        slow = pytest.mark.long
        rows = [pytest.param(name, marks=slow if k.slow else ()) for name, k in KINDS.items()]
        metafunc.parametrize("kind", rows)


def outcomes_of(report: Path) -> dict[str, str]:
    """The outcomes that are not calm, of requirements that were tested."""
    found = load_report(report)
    ran = {case.requirement for case in found.cases}
    outcomes = {one.id: str(one.outcome) for one in found.requirements if one.id in ran}
    return {id: outcome for id, outcome in outcomes.items() if outcome not in CALM}


def test_no_kind_that_ends_with_0_blocks_conformant() -> None:
    assert {kind.code for kind in KINDS.values()} == {0, 1, 3, 4}
    # A SHOULD, and a MUST that blocks robust.
    harmless: tuple[dict[str, str], ...] = ({}, {"P9": "fail"}, {"R3": "fail"})
    assert all(kind.outcomes in harmless for kind in KINDS.values() if kind.code == 0)


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="no process learns its peak of memory here"
)
def test_a_run_against_it_ends_as_it_must_and_its_report_holds(kind: str, tmp_path: Path) -> None:
    wanted = KINDS[kind]
    chosen = [argument for case in wanted.cases for argument in ("--case", case)]
    peak, out = tmp_path / "peak", tmp_path / "run"
    with wanted.start() as server:
        arguments = ["run", server.url, *chosen, "--timeout", str(wanted.timeout), *wanted.options]
        started = time.monotonic()
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(peak), *arguments, "--report-dir", str(out)],
            capture_output=True,
            text=True,
            timeout=3 * wanted.seconds,
            check=False,
        )
        seconds = time.monotonic() - started
    said = ended.stdout + ended.stderr
    assert "Traceback" not in said
    assert all(line.isprintable() for line in said.splitlines())
    assert ended.returncode == wanted.code, said
    assert wanted.says in " ".join(said.split())
    assert seconds <= wanted.seconds + STARTING_S
    assert int(peak.read_text()) <= wanted.mib << 10
    report = out / REPORT
    if not report.exists():
        assert not wanted.outcomes
        return
    outcomes = outcomes_of(report)
    if wanted.outcomes is None:
        assert outcomes
    elif wanted.code == NOTHING_RAN:
        assert set(outcomes.values()) <= {"not_run", "inconclusive"}
    else:
        assert outcomes == wanted.outcomes
    assert report.stat().st_size <= MOST_BYTES
    found = verify(report, every_case())
    assert found.exit_code == 0, verification_lines(found)
    page = (out / "report.html").read_text()
    assert not any(text in page for text in UNESCAPED)
