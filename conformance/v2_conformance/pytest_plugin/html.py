"""pytest-html's page, where it is written: requirement, level and wire log in each case's row.

Only registered where pytest-html is active, whose hooks these are.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from v2_conformance.report.annotate import (
    Dump,
    Row,
    Section,
    annotate_request,
    annotate_response,
    visible,
)
from v2_conformance.report.standing import profiles, server_name, short, standing

NODE = "v2-conformance"
# How much of each part of a message is shown, at its first and its last bytes.
_FULL = (512, 64)
_BRIEF = (96, 32)
_TEXT_FACTOR = 4  # a head is text, and its fields are what one looks for
_MOST_EXCHANGES = 6
_MOST_SECTIONS = 12
_MOST_NOTES = 6
_MOST_TEXT = 200
# A row's log, and all of them: a browser has to open the page.
_ROW_CHARS = 40_000
_PAGE_CHARS = 5_000_000
_REASONS = 5
_NO_ROOM = "wire log: this page is full; report.json of --v2-report-dir has every byte"


class Page:
    """The hooks of pytest-html; `verdict` gives the report document once the run has ended."""

    def __init__(self, verdict: Callable[[], Mapping[str, Any] | None]) -> None:
        self._verdict = verdict
        self._room = _PAGE_CHARS

    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Two more columns."""
        for at, name in ((2, "requirement"), (3, "level")):
            title = name.capitalize()
            cells.insert(at, f'<th class="sortable" data-column-type="{name}">{title}</th>')

    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Requirement and level of a case; both are empty for the vendor's own tests."""
        known = dict(report.user_properties) if _is_case(report) else {}
        for at, name in ((2, "requirement"), (3, "level")):
            cells.insert(at, f'<td class="col-{name}">{escape(known.get(name, ""))}</td>')

    def pytest_html_results_table_html(self, report: Any, data: list[str]) -> None:
        """The wire log of a case, behind what pytest-html shows itself."""
        record = getattr(report, "v2_case", None)
        if record is None:
            return
        case = json.loads(record)
        if not report.longreprtext and not report.sections:
            # In place of a line that no log was captured; a failure has said all this already.
            data[:] = [escape(visible(line)) for line in (case["why"], case["message"]) if line]
        text = escape(wire_log(case, _BRIEF if case["outcome"] == "pass" else _FULL))
        text = text if len(text) <= self._room else _NO_ROOM
        self._room -= len(text)
        data += ["", text]

    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """The verdict, above pytest's own counts."""
        report = self._verdict()
        if report is not None:
            prefix.append(verdict_html(report))


def verdict_html(report: Mapping[str, Any]) -> str:
    """The verdict and what blocks it, escaped."""
    found = standing(report)
    reasons = report["verdict"]["reasons"]
    items = [f"<li>{escape(visible(short(r, _MOST_TEXT)))}</li>" for r in reasons[:_REASONS]]
    if len(reasons) > _REASONS:
        items.append(f"<li>and {len(reasons) - _REASONS} more</li>")
    about = f"{server_name(report)}, profiles {profiles(report)}"
    return (
        f"<p><strong>V2 binary tensors: {found.sign} {found.words}</strong> "
        f"({escape(visible(short(about, 2 * _MOST_TEXT)))}, catalogue "
        f"{escape(visible(short(report['suite']['catalogue'], _MOST_TEXT)))})</p>"
        + (f"<ul>{''.join(items)}</ul>" if items else "")
    )


def wire_log(case: Mapping[str, Any], limits: tuple[int, int]) -> str:
    """A case's exchanges in annotated text, not escaped; of each part its first and last bytes."""
    exchanges: Sequence[Mapping[str, Any]] = case["exchanges"]
    lines = [] if exchanges else ["nothing was sent"]
    for number, exchange in enumerate(exchanges[:_MOST_EXCHANGES], 1):
        lines += [*([""] if lines else []), *_exchange(number, exchange, limits)]
    if len(exchanges) > _MOST_EXCHANGES:
        lines += ["", f"… and {len(exchanges) - _MOST_EXCHANGES} more exchanges"]
    return short("\n".join(lines), _ROW_CHARS)


def _is_case(report: Any) -> bool:
    return bool(report.nodeid.startswith(NODE + "::"))


def _exchange(number: int, exchange: Mapping[str, Any], limits: tuple[int, int]) -> Iterator[str]:
    facts = [f"exchange {number}", exchange["note"], exchange.get("ending", "")]
    facts += [exchange.get("detail", ""), f"{exchange.get('duration_ms', 0):.1f} ms"]
    yield " · ".join(visible(short(fact, _MOST_TEXT)) for fact in facts if fact)
    request = base64.b64decode(exchange["request"])
    response = base64.b64decode(exchange["response"])
    yield from _message("request", ">", request, annotate_request(request), limits)
    yield from _message("response", "<", response, annotate_response(response), limits)


def _message(
    name: str, arrow: str, data: bytes, dump: Dump, limits: tuple[int, int]
) -> Iterator[str]:
    yield f"{arrow} {name}, {len(data)} bytes" if data else f"{arrow} no {name}"
    for note in dump.notes[:_MOST_NOTES]:
        yield f"  note: {visible(short(note, _MOST_TEXT))}"
    for section in dump.sections[:_MOST_SECTIONS]:
        yield from _section(section, limits)
    if len(dump.sections) > _MOST_SECTIONS:
        yield f"  … and {len(dump.sections) - _MOST_SECTIONS} more parts"


def _section(section: Section, limits: tuple[int, int]) -> Iterator[str]:
    size = len(section.data)
    place = ""
    if size and section.kind in ("json", "blob"):
        place = f", {section.base}–{section.base + size - 1} of the body"
    yield f"  {visible(section.label)} · {size} bytes{place}"
    first, last = limits
    if section.kind in ("head", "json"):
        top, left_out, bottom = section.fold(first * _TEXT_FACTOR, last)
        before, after = _text(top), _text(bottom)
    else:
        rows, left_out, last_rows = section.folded_rows(first, last)
        before, after = _hex(rows), _hex(last_rows)
    yield from before
    if left_out:
        yield f"    … {left_out} bytes left out; the whole has SHA-256 {section.sha256}"
        yield from after


def _text(data: bytes) -> list[str]:
    text = data.decode("utf-8", "backslashreplace").replace("\r\n", "\n").rstrip("\n")
    return [f"    {visible(line)}" for line in text.split("\n")] if text else []


def _hex(rows: Sequence[Row]) -> list[str]:
    return [f"    {row.offset:06x}  {row.hex:<47}  {row.ascii}" for row in rows]
