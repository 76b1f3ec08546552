"""GitHub's step summary and annotations of a run, made from its report.

The messages quote what a server sent. None of it may become Markdown, a mention, or a command to
GitHub's runner: in Markdown every character that could mean anything is written as a number, and a
command's title and text are escaped in GitHub's way. A run's exit code does not depend on any of
this. Each text is cut, so the summary stays far below the 1 MiB that GitHub reads.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from v2_conformance.formats.heat import by_grade
from v2_conformance.formats.outcomes_shown import LOOKS, WORST_FIRST
from v2_conformance.formats.registry import PAGE
from v2_conformance.formats.trust import TITLE, cautions
from v2_conformance.report.document import CaseResult, Report, RequirementResult
from v2_conformance.report.verdict.judged import by_level, judged
from v2_conformance.report.verdict.standing import claimed, standing
from v2_conformance.report.words import ShownCause, headline, must_words, priced, shown_causes
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import GRADES
from v2_conformance.terminal_safe_text import in_github_actions
from v2_conformance.visible_text import on_one_line, short

# GitHub shows no more of one kind for a step.
MOST_ANNOTATIONS = 10
_MESSAGE = 300
_NAME = 120
_ABOUT = 220
_SHOWN = 10
_COUNTED = ("MUST", "SHOULD")


class Trouble(NamedTuple):
    """A requirement that counts and does not hold, and its first case with the same outcome."""

    requirement: RequirementResult
    case: CaseResult | None

    @property
    def expected(self) -> bool:
        """True if the case failed as an expectation file says."""
        return self.case is not None and self.case.expected is not None


def publish(report: Report, directory: Path | None, write: Callable[[str], None]) -> None:
    """Publish a run on GitHub Actions; anywhere else do nothing.

    `directory` has the reports, if any were written; `write` prints a line to standard output.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        try:
            with open(path, "a", encoding="utf-8") as file:
                file.write(markdown(report, directory) + "\n")
        except OSError as error:
            write(f"v2-conformance: the step summary was not written: {error.strerror}")
    if in_github_actions():
        for line in annotation_lines(report):
            write(line)


def inert(text: str) -> str:
    """`text` as inline code in ASCII: no markup, link, mention, table cell or line break in it.
    "" stays "".
    """
    coded = (
        char if char.isascii() and (char.isalnum() or char in ", ") else f"&#{ord(char)};"
        for char in on_one_line(text)
    )
    return f"<code>{''.join(coded)}</code>" if text else ""


def markdown(report: Report, directory: Path | None = None) -> str:
    """The summary in Markdown: what the terminal says of a run."""
    found = standing(report)
    causes = shown_causes(report)
    about = (claimed(report), report.suite.version, report.suite.catalogue, report.started)
    claim, version, catalogue, started = (inert(short(text, _ABOUT)) for text in about)
    lines = [
        f"### {found.sign} V2 binary tensor data: {priced(report)}",
        "",
        f"{claim}; v2-conformance {version}, catalogue {catalogue}, {started}",
        "",
    ]
    if found.left_out or not report.complete:
        lines += [f"{found.left_out} planned cases did not run, so there is no verdict.", ""]
    lines += [f"**{_clip(must_words(report, causes))}**", ""]
    if causes:
        lines += [_clip(headline(causes)), "", *_list("1. ", map(_cause, causes), "causes"), ""]
    doubts = [_clip(caution.words) for caution in cautions(report)]
    if doubts:
        lines += [f"**{TITLE}**", "", *_list("- ", doubts, "such reasons"), ""]
    verdict = report.verdict
    warnings = [one for one in verdict.warnings if one not in verdict.reasons]
    lines += [*_levels(report), "", *_list("- ", map(_clip, verdict.reasons), "reasons")]
    lines += [*_list("- warning: ", map(_clip, warnings), "warnings")]
    if directory is not None:
        lines += ["", f"The full report is {_clip(str(directory / PAGE.file_name))}."]
    return "\n".join(lines) + "\n"


def annotation_lines(report: Report) -> list[str]:
    """At most ten workflow commands, each one line: the verdict, then what fails.

    What was expected marks no job as wrong, not even as the verdict.
    """
    words = standing(report).words
    troubles = _troubles(report)
    counts = Counter((found.requirement.grade, found.requirement.outcome) for found in troubles)
    fails = [f"{count} {level} {LOOKS[o].label}" for (level, o), count in counts.items()]
    about = f"{short(claimed(report), _ABOUT)}: requirements: {', '.join(fails) or 'none fails'}"
    known = report.complete and bool(troubles) and all(trouble.expected for trouble in troubles)
    severity = "warning" if words == "conformant, not robust" else "error"
    if known or words in ("conformant, robust", "consistent"):
        severity = "notice"
    lines = [_command(severity, f"V2 conformance: {words}", about)]
    for trouble in troubles[: MOST_ANNOTATIONS - 1]:
        row, case = trouble.requirement, trouble.case
        title = f"{row.grade} {row.id} {row.title}"
        text = LOOKS[row.outcome].label if case is None else f"{case.id}: {case.message}"
        kind = "error" if row.level == "MUST" else "warning"
        if trouble.expected:
            kind, title = "notice", f"expected: {title}"
        lines.append(_command(kind, title, text))
    return lines


def _clip(text: str) -> str:
    return inert(short(text, _MESSAGE))


def _list(sign: str, items: Iterable[str], what: str) -> list[str]:
    lines = [f"{sign}{item}" for item in items]
    more = [f"{sign}and {len(lines) - _SHOWN} more {what}"] if len(lines) > _SHOWN else []
    return [*lines[:_SHOWN], *more]


def _cause(cause: ShownCause) -> str:
    """A cause and the case to look at first."""
    known = " (expected)" if cause.expected else ""
    texts = (f"{cause.first.grade} {cause.first.id}", cause.says, cause.hint)
    return "<br>".join([f"{_clip(cause.words)}{known}", *(_clip(text) for text in texts if text)])


def _levels(report: Report) -> list[str]:
    """Requirements by level and outcome, as a table."""
    rows = by_level(report)
    shown = [outcome for outcome in Outcome if any(row.outcome is outcome for row in rows)]
    if not shown:
        return ["No requirement was tested."]
    lines = ["| requirements | " + " | ".join(LOOKS[o].label for o in shown) + " |"]
    lines.append("|---|" + "--:|" * len(shown))
    for level, counts in by_grade(rows).items():
        lines.append(f"| {level} | " + " | ".join(str(counts[o]) for o in shown) + " |")
    return lines


def _troubles(report: Report) -> Sequence[Trouble]:
    """The requirements that count and do not hold, the strictest first, with their first case.

    A requirement none of whose cases was to run is skipped: this was a partial run. A server that
    leaves the extension out has none, see `shown_causes`.
    """
    if not report.verdict.implemented:
        return []
    first: dict[tuple[str, Outcome], CaseResult] = {}
    # Unexpected failures come before expected ones, then the gravest.
    order = sorted(report.cases, key=lambda c: (c.expected is not None, GRADES.index(c.grade)))
    for case in order:
        first.setdefault((case.requirement, case.outcome), case)
    rows = [
        row
        for row in judged(report)
        if not row.outcome.harmless
        and row.cases
        and (row.level in _COUNTED or row.outcome is Outcome.ERROR)
    ]
    rows.sort(key=lambda row: (GRADES.index(row.grade), WORST_FIRST.index(row.outcome)))
    return [Trouble(row, first.get((row.id, row.outcome))) for row in rows]


def _command(kind: str, title: str, text: str) -> str:
    """A workflow command, with what would end its parts escaped in GitHub's way."""
    title = _percent(short(on_one_line(title), _NAME)).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={title}::{_percent(short(on_one_line(text), _MESSAGE))}"


def _percent(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
