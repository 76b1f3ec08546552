"""pytest-html's page, if one is written: requirement, grade and wire log in each case's row.

Only registered if pytest-html is active, whose hooks these are. The style that all pages share,
page.css and page.js go into the page: they make it look like report.html, fit any screen, and
label its inputs, which pytest-html does not.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from v2_conformance.formats.shown import BRIEF, FULL, shown
from v2_conformance.formats.templates import base
from v2_conformance.formats.text.case import exchange_lines
from v2_conformance.pytest_plugin.items import NODE
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.verdict.standing import claimed, standing
from v2_conformance.report.words import priced
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.terminal_safe_text import short, visible

_LONGEST = 200
_ROW_CHARS = 10_000  # a browser has to open the page; report.json has every byte
_REASONS = 5
_COLUMNS = ((2, "requirement"), (3, "grade"))
# Without it, a phone shows the page as wide as a desk's and tiny.
_VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1">'


class Page:
    """The hooks of pytest-html; `verdict` gives the report once the run has ended."""

    def __init__(self, verdict: Callable[[], Report | None]) -> None:
        self._verdict = verdict
        self.cases = WeakKeyDictionary[Any, CaseResult]()  # by pytest's report of the test

    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Two more columns."""
        for at, name in _COLUMNS:
            title = name.capitalize()
            cells.insert(at, f'<th class="sortable" data-column-type="{name}">{title}</th>')

    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Requirement and grade of a case; both are empty for the vendor's own tests."""
        is_case = report.nodeid.startswith(f"{NODE}::")
        known = dict(report.user_properties) if is_case else {}
        for at, name in _COLUMNS:
            cells.insert(at, f'<td class="col-{name}">{escape(known.get(name, ""))}</td>')

    def pytest_html_results_table_html(self, report: Any, data: list[str]) -> None:
        """The wire log of a case, after what pytest-html shows itself."""
        case = self.cases.get(report)
        if case is None:
            return
        if not report.longreprtext and not report.sections:
            # Instead of a line that no log was captured; a failure has said all this already.
            data[:] = [escape(visible(line)) for line in (case.why, case.message) if line]
        data += ["", f'<div class="v2-wire">{escape(wire_log(case))}</div>']

    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """The verdict, above pytest's own counts, and what makes the page fit."""
        own = Path(__file__)
        style = _added("style", base("css"), own.with_name("page.css"))
        prefix.append(style + _added("script", own.with_name("page.js")) + _VIEWPORT)
        report = self._verdict()
        if report is not None:
            prefix.append(verdict_html(report))


def verdict_html(report: Report) -> str:
    """The verdict and what blocks it, escaped."""
    stands = standing(report)
    reasons = report.verdict.reasons
    items = [f"<li>{escape(visible(short(r, _LONGEST)))}</li>" for r in reasons[:_REASONS]]
    if len(reasons) > _REASONS:
        items.append(f"<li>and {len(reasons) - _REASONS} more</li>")
    about = claimed(report)
    return (
        f'<div class="verdict o-{stands.tone}"><span class="sign" aria-hidden="true">{stands.sign}'
        f"</span><div><strong>V2 binary tensors: {priced(report)}</strong>"
        f"<p>{escape(visible(short(about, 2 * _LONGEST)))}, catalogue "
        f"{escape(visible(short(report.suite.catalogue, _LONGEST)))}</p>"
        + (f"<ul>{''.join(items)}</ul>" if items else "")
        + "</div></div>"
    )


def wire_log(case: CaseResult) -> str:
    """A case's exchanges as text, not escaped: of what passed, only the start of each section."""
    view = shown(case, BRIEF if case.outcome is Outcome.PASS else FULL, BRIEF)
    lines = "\n".join(line.plain for line in exchange_lines(view))
    return short(lines.strip() or "nothing was sent", _ROW_CHARS)


def _added(element: str, *files: Path) -> str:
    text = "".join(file.read_text("utf-8") for file in files)
    return f"<{element}>\n{text}</{element}>\n"
