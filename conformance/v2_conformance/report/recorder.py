"""The run record and the report file.

A run appends to `report.jsonl`: a header line, a line for each case, a footer. At the end the
record is folded into `report.json`. A killed run keeps its record; folding it says that it is
incomplete. Secrets of the target are masked, length by length, before anything is written.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

from v2_conformance import __version__
from v2_conformance.engine.discovery import Server
from v2_conformance.engine.engine import Exchange, Result
from v2_conformance.engine.target import Target
from v2_conformance.errors import ReportFileError, UsageError
from v2_conformance.judging.response import Difference
from v2_conformance.redaction import Mask
from v2_conformance.report.digest import sealed
from v2_conformance.report.summary import from_report, summarise
from v2_conformance.resources import fits, schema
from v2_conformance.suite.cases import Case
from v2_conformance.suite.requirements import Requirement, catalogue, digest, documents

RECORD = "report.jsonl"
REPORT = "report.json"
PAGE = "report.html"
BADGE_SVG = "badge.svg"
BADGE_JSON = "badge.json"
_HEADER = '{"header":'  # how a record begins

Note = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def case_record(result: Result, profiles: Sequence[str], mask: Mask) -> dict[str, Any]:
    """One case as report.json has it."""
    record = {
        **result.case.facts(profiles),
        "outcome": result.outcome,
        "message": mask.text(result.message),
        "duration_ms": round(result.duration_s * 1000, 3),
        "exchanges": [_exchange(exchange, mask) for exchange in result.exchanges],
    }
    if result.difference is not None:
        record["difference"] = _difference(result.difference, mask)
    return record


def _difference(difference: Difference, mask: Mask) -> dict[str, Any]:
    shown: dict[str, Any] = mask.document(asdict(difference))
    for side in ("wanted", "got"):
        shown[side] = mask.data(bytes.fromhex(shown[side])).hex()
    return shown


def _exchange(exchange: Exchange, mask: Mask) -> dict[str, Any]:
    transcript = exchange.transcript
    first = transcript.first_byte_s
    record: dict[str, Any] = {
        "request": base64.b64encode(mask.data(transcript.request)).decode(),
        "response": base64.b64encode(mask.data(transcript.received)).decode(),
        "note": exchange.note,
        **({"wanted": exchange.wanted} if exchange.wanted else {}),
        "ending": transcript.ending,
        "detail": mask.text(transcript.detail),
        "sent": transcript.sent,
        "reused": transcript.reused,
        "open": transcript.open,
        "first_byte_ms": None if first is None else round(first * 1000, 3),
        "duration_ms": round(transcript.duration_s * 1000, 3),
        **({} if exchange.entry is None else {"entry": exchange.entry}),
    }
    if len(transcript.pieces) > 1:
        record["pieces"] = list(transcript.pieces)
        record["pause_ms"] = round(transcript.pause_s * 1000, 3)
    return record


def _as_it_is(case: Mapping[str, Any]) -> Mapping[str, Any]:
    return case


class Record:
    """The append-only record of one run in `directory`, folded into report.json by `finish`.

    `own` says whether `cases` are the suite's own: a run of others certifies nothing.
    """

    def __init__(
        self,
        directory: Path,
        target: Target,
        server: Server,
        cases: Sequence[Case],
        *,
        own: bool = True,
        noted: Note = _as_it_is,
    ) -> None:
        """`noted` adds to a case, in report.json's form, what is known of it beforehand."""
        self.directory = directory
        self._noted = noted
        self._mask = target.mask
        self._profiles = target.profiles
        self._started = datetime.now(timezone.utc)
        self._file = _create(directory)
        header = {**_header(target, server, cases, self._started), "own": own}
        self._write({"header": self._mask.document(header)})

    def add(self, result: Result) -> None:
        """Append one case; it is on disk when this returns."""
        self.add_record(case_record(result, self._profiles, self._mask))

    def add_record(self, record: Mapping[str, Any]) -> None:
        """Append one case that is in report.json's form already."""
        self._write({"case": self._noted(record)})

    def finish(self, *, complete: bool = True) -> dict[str, Any]:
        """Close the record, write report.json and return its document."""
        duration = (datetime.now(timezone.utc) - self._started).total_seconds()
        self._write({"footer": {"complete": complete, "duration_s": round(duration, 3)}})
        self._file.close()
        report = load_report(self.directory / RECORD)
        write_report(self.directory, report)
        return report

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()


def _create(directory: Path) -> TextIO:
    """The new record's file. An older run's report goes, so that it cannot pass for this one's."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = (directory / RECORD).open("w", encoding="utf-8")
        for name in (REPORT, PAGE, BADGE_SVG, BADGE_JSON):
            with contextlib.suppress(FileNotFoundError):
                (directory / name).unlink()
    except OSError as error:
        raise UsageError(
            f"cannot write reports into {directory}: {error.strerror}; choose another folder with "
            "--report-dir"
        ) from error
    return file


def write_report(directory: Path, report: Mapping[str, Any]) -> Path:
    """Write report.json into `directory` and return its path. Raises UsageError."""
    path = directory / REPORT
    write_atomically(path, json.dumps(report, ensure_ascii=True) + "\n")
    return path


def write_atomically(path: Path, text: str) -> None:
    """Write a whole file or leave the old one. Raises UsageError."""
    beside = path.with_name(path.name + ".new")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _header(
    target: Target, server: Server, cases: Sequence[Case], started: datetime
) -> dict[str, Any]:
    return {
        "suite": {"name": "v2-conformance", "version": __version__, "catalogue": digest()},
        "target": {
            "url": target.public_url,
            "host": target.address.host,
            "headers": [list(target.mask.field(*item)) for item in target.address.headers],
            "server": {
                "name": server.name,
                "version": server.version,
                "extensions": list(server.extensions),
            },
            "profiles": list(target.profiles),
            "unsupported": sorted(target.unsupported),
            "models": {
                role: {k: v for k, v in asdict(binding).items() if k != "role"}
                for role, binding in server.present.items()
            },
            "absent": dict(server.absent),
        },
        "started": started.isoformat(timespec="seconds"),
        "planned": dict(Counter(case.requirement for case in cases)),
        "order": [case.id for case in cases],
    }


def load_report(path: Path) -> dict[str, Any]:
    """A report.json, or the record of a run (finished or not) folded into one.

    Raises ReportFileError, in one line, for whatever is neither.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ReportFileError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ReportFileError(f"{path} is not a report: it is not UTF-8 text") from error
    try:
        report = _fold(path, text) if text.startswith(_HEADER) else _whole(path, text)
    except (KeyError, TypeError, AttributeError) as error:
        raise ReportFileError(f"{path} is not the record of a run ({error!r})") from error
    wrong = None if fits("report", report) else next(schema("report").iter_errors(report), None)
    if wrong is not None:
        where = ".".join(str(step) for step in wrong.absolute_path) or "the document"
        raise ReportFileError(f"{path} is not a report: {where}: {wrong.message[:160]}")
    return report


def is_record(path: Path) -> bool:
    """Whether a file that `load_report` reads is the record of a run, not its report."""
    with path.open("rb") as file:
        return file.read(len(_HEADER)) == _HEADER.encode()


def _whole(path: Path, text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = f"; its record {RECORD} beside it may be whole" if text.startswith("{") else ""
        raise ReportFileError(f"{path} is not JSON or was cut off ({error}){hint}") from error
    if not isinstance(document, dict):
        raise ReportFileError(f"{path} is not a report")
    return document


def _fold(path: Path, text: str) -> dict[str, Any]:
    header: dict[str, Any] = {}
    footer: dict[str, Any] = {}
    cases: list[dict[str, Any]] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            kind, value = next(iter(json.loads(line).items()))
        except (ValueError, AttributeError, StopIteration) as error:
            if number == len(lines):  # the run was killed while it wrote this line
                break
            raise ReportFileError(f"{path}:{number}: not a line of a record") from error
        if kind == "header":
            header = value
        elif kind == "case":
            cases.append(value)
        else:
            footer = value
    if not header:
        raise ReportFileError(f"{path}: the run was stopped before its record had begun")
    return _report(header, cases, footer)


def _report(
    header: dict[str, Any], cases: list[dict[str, Any]], footer: dict[str, Any]
) -> dict[str, Any]:
    complete = bool(footer.get("complete"))
    place = {case_id: number for number, case_id in enumerate(header["order"])}
    cases = sorted(cases, key=lambda case: place.get(case["id"], len(place)))
    return sealed(
        concluded(
            {
                "suite": header["suite"],
                "target": header["target"],
                "started": header["started"],
                "duration_s": footer.get("duration_s", sum(c["duration_ms"] for c in cases) / 1000),
                "complete": complete,
                "own": header.get("own", True),
                "planned": header["planned"],
                "verdict": {},
                "requirements": [],
                "cases": cases,
            }
        )
    )


def concluded(report: Mapping[str, Any]) -> dict[str, Any]:
    """`report` with the verdict and the requirements that its cases amount to; not sealed."""
    complete, planned = report["complete"], report["planned"]
    summary = summarise(from_report(report), report["target"]["profiles"], planned=planned)
    reasons = list(summary.reasons)
    if not complete:
        left = sum(planned.values()) - len(report["cases"])
        reasons.insert(0, f"the run is incomplete: it was stopped with {left} cases to go")
    own = report.get("own", True)
    if not own:
        reasons.insert(0, "this was not the suite: the cases were those given with --cases")
    verdict = {
        "conformant": summary.conformant and complete and own,
        "robust": summary.robust and complete and own,
        "reasons": reasons,
        "warnings": list(summary.warnings),
    }
    rows = [{**asdict(row), **_stated(catalogue()[row.id])} for row in summary.requirements]
    return {**report, "verdict": verdict, "requirements": rows}


def _stated(requirement: Requirement) -> dict[str, Any]:
    """What a reader of the report needs to know of a requirement."""
    cited = [
        {
            "document": documents()[citation.document].title,
            "url": documents()[citation.document].url,
            "section": citation.section,
            "paragraph": citation.paragraph,
        }
        for citation in requirement.cite
    ]
    return {
        "title": requirement.title,
        "statement": requirement.statement,
        "follows": requirement.follows,
        "note": requirement.note,
        "cite": cited,
    }
