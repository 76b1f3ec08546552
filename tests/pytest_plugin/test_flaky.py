"""A case that another plugin runs again after a failure is flaky, whatever it comes to then."""

from __future__ import annotations

import pytest

from support.servers import Peer, served, serving
from v2_conformance.report.files import load_report
from v2_conformance.suite.causes.causes import FailedAtFirst
from v2_conformance.suite.causes.kinds import ConnectionClosed
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.verification import verify

MARK = b'\n    "inputs"'
VICTIM = "H1/honoured[medium,INT32]"
# What plugins such as pytest-rerunfailures do.
RERUNS = """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    for attempt in range(3):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        if not any(report.failed for report in reports):
            break
    return True
"""


def test_case_that_passes_again_is_flaky(pytester: pytest.Pytester) -> None:
    met: list[bytes] = []

    def talk(peer: Peer) -> None:
        """A good server that gives no answer to the first two requests with the mark."""
        while True:
            request = peer.request()
            if MARK in request and len(met) < 2:  # on the kept connection, and once more
                met.append(request)
                return
            peer.send(served(request))

    pytester.makeconftest(RERUNS)
    with serving(talk) as server:
        result = pytester.runpytest(
            *("-p", "no:hypothesispytest", "-m", "H1", "--v2-url", server.url),
            *("--v2-report-dir", "out", "--junitxml", "junit.xml"),
        )
    assert result.ret == 1
    path = pytester.path / "out" / "report.json"
    report = load_report(path)
    (flaky,) = report.of(Outcome.FLAKY)
    assert flaky.id == VICTIM
    closed = ConnectionClosed(0, "the server closed the connection")
    assert flaky.cause == FailedAtFirst(closed, None)
    assert not any(report.of(Outcome.FAIL))
    assert "MUST (blocks conformant) H1 was flaky (1 case)" in report.verdict.reasons
    assert not report.verdict.conformant
    assert len({case.id for case in report.cases}) == len(report.cases)
    assert 'value="flaky"' in (pytester.path / "junit.xml").read_text()
    page = (pytester.path / "out" / "report.html").read_text()
    assert "passed when it was run again, but failed at first" in page
    assert verify(path, suite_cases()).exit_code == 0
