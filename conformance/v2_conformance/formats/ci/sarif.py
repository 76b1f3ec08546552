"""SARIF 2.1.0 of a report's failures, for services that list findings: a rule for each requirement,
a result for each case that failed."""

from __future__ import annotations

import json
from typing import Any

from v2_conformance.formats.ci.junit_xml import tolerated
from v2_conformance.report.document import CaseResult, Report, RequirementResult
from v2_conformance.report.shown.visible_text import visible
from v2_conformance.report.verdict.standing import claim, server_name, standing
from v2_conformance.suite.outcomes import Outcome

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"MUST": "error", "SHOULD": "warning"}
_FILE = "report.json"


def render(report: Report) -> str:
    """The log, in JSON. Its results are at report.json: a server has no lines of source here."""
    failed = list(report.of(Outcome.FAIL, Outcome.FLAKY))
    used = {case.requirement for case in failed}
    rules = [row for row in report.requirements if row.id in used]
    log: dict[str, Any] = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": report.suite.name,
                        "semanticVersion": report.suite.version,
                        "rules": list(map(_rule, rules)),
                    }
                },
                "results": list(map(_result, failed)),
                "properties": {
                    "server": server_name(report),
                    "verdict": standing(report).words,
                    "claim": claim(report),
                },
            }
        ],
    }
    return json.dumps(log, indent=1) + "\n"


def _rule(row: RequirementResult) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": row.id,
        "shortDescription": {"text": visible(row.title) or row.id},
        "fullDescription": {"text": visible(row.statement) or row.id},
        "defaultConfiguration": {"level": _LEVELS.get(row.level, "note")},
    }
    if row.cite and row.cite[0].url.startswith("https://"):
        rule["helpUri"] = row.cite[0].url
    return rule


def _result(case: CaseResult) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": case.requirement,
        "level": _LEVELS.get(case.level, "note"),
        "message": {"text": visible(f"{case.id}: {case.message}")},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": _FILE}},
                "logicalLocations": [{"fullyQualifiedName": visible(case.id)}],
            }
        ],
        "partialFingerprints": {"case/v1": visible(case.id)},
    }
    if tolerated(case):
        reason = case.expected.reason if case.expected is not None else "MAY: it never counts"
        result["suppressions"] = [{"kind": "external", "justification": visible(reason)}]
    return result
