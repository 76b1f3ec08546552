"""What a run shows on the terminal: a progress bar or plain lines, and a summary of 80 columns."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from v2_conformance.engine.engine import CaseFinished
from v2_conformance.judging.judge import FAIL, OUTCOMES
from v2_conformance.report.expectations import UNWRITTEN, Judgement
from v2_conformance.report.extension import extension
from v2_conformance.report.recorder import PAGE
from v2_conformance.report.summary import verdict_words
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.requirements import catalogue, families
from v2_conformance.terminal_safe_text import WIDTH, plain, wrapped

if TYPE_CHECKING:
    from rich.progress import Progress

_LINES_EVERY = 100  # cases between two lines in a log
_SHOWN = 10
_PROBLEMS = 30


class Reporter:
    """Shows a run as it goes: a bar on a terminal, a line now and then in a log."""

    def __init__(self, total: int, url: str) -> None:
        self._url = url
        self._failed = 0
        self._bar = _bar(total) if sys.stderr.isatty() else None

    def __enter__(self) -> Reporter:
        print(f"testing {self._url}", file=sys.stderr)
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, event: CaseFinished) -> None:
        """Take one result into account."""
        if event.result.outcome == FAIL and event.result.case.level != "MAY":
            self._failed += 1
        if self._bar is not None:
            text = f"testing, {self._failed} failed" if self._failed else "testing"
            self._bar.update(self._bar.task_ids[0], completed=event.number, description=text)
        elif event.number % _LINES_EVERY == 0 or event.number == event.total:
            print(f"{event.number}/{event.total} cases, {self._failed} failed", file=sys.stderr)


def _bar(total: int) -> Progress:
    # Takes its time to import, and a log needs none of it.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, highlight=False),
        transient=True,
    )
    bar.add_task("testing", total=total)
    return bar


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
        lines += wrapped(f"blocks: {reason}", "        ")
    lines += _more(len(verdict["reasons"]) - _SHOWN * 2, "reasons")
    warnings = [w for w in verdict.get("warnings", ()) if w not in verdict["reasons"]]
    if warnings:
        lines += wrapped("warnings: " + "; ".join(warnings[:_SHOWN]), "          ")
        lines += _more(len(warnings) - _SHOWN, "warnings")
    for row in report["requirements"]:
        if row["outcome"] == "disputed":
            lines += wrapped(f"disputed {row['id']}: {_reading(report, row['id'])}", "  ")
    left_out = [row["id"] for row in report["requirements"] if row["outcome"] == "unsupported"]
    if left_out:
        lines += wrapped("not tested, as declared unsupported: " + " ".join(left_out), "  ")
    lines += _uncovered(report)
    lines += wrapped(extension(report).words, "  ")
    lines.append("")
    name = f"{plain(server['name'])} {plain(server['version'])}"
    profiles = ", ".join(report["target"]["profiles"])
    unsupported = report["target"].get("unsupported", [])
    if unsupported:
        profiles += f", without {', '.join(unsupported)}"
    words = verdict_words(verdict).upper()
    lines += wrapped(f"{name}, profiles {profiles}: {words}", "  ")
    lines.append(f"report: {directory / PAGE}")
    return lines


def expectation_lines(name: str, judged: Judgement, *, conformant: bool) -> list[str]:
    """What an expectation file says of a run: every problem in one line, then the conclusion."""
    lines = ["", *problem_lines(name, judged)]
    for case in judged.unexpected[:_PROBLEMS]:
        lines.append(plain(f"unexpected: {case['outcome'].upper()} {case['level']} {case['id']}"))
    lines += _more(len(judged.unexpected) - _PROBLEMS, "unexpected failures")
    words = "conformant" if conformant else "not conformant"
    return [*lines, f"{words}; {_as_expected(judged)}"]


def problem_lines(name: str, judged: Judgement) -> list[str]:
    """What has to be put right in an expectation file, each in one line."""
    lines = []
    for problem in judged.problems[:_PROBLEMS]:
        what = f"{problem.entry.what}: "
        text = problem.text.removeprefix(what)
        lines.append(plain(" ".join(f"{name}:{problem.entry.line}: {what}{text}".split())))
    lines += _more(len(judged.problems) - _PROBLEMS, "expectations that do not hold")
    unwritten = sum(entry.reason.startswith(UNWRITTEN) for entry in judged.entries)
    if unwritten:
        lines.append(f"{plain(name)}: reasons that still begin with {UNWRITTEN}: {unwritten}")
    if judged.untried:
        lines.append(
            f"{plain(name)}: entries that were not tried in this run: {len(judged.untried)}"
        )
    return lines


def _as_expected(judged: Judgement) -> str:
    number = len(judged.expected)
    if not judged.good:
        return (
            f"{len(judged.problems)} expectations do not hold, {len(judged.unexpected)} failures "
            f"are unexpected, {number} are expected"
        )
    if not number:
        return "no failure was expected, and none that counts came"
    warned = f" ({len(judged.tolerated)} that do not count were not)" if judged.tolerated else ""
    all_of_them = "the failure was" if number == 1 else f"all {number} failures were"
    return f"{all_of_them} expected{warned}"


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
    bad.sort(key=lambda case: "expected" in case)  # what nobody knows yet comes first
    lines: list[str] = []
    seen: set[str] = set()
    first = [c for c in bad if not (c["requirement"] in seen or seen.add(c["requirement"]))]  # type: ignore[func-returns-value]
    for case in first[:_SHOWN]:
        known = case.get("expected")
        mark = "expected " if known else ""
        lines.append(f"{mark}{case['outcome'].upper()} {case['level']} {case['id']}"[:WIDTH])
        lines += wrapped("  " + (known["reason"] if known else case["message"]), "  ", limit=4)
    if len(bad) > len(first[:_SHOWN]):
        lines.append(f"… and {len(bad) - len(first[:_SHOWN])} more, all in the report")
    return [*lines, ""] if lines else []


def _reading(report: Mapping[str, Any], requirement: str) -> str:
    messages = {c["message"] for c in report["cases"] if c["requirement"] == requirement}
    return "; ".join(sorted(message for message in messages if message))


def _uncovered(report: Mapping[str, Any]) -> list[str]:
    claimed = report["target"]["profiles"]
    tested = {case["requirement"] for case in report["cases"]}
    known = {case.requirement for case in suite_cases(large=True)}
    missing = [r.id for r in catalogue().values() if r.profile in claimed and r.id not in known]
    if not missing or not tested:
        return []
    return wrapped("not tested, for want of a case: " + " ".join(missing), "  ")


def _more(count: int, what: str) -> list[str]:
    return [f"… and {count} more {what}"] if count > 0 else []
