"""What a run shows on the terminal: a progress bar or plain lines, and a summary of 80 columns."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from conformance.catalogue import catalogue, families
from conformance.judge import FAIL, OUTCOMES
from conformance.report.extension import extension
from conformance.results import PAGE
from conformance.runner import CaseFinished

_WIDTH = 80
_LINES_EVERY = 100  # cases between two lines in a log
_SHOWN = 10


class Reporter:
    """Shows a run as it goes: a bar on a terminal, a line now and then in a log."""

    def __init__(self, total: int, url: str) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._url = url
        self._failed = 0
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("testing", total=total)

    def __enter__(self) -> Reporter:
        print(f"testing {self._url}", file=sys.stderr)
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def show(self, event: CaseFinished) -> None:
        """Take one result into account."""
        if event.result.outcome == FAIL and event.result.case.level != "MAY":
            self._failed += 1
        if not self._progress.disable:
            text = f"testing, {self._failed} failed" if self._failed else "testing"
            self._progress.update(self._task, completed=event.number, description=text)
        elif event.number % _LINES_EVERY == 0 or event.number == event.total:
            print(f"{event.number}/{event.total} cases, {self._failed} failed", file=sys.stderr)


def print_summary(report: Mapping[str, Any], directory: Path) -> None:
    """Print the verdict, what blocks it and where the report is; no line over 80 columns."""
    for line in summary_lines(report, directory):
        print(line)


def summary_lines(report: Mapping[str, Any], directory: Path) -> list[str]:
    """The lines of the summary. What a server sent is printable ASCII in them."""
    server, verdict = report["target"]["server"], report["verdict"]
    lines = ["", *_table(report), ""]
    lines += _failures(report)
    for reason in verdict["reasons"][: _SHOWN * 2]:
        lines += _wrapped(f"blocks: {reason}", "        ")
    lines += _more(len(verdict["reasons"]) - _SHOWN * 2, "reasons")
    warnings = [w for w in verdict.get("warnings", ()) if w not in verdict["reasons"]]
    if warnings:
        lines += _wrapped("warnings: " + "; ".join(warnings[:_SHOWN]), "          ")
        lines += _more(len(warnings) - _SHOWN, "warnings")
    for row in report["requirements"]:
        if row["outcome"] == "disputed":
            lines += _wrapped(f"disputed {row['id']}: {_reading(report, row['id'])}", "  ")
    left_out = [row["id"] for row in report["requirements"] if row["outcome"] == "unsupported"]
    if left_out:
        lines += _wrapped("not tested, as declared unsupported: " + " ".join(left_out), "  ")
    lines += _uncovered(report)
    lines += _wrapped(extension(report).words, "  ")
    lines.append("")
    name = f"{_plain(server['name'])} {_plain(server['version'])}"
    profiles = ", ".join(report["target"]["profiles"])
    unsupported = report["target"].get("unsupported", [])
    if unsupported:
        profiles += f", without {', '.join(unsupported)}"
    words = verdict_words(verdict)
    lines += _wrapped(f"{name}, profiles {profiles}: {words}", "  ")
    lines.append(f"report: {directory / PAGE}")
    return lines


def verdict_words(verdict: Mapping[str, Any]) -> str:
    """The verdict as people say it."""
    if not verdict["conformant"]:
        return "NOT CONFORMANT"
    return "CONFORMANT, ROBUST" if verdict["robust"] else "CONFORMANT, not robust"


def _table(report: Mapping[str, Any]) -> list[str]:
    shown = [o for o in OUTCOMES if any(c["outcome"] == o for c in report["cases"])]
    counts: dict[str, Counter[str]] = {}
    for case in report["cases"]:
        counts.setdefault(case["requirement"][0], Counter())[case["outcome"]] += 1
    lines = [f"{'family':<30}" + " ".join(f"{_SHORT[o]:>7}" for o in shown)]
    for family, title in families().items():
        if family in counts:
            row = " ".join(f"{counts[family][o] or '.':>7}" for o in shown)
            lines.append(f"{f'{family}  {title}'[:29]:<30}{row}")
    total = Counter(case["outcome"] for case in report["cases"])
    lines.append(f"{'all':<30}" + " ".join(f"{total[o]:>7}" for o in shown))
    return lines


_SHORT = {
    "pass": "pass",
    "fail": "fail",
    "disputed": "disput.",
    "unsupported": "unsupp.",
    "inconclusive": "inconcl",
    "not_run": "not run",
    "error": "error",
}


def _failures(report: Mapping[str, Any]) -> list[str]:
    bad = [c for c in report["cases"] if c["outcome"] in (FAIL, "error", "inconclusive")]
    lines: list[str] = []
    seen: set[str] = set()
    first = [c for c in bad if not (c["requirement"] in seen or seen.add(c["requirement"]))]  # type: ignore[func-returns-value]
    for case in first[:_SHOWN]:
        lines.append(f"{case['outcome'].upper()} {case['level']} {case['id']}"[:_WIDTH])
        lines += _wrapped("  " + case["message"], "  ", limit=4)
    if len(bad) > len(first[:_SHOWN]):
        lines.append(f"… and {len(bad) - len(first[:_SHOWN])} more, all in the report")
    return [*lines, ""] if lines else []


def _reading(report: Mapping[str, Any], requirement: str) -> str:
    messages = {c["message"] for c in report["cases"] if c["requirement"] == requirement}
    return "; ".join(sorted(message for message in messages if message))


def _uncovered(report: Mapping[str, Any]) -> list[str]:
    claimed = report["target"]["profiles"]
    tested = {case["requirement"] for case in report["cases"]}
    known = _with_cases()
    missing = [r.id for r in catalogue().values() if r.profile in claimed and r.id not in known]
    if not missing or not tested:
        return []
    return _wrapped("this version has no cases yet for: " + " ".join(missing), "  ")


def _with_cases() -> set[str]:
    from conformance.plan import load_cases

    return {case.requirement for case in load_cases()}


def _wrapped(text: str, indent: str, limit: int = 100) -> list[str]:
    lines = textwrap.wrap(_plain(text), _WIDTH, subsequent_indent=indent, drop_whitespace=True)
    if text.startswith("  ") and lines:
        lines[0] = "  " + lines[0].strip()
    return lines if len(lines) <= limit else [*lines[: limit - 1], indent + "…"]


def _more(count: int, what: str) -> list[str]:
    return [f"… and {count} more {what}"] if count > 0 else []


def _plain(text: str) -> str:
    """Text in printable ASCII, and our own "…": nothing that a server sent reaches the terminal
    raw, and every character is one column wide."""
    return "".join(
        c if (c.isascii() and c.isprintable()) or c == "…" else ascii(c)[1:-1] for c in text
    )
