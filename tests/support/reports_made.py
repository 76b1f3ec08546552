"""What tests of things made from reports share: report.json documents made by hand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from v2_conformance.report.summary import from_report, summarise
from v2_conformance.resources import schema
from v2_conformance.suite.requirements import catalogue, digest

# For HTML, XML, Markdown, terminals and GitHub's runner alike.
HOSTILE = (
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>]]>&amp;\n::error::forged\r\n"
    "##[error]forged | `x` *b* [l](javascript:x) @octocat #1 http://e.example\x00\x0b\x1b[31m\ufffe\u202e"
)


def report_of(
    outcomes: Mapping[str, str] | None = None,
    *,
    profiles: Collection[str] = ("binary",),
    server: tuple[str, str] = ("Server", "9.8.7"),
    message: str = "what came is not what was wanted",
    left_out: Collection[str] = (),
    complete: bool = True,
    suite_catalogue: str | None = None,
) -> dict[str, Any]:
    """A report with two cases for each requirement of the profiles; they pass, but for `outcomes`.

    `outcomes` gives a requirement's second case its outcome. Requirements in `left_out` were
    planned, and none of their cases ran.
    """
    outcomes = outcomes or {}
    claimed = [r for r in catalogue().values() if r.profile in profiles]
    cases = []
    for requirement in claimed:
        for number, outcome in enumerate(("pass", outcomes.get(requirement.id, "pass")), 1):
            if requirement.id not in left_out:
                cases.append(
                    {
                        "id": f"{requirement.id}/case-{number}[INT32]",
                        "requirement": requirement.id,
                        "level": requirement.level_for(profiles),
                        "basis": requirement.basis,
                        "why": "A case of the tests.",
                        "outcome": outcome,
                        "message": "" if outcome == "pass" else message,
                        "duration_ms": 1.5,
                        "exchanges": [],
                    }
                )
    planned = Counter({requirement.id: 2 for requirement in claimed})
    report: dict[str, Any] = {
        "suite": {
            "name": "v2-conformance",
            "version": "1.2.3",
            "catalogue": suite_catalogue or digest(),
        },
        "target": {
            "url": "http://server.example:8000",
            "server": {"name": server[0], "version": server[1], "extensions": []},
            "profiles": list(profiles),
        },
        "started": "2025-01-02T23:04:05-03:00",
        "duration_s": 75.2,
        "complete": complete,
        "planned": dict(planned),
        "verdict": {},
        "requirements": [],
        "cases": cases,
    }
    summary = summarise(from_report(report), profiles, planned=planned)
    report["verdict"] = {
        "conformant": summary.conformant and complete,
        "robust": summary.robust and complete,
        "reasons": list(summary.reasons),
        "warnings": list(summary.warnings),
    }
    report["requirements"] = [
        {
            **asdict(row),
            "title": catalogue()[row.id].title,
            "statement": catalogue()[row.id].statement,
        }
        for row in summary.requirements
    ]
    document: dict[str, Any] = json.loads(json.dumps(report))
    schema("report").validate(document)
    return document


def saved(report: Mapping[str, Any], path: Path) -> Path:
    """`report` in a file, with a page beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report))
    path.with_suffix(".html").write_text("<!DOCTYPE html>")
    return path
