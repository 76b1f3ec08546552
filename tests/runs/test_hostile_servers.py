"""A server that floods every case fills neither memory nor disk; tests/hostile has other kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.responses import http
from support.servers import Script, always, served, serving, steps
from v2_conformance.cli.main import main
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.runs.scheduling import engine as engine_module
from v2_conformance.suite.causes.kinds import Flooded
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.verification import verify

MIB = 1 << 20


def memory(name: str) -> int:
    """A figure of this process's memory, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="no process learns its peak of memory here"
)
@pytest.mark.parametrize(
    "flood",
    [
        steps(b"HTTP/1.1 200 OK\r\n\r\n", lambda peer: peer.forever(bytes(1000))),
        steps(http(bytes(MIB))),
    ],
    ids=["endless", "whole"],
)
def test_a_server_that_floods_every_case_fills_no_disk(
    flood: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "MOST_SURPLUS", 20 * MIB)
    answers = always(lambda request: flood if b"/infer " in request else served(request))
    chosen = [
        argument for name in ("H1/*", "H2/*", "H6/*", "M7/*") for argument in ("--case", name)
    ]
    Path("/proc/self/clear_refs").write_text("5")  # from here on the peak is counted anew
    before = memory("VmRSS")
    with serving(answers) as server:
        arguments = [*chosen, "--timeout", "10", "--report-dir", str(tmp_path)]
        assert main(["run", server.url, *arguments]) == 1
    assert memory("VmHWM") - before < 500 * MIB
    cases = load_report(tmp_path / REPORT).cases
    flooded = [case for case in cases if isinstance(case.cause, Flooded)]
    assert {case.outcome for case in flooded} == {Outcome.INCONCLUSIVE}
    assert not any(case.exchanges for case in flooded)
    assert {case.outcome for case in cases if case not in flooded} == {Outcome.FAIL}
    assert 0 < len(cases) - len(flooded) < 20 < len(cases)  # an endless one counts as 8 MiB
    assert (tmp_path / REPORT).stat().st_size < 60 * MIB
    assert verify(tmp_path / REPORT, suite_cases()).exit_code == 0
