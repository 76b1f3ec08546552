"""What a session does between two cases."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.suite.models import ModelContract


def test_the_next_request_leaves_while_pytest_reports_on_the_case_before(
    pytester: pytest.Pytester, start: Callable[[type[Behaviour]], ReferenceServer]
) -> None:
    third = threading.Event()  # after the known-good request and that of the first case
    met: list[Request] = []

    class Counts(Behaviour):
        def infer(self, model: ModelContract, request: Request) -> Response:
            met.append(request)
            if len(met) == 3:
                third.set()
            return super().infer(model, request)

    class Watch:
        reported: tuple[str, bool] | None = None

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.when == "call" and self.reported is None:
                self.reported = report.nodeid, third.wait(5)

    watch = Watch()
    url = start(Counts).url
    result = pytester.runpytest_inprocess(
        *("-p", "no:hypothesispytest", "--v2-url", url, "-k", "row-major and INT32"),
        plugins=[watch],
    )
    assert result.ret == 0
    assert watch.reported is not None
    assert watch.reported[1], "only once the report was made"
