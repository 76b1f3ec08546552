"""What a CI service is told of a run: GitHub's step summary and annotations, from the report.

The messages quote what a server sent. None of it may become Markdown, a mention, or a command to
GitHub's runner, and a run's exit code does not depend on any of this.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from v2_conformance.judging.judge import ERROR, FAIL, INCONCLUSIVE, NOT_RUN, OUTCOMES
from v2_conformance.report.annotate import visible
from v2_conformance.report.recorder import PAGE
from v2_conformance.report.standing import (
    SIGNS,
    WORDS,
    Standing,
    profiles,
    server_name,
    short,
    standing,
)
from v2_conformance.suite.requirements import LEVELS
from v2_conformance.terminal_safe_text import in_github_actions

# GitHub drops a step's summary of more than 1 MiB; a step may run this command more than once.
MOST_BYTES = 1_000_000
_OUR_BYTES = 200_000
# GitHub shows no more of one kind for a step.
MOST_ANNOTATIONS = 10
_MESSAGE = 300
_NAME = 120
_REASONS = 10
_BAD = (FAIL, ERROR, INCONCLUSIVE, NOT_RUN)
_COUNTED = ("MUST", "SHOULD")


def publish(
    report: Mapping[str, Any], directory: Path | None, write: Callable[[str], None]
) -> None:
    """Tell GitHub Actions of a run, where it reads; elsewhere do nothing.

    `directory` has the reports, if any were written; `write` prints a line to standard output.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        problem = _append(Path(path), markdown(report, directory))
        if problem:
            write(f"v2-conformance: no step summary: {problem}")
    if in_github_actions():
        for line in annotation_lines(report):
            write(line)


def markdown(report: Mapping[str, Any], directory: Path | None = None) -> str:
    """The summary in Markdown, of at most 200 000 bytes."""
    found = standing(report)
    suite = report["suite"]
    lines = [
        f"### {found.sign} V2 binary tensor data: {found.words}",
        "",
        f"{escaped(server_name(report))}, profiles {escaped(short(profiles(report), _NAME))}; "
        f"v2-conformance {escaped(short(suite['version'], _NAME))}, catalogue "
        f"{escaped(short(suite['catalogue'], _NAME))}, {escaped(short(report['started'], _NAME))}",
        "",
    ]
    if found.left_out or not report["complete"]:
        lines += [f"{found.left_out} planned cases did not run: this is no verdict.", ""]
    lines += [*_levels(report), ""]
    lines += [f"- {escaped(short(r, _MESSAGE))}" for r in report["verdict"]["reasons"][:_REASONS]]
    lines += _more(len(report["verdict"]["reasons"]) - _REASONS, "- and {} more reasons")
    bad = _bad(report)
    if bad:
        lines += ["", "| | level | requirement | first case, and what came of it |"]
        lines += ["|---|---|---|---|"]
    size = sum(len(line.encode()) + 1 for line in lines)
    for number, (row, case) in enumerate(bad):
        line = _table_row(row, case)
        size += len(line.encode()) + 1
        if size > _OUR_BYTES - 500:
            lines += ["", *_more(len(bad) - number, "and {} more requirements")]
            break
        lines.append(line)
    if directory is not None:
        lines += ["", f"All of it is in {escaped(short(str(directory / PAGE), _MESSAGE))}."]
    return "\n".join(lines) + "\n"


def annotation_lines(report: Mapping[str, Any]) -> list[str]:
    """At most ten workflow commands, each one line: the verdict, then what fails."""
    found = standing(report)
    bad = _bad(report)
    lines = [_command(_severity(found), f"V2 conformance: {found.words}", _in_short(report, bad))]
    for row, case in bad[: MOST_ANNOTATIONS - 1]:
        title = f"{row['level']} {row['id']} {row.get('title', '')}"
        text = _outcome(row["outcome"])
        kind = "error" if row["level"] == "MUST" else "warning"
        if case is not None:
            text = f"{case['id']}: {case['message']}"
        if case is not None and "expected" in case:
            kind, title = "notice", f"expected: {title}"
        lines.append(_command(kind, title, text))
    return lines


def escaped(text: str) -> str:
    """Text as inline code in Markdown and HTML: no markup, link, mention or line break in it."""
    coded = "".join(c if c.isalnum() or c in ", " else f"&#{ord(c)};" for c in _one_line(text))
    return f"<code>{coded}</code>"


def _one_line(text: str) -> str:
    return visible(text).replace("\n", r"\n").replace("\t", r"\t")


def _append(path: Path, text: str) -> str | None:
    """Append `text` where it fits; what went wrong, in words."""
    try:
        with path.open("a", encoding="utf-8") as file:
            if file.tell() + len(text.encode()) > MOST_BYTES:
                return "the step has written as much as GitHub reads"
            file.write(text + "\n")
    except OSError as error:
        return error.strerror or "the file cannot be written"
    return None


def _levels(report: Mapping[str, Any]) -> list[str]:
    """Requirements by level and outcome, as a table."""
    rows = report["requirements"]
    shown = [outcome for outcome in OUTCOMES if any(row["outcome"] == outcome for row in rows)]
    if not shown:
        return ["No requirement was tested."]
    lines = ["| requirements | " + " | ".join(WORDS.get(o, o) for o in shown) + " |"]
    lines.append("|---|" + "--:|" * len(shown))
    for level in LEVELS:
        counts = Counter(row["outcome"] for row in rows if row["level"] == level)
        if counts:
            lines.append(f"| {level} | " + " | ".join(str(counts[o]) for o in shown) + " |")
    return lines


_Bad = tuple[Mapping[str, Any], Mapping[str, Any] | None]


def _bad(report: Mapping[str, Any]) -> list[_Bad]:
    """The requirements that count and do not hold, the strictest first, with their first case.

    Those of which nothing was to run are no news: the run was a part of the whole.
    """
    first: dict[tuple[str, str], Mapping[str, Any]] = {}
    # What nobody expected comes before what somebody did.
    for case in sorted(report["cases"], key=lambda case: "expected" in case):
        first.setdefault((case["requirement"], case["outcome"]), case)
    rows = [
        row
        for row in report["requirements"]
        if row["outcome"] in _BAD
        and row["cases"]
        and (row["level"] in _COUNTED or row["outcome"] == ERROR)
    ]
    rows.sort(key=lambda row: (LEVELS.index(row["level"]), _BAD.index(row["outcome"])))
    return [(row, first.get((row["id"], row["outcome"]))) for row in rows]


def _table_row(row: Mapping[str, Any], case: Mapping[str, Any] | None) -> str:
    what = f"{row['id']} {row.get('title', '')}".strip()
    cells = [
        f"{SIGNS[row['outcome']]} {_outcome(row['outcome'])}" + _known(case),
        row["level"],
        escaped(short(what, _MESSAGE)),
        "" if case is None else f"{_clip(case['id'])}<br>{_clip(case['message'])}",
    ]
    return "| " + " | ".join(cells) + " |"


def _known(case: Mapping[str, Any] | None) -> str:
    return ", as expected" if case is not None and "expected" in case else ""


def _clip(text: str) -> str:
    return escaped(short(text, _MESSAGE))


def _outcome(outcome: str) -> str:
    return WORDS.get(outcome, outcome)


def _in_short(report: Mapping[str, Any], bad: Sequence[_Bad]) -> str:
    counts = Counter((row["level"], row["outcome"]) for row, _ in bad)
    parts = [f"{count} {level} {_outcome(outcome)}" for (level, outcome), count in counts.items()]
    about = f"{server_name(report)}, profiles {short(profiles(report), _NAME)}"
    return f"{about}: requirements: {', '.join(parts) or 'none fails'}"


def _severity(found: Standing) -> str:
    if found.words == "conformant, robust":
        return "notice"
    return "warning" if found.words == "conformant, not robust" else "error"


def _command(kind: str, title: str, text: str) -> str:
    """A workflow command, with what would end its parts escaped in GitHub's way."""
    title = _percent(short(_one_line(title), _NAME)).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={title}::{_percent(short(_one_line(text), _MESSAGE))}"


def _percent(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _more(count: int, words: str) -> list[str]:
    return [words.format(count)] if count > 0 else []
