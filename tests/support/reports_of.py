"""Hand-made report documents."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from v2_conformance.report.summary import from_report, summarise
from v2_conformance.resources import schema
from v2_conformance.suite.requirements import catalogue, digest


def exchange(request: bytes, response: bytes, note: str = "", **more: Any) -> dict[str, Any]:
    known = {"ending": "complete", "detail": "", "sent": len(request), "duration_ms": 2.0}
    return {
        "request": base64.b64encode(request).decode(),
        "response": base64.b64encode(response).decode(),
        "note": note,
        **known,
        **more,
    }


def case(case_id: str, outcome: str = "pass", message: str = "", *exchanges: Any) -> dict[str, Any]:
    requirement = catalogue()[case_id.split("/")[0]]
    return {
        "id": case_id,
        "requirement": requirement.id,
        "level": requirement.level,
        "basis": requirement.basis,
        "outcome": outcome,
        "message": message,
        "why": f"Why {case_id.split('/')[0]} is tested.",
        "duration_ms": 1.5,
        "exchanges": list(exchanges),
    }


def passes() -> list[dict[str, Any]]:
    return [case(f"{r.id}/plain[FP32]") for r in catalogue().values() if r.profile == "binary"]


def report_of(
    cases: Sequence[Mapping[str, Any]], *, complete: bool = True, name: str = "Server"
) -> dict[str, Any]:
    report: dict[str, Any] = {
        "suite": {"name": "v2-conformance", "version": "1.2.3", "catalogue": digest()},
        "target": {
            "url": "http://server.example:8000",
            "server": {"name": name, "version": "9.8.7", "extensions": ["binary_tensor_data"]},
            "profiles": ["binary"],
        },
        "started": "2025-01-02T03:04:05+01:00",
        "duration_s": 75.2,
        "complete": complete,
        "verdict": {},
        "requirements": [],
        "cases": list(cases),
    }
    planned = Counter(case["requirement"] for case in cases)
    summary = summarise(from_report(report), ["binary"], planned=planned)
    report["verdict"] = {
        "conformant": summary.conformant and complete,
        "robust": summary.robust and complete,
        "reasons": list(summary.reasons),
        "warnings": list(summary.warnings),
    }
    report["requirements"] = [
        {**json.loads(json.dumps(asdict(row))), **stated(row.id)} for row in summary.requirements
    ]
    schema("report").validate(report)
    return report


def stated(requirement_id: str) -> dict[str, Any]:
    requirement = catalogue()[requirement_id]
    cited = [
        {"document": "The page", "url": f"https://example.org/{n}", "section": c.section}
        for n, c in enumerate(requirement.cite)
    ]
    return {"title": requirement.title, "statement": requirement.statement, "cite": cited}


def message_with(blob: bytes, name: str = "INPUT0") -> bytes:
    entry = {"name": name, "parameters": {"binary_data_size": len(blob)}}
    head = json.dumps({"inputs": [entry]}).encode()
    lines = (
        "POST /v2/models/m/infer HTTP/1.1",
        f"Inference-Header-Content-Length: {len(head)}",
        f"Content-Length: {len(head) + len(blob)}",
    )
    return "\r\n".join([*lines, "", ""]).encode() + head + blob


def replaced(cases: list[dict[str, Any]], *others: dict[str, Any]) -> list[dict[str, Any]]:
    gone = {other["requirement"] for other in others}
    return [*(c for c in cases if c["requirement"] not in gone), *others]
