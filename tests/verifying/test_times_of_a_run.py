"""When a run can have been."""

from __future__ import annotations

from msgspec.structs import replace

from support.reports import passes, report_of
from v2_conformance.report.document import Report
from v2_conformance.verifying.recorded.consistency import time_edits


def lasting(seconds: float) -> Report:
    report = report_of(passes())
    return replace(report, duration_s=seconds)


def test_a_run_cannot_end_in_the_future() -> None:
    assert list(time_edits(lasting(60.0))) == []
    assert list(time_edits(lasting(1e10))) == ["the run is said to end in the future"]
