"""GitHub's step summary and annotations of a run, made from its report.

The messages quote what a server sent. None of it may become Markdown, a mention, or a command to
GitHub's runner, and a run's exit code does not depend on any of this.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from v2_conformance.formats.ci.markdown import inert
from v2_conformance.formats.heat import by_grade
from v2_conformance.formats.outcomes_shown import LOOKS, WORST_FIRST
from v2_conformance.formats.registry import PAGE, Check, unchecked
from v2_conformance.formats.trust import TITLE, cautions
from v2_conformance.report.document import CaseResult, Report, RequirementResult
from v2_conformance.report.verdict.judged import by_level, judged
from v2_conformance.report.verdict.standing import Standing, claimed, standing
from v2_conformance.report.words import (
    ShownCause,
    headline,
    must_words,
    priced,
    shown_causes,
)
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import GRADES
from v2_conformance.terminal_safe_text import in_github_actions
from v2_conformance.visible_text import on_one_line, short

# GitHub drops a step's summary of more than 1 MiB; a step may run this command more than once.
MOST_BYTES = 1_000_000
_OUR_BYTES = 200_000
# GitHub shows no more of one kind for a step.
MOST_ANNOTATIONS = 10
_MESSAGE = 300
_NAME = 120
_ABOUT = 220
_REASONS = 10
_COUNTED = ("MUST", "SHOULD")


@dataclass(frozen=True)
class Trouble:
    """A requirement that counts and does not hold, and its first case with the same outcome."""

    requirement: RequirementResult
    case: CaseResult | None

    @property
    def expected(self) -> bool:
        """True if the case failed as an expectation file says."""
        return self.case is not None and self.case.expected is not None


def publish(
    report: Report,
    directory: Path | None,
    write: Callable[[str], None],
    *,
    check: Check = unchecked,
) -> None:
    """Publish a run on GitHub Actions; anywhere else do nothing.

    `directory` has the reports, if any were written; `write` prints a line to standard output.
    `check` is called as that of `write_formats` is.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        text = markdown(report, directory)
        check(text, "the step summary")
        problem = _append(Path(path), text)
        if problem:
            write(f"v2-conformance: the step summary was not written: {problem}")
    if in_github_actions():
        lines = list(annotation_lines(report))
        check("\n".join(lines), "the annotations")
        for line in lines:
            write(line)


def markdown(report: Report, directory: Path | None = None) -> str:
    """The summary in Markdown, of at most 200 000 bytes."""
    found = standing(report)
    suite, reasons = report.suite, report.verdict.reasons
    lines = [
        f"### {found.sign} V2 binary tensor data: {priced(report)}",
        "",
        f"{inert(short(claimed(report), _ABOUT))}; "
        f"v2-conformance {inert(short(suite.version, _NAME))}, catalogue "
        f"{inert(short(suite.catalogue, _NAME))}, {inert(short(report.started, _NAME))}",
        "",
    ]
    if found.left_out or not report.complete:
        lines += [f"{found.left_out} planned cases did not run, so there is no verdict.", ""]
    causes = shown_causes(report)
    lines += [f"**{_clip(must_words(report, causes))}**", *_causes(causes), "", *_trust(report)]
    lines += [*_levels(report), ""]
    lines += [f"- {inert(short(reason, _MESSAGE))}" for reason in reasons[:_REASONS]]
    lines += _more(len(reasons) - _REASONS, "- and {} more reasons")
    troubles = _troubles(report)
    if troubles:
        lines += ["", "| outcome | level | requirement | first case and its message |"]
        lines += ["|---|---|---|---|"]
    size = sum(len(line.encode()) + 1 for line in lines)
    for number, trouble in enumerate(troubles):
        line = _table_row(trouble)
        size += len(line.encode()) + 1
        if size > _OUR_BYTES - 500:
            lines += ["", *_more(len(troubles) - number, "and {} more requirements")]
            break
        lines.append(line)
    if directory is not None:
        page = inert(short(str(directory / PAGE.file_name), _MESSAGE))
        lines += ["", f"The full report is {page}."]
    return "\n".join(lines) + "\n"


def _causes(causes: Sequence[ShownCause]) -> list[str]:
    """The causes, each with the case to look at first."""
    if not causes:
        return []
    lines = ["", _clip(headline(causes)), ""]
    for cause in causes[:_REASONS]:
        known = " (expected)" if cause.expected else ""
        case = f"{cause.first.grade} {cause.first.id}"
        lines.append(f"1. {_clip(cause.words)}{known}<br>{_clip(case)}")
        lines[-1] += "".join(f"<br>{_clip(text)}" for text in (cause.says, cause.hint) if text)
    return [*lines, *_more(len(causes) - _REASONS, "1. and {} more causes")]


def _trust(report: Report) -> list[str]:
    found = cautions(report)
    if not found:
        return []
    lines = [f"**{TITLE}**", "", *(f"- {_clip(caution.words)}" for caution in found[:_REASONS])]
    return [*lines, *_more(len(found) - _REASONS, "- and {} more"), ""]


def annotation_lines(report: Report) -> list[str]:
    """At most ten workflow commands, each one line: the verdict, then what fails.

    What was expected marks no job as wrong, not even as the verdict.
    """
    found = standing(report)
    troubles = _troubles(report)
    about = _in_short(report, troubles)
    known = report.complete and bool(troubles) and all(trouble.expected for trouble in troubles)
    severity = "notice" if known else _severity(found)
    lines = [_command(severity, f"V2 conformance: {found.words}", about)]
    for trouble in troubles[: MOST_ANNOTATIONS - 1]:
        row, case = trouble.requirement, trouble.case
        title = f"{row.grade} {row.id} {row.title}"
        text = LOOKS[row.outcome].label if case is None else f"{case.id}: {case.message}"
        kind = "error" if row.level == "MUST" else "warning"
        if trouble.expected:
            kind, title = "notice", f"expected: {title}"
        lines.append(_command(kind, title, text))
    return lines


def _append(path: Path, text: str) -> str | None:
    """Append `text` if it fits; what went wrong, in words."""
    try:
        with path.open("a", encoding="utf-8") as file:
            if file.tell() + len(text.encode()) > MOST_BYTES:
                return "the step has already written as much as GitHub reads"
            file.write(text + "\n")
    except OSError as error:
        return error.strerror or "the file cannot be written"
    return None


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


def _troubles(report: Report) -> list[Trouble]:
    """The requirements that count and do not hold, the strictest first, with their first case.

    A requirement none of whose cases was to run is no trouble: the run was a part of the whole. A
    server that leaves the extension out has none, see `shown_causes`.
    """
    if not report.verdict.implemented:
        return []
    first: dict[tuple[str, Outcome], CaseResult] = {}
    # A failure that nobody expected comes before one that somebody did, then the gravest.
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


def _table_row(trouble: Trouble) -> str:
    row, case = trouble.requirement, trouble.case
    look = LOOKS[row.outcome]
    cells = [
        f"{look.sign} {look.label}" + (", as expected" if trouble.expected else ""),
        row.grade,
        inert(short(f"{row.id} {row.title}".strip(), _MESSAGE)),
        "" if case is None else f"{_clip(case.id)}<br>{_clip(case.message)}",
    ]
    return "| " + " | ".join(cells) + " |"


def _clip(text: str) -> str:
    return inert(short(text, _MESSAGE))


def _in_short(report: Report, troubles: Sequence[Trouble]) -> str:
    counts = Counter((found.requirement.grade, found.requirement.outcome) for found in troubles)
    words = [f"{count} {level} {LOOKS[o].label}" for (level, o), count in counts.items()]
    about = short(claimed(report), _ABOUT)
    return f"{about}: requirements: {', '.join(words) or 'none fails'}"


def _severity(found: Standing) -> str:
    if found.words in ("conformant, robust", "consistent"):
        return "notice"
    return "warning" if found.words == "conformant, not robust" else "error"


def _command(kind: str, title: str, text: str) -> str:
    """A workflow command, with what would end its parts escaped in GitHub's way."""
    title = _percent(short(on_one_line(title), _NAME)).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={title}::{_percent(short(on_one_line(text), _MESSAGE))}"


def _percent(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _more(count: int, words: str) -> list[str]:
    return [words.format(count)] if count > 0 else []
