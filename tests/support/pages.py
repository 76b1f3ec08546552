"""report.html for tests: written for a browser, or read for what it has as data: its list of cases,
and what is shown of each once it is opened."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

from support.reports import passes, report_of
from v2_conformance.formats.html.packed import Replay
from v2_conformance.formats.html.page import case_anchor, render
from v2_conformance.formats.replay.commands import replay_command
from v2_conformance.report.document import CaseResult, Report

_SCRIPT = '<script type="{}" id="{}">([^<]*)</script>'


def written_page(folder: Path, report: Report, replay: Replay = replay_command) -> str:
    """The URL of report.html, written into `folder`; `replay` is what `render` takes."""
    file = folder / "report.html"
    file.write_text(render(report, replay), "utf-8")
    return file.as_uri()


def page_of_cases(folder: Path, *cases: CaseResult, replay: Replay = replay_command) -> str:
    """The URL of a page in which these cases are as they are and all others pass."""
    return written_page(folder, report_of(passes(*cases)), replay)


def element_of(case_id: str) -> str:
    """The JavaScript expression of a case's row in a page."""
    return f"document.getElementById({case_anchor(case_id)!r})"


def index_of(page: str) -> dict[str, Any]:
    """The list of cases in a page."""
    found = re.search(_SCRIPT.format("application/json", "index"), page)
    assert found is not None
    index: dict[str, Any] = json.loads(found[1])
    return index


def ids_of(page: str) -> list[str]:
    """The ids of the cases in a page, in its order."""
    return [row[0] for row in index_of(page)["cases"]]


def records_of(page: str) -> dict[str, dict[str, Any]]:
    """By the id of its case, what is shown once it is opened; its bytes are `data`."""
    found = re.search(_SCRIPT.format("application/octet-stream", "packed"), page)
    assert found is not None
    return records_in(found[1], ids_of(page))


def records_in(stream: str, ids: list[str]) -> dict[str, dict[str, Any]]:
    """The records of a stream in base64, for the cases with these ids."""
    data = zlib.decompress(base64.b64decode(stream)) if stream else b""
    records = {}
    at = 0
    while at < len(data):
        end = at + 8 + int.from_bytes(data[at : at + 4], "big")
        length = int.from_bytes(data[at + 4 : at + 8], "big")
        record = json.loads(data[at + 8 : end])
        record["data"] = data[end : end + length]
        records[ids[record["case"]]] = record
        at = end + length
    return records
