"""What the published reports show, judged again from their recorded bytes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from oracle.names import Judged, grouped
from v2_conformance.suite.library import every_case
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.verification import verify

REPORTS = Path(__file__).parents[2] / "reports"


@cache
def _judged(report: str) -> dict[str, Judged]:
    """Return each case of a report, with the verdict that its bytes give."""
    found = verify(REPORTS / report / "report.json.gz", every_case())
    return {case.id: case.verdict for case in found.cases if case.verdict is not None}


def names() -> list[str]:
    """Return each report with each requirement that it has cases of."""
    reports = sorted(path.parent.name for path in REPORTS.glob("*/report.json.gz"))
    return list(
        dict.fromkeys(f"{one}/{id.partition('/')[0]}" for one in reports for id in _judged(one))
    )


def row(name: str) -> str:
    """Return what is no pass of a report's cases of a requirement, and why."""
    report, _, requirement = name.rpartition("/")
    cases = {id: one for id, one in _judged(report).items() if id.startswith(f"{requirement}/")}
    other = {id: one for id, one in cases.items() if one.outcome is not Outcome.PASS}
    return f"{len(cases)} cases: {grouped(other, list(cases))}"
