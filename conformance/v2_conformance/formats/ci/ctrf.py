"""A report in the Common Test Report Format (ctrf.io), version 0.0.0 of its schema."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from v2_conformance.formats.ci.junit_xml import class_name, tolerated
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.shown.visible_text import visible
from v2_conformance.report.verdict.standing import claim, server_name, standing
from v2_conformance.suite.outcomes import Outcome

_STATUS = {
    Outcome.PASS: "passed",
    Outcome.DISPUTED: "passed",
    Outcome.FAIL: "failed",
    Outcome.FLAKY: "failed",
    Outcome.UNSUPPORTED: "skipped",
    Outcome.NOT_RUN: "skipped",
    Outcome.INCONCLUSIVE: "other",
    Outcome.ERROR: "other",
}
_STATUSES = ("passed", "failed", "skipped", "pending", "other")


def render(report: Report) -> str:
    """The document, in JSON. Failures that are tolerated (see junit_xml) are of status `other`."""
    counts = Counter(map(_status, report.cases))
    start = int(report.moment.timestamp() * 1000) if report.moment else 0
    document: dict[str, Any] = {
        "reportFormat": "CTRF",
        "specVersion": "0.0.0",
        "results": {
            "tool": {"name": report.suite.name, "version": report.suite.version},
            "summary": {
                "tests": len(report.cases),
                **{status: counts[status] for status in _STATUSES},
                "start": start,
                "stop": start + int(report.duration_s * 1000),
            },
            "tests": [_test(case) for case in report.cases],
            "environment": {"appName": server_name(report), "testEnvironment": report.target.url},
            "extra": {"verdict": standing(report).words, "claim": claim(report)},
        },
    }
    return json.dumps(document, indent=1) + "\n"


def _status(case: CaseResult) -> str:
    status = _STATUS[case.outcome]
    return "other" if status == "failed" and tolerated(case) else status


def _test(case: CaseResult) -> dict[str, Any]:
    return {
        "name": visible(case.id),
        "status": _status(case),
        "duration": round(case.duration_ms),
        "suite": [class_name(case)],
        "message": visible(case.message),
        "rawStatus": case.outcome.value,
        "flaky": case.outcome is Outcome.FLAKY,
        "tags": [case.grade, case.requirement, case.profile],
    }
