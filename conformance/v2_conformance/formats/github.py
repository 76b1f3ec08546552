"""GitHub's step summary and annotations of a run, made from its report.

The messages quote what a server sent. None of it may become Markdown, a mention, or a command to
GitHub's runner: in Markdown every character that could mean anything is written as a number, and a
command's title and text are escaped in GitHub's way. A run's exit code does not depend on any of
this. Each text is cut, so the summary stays far below the 1 MiB that GitHub reads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from v2_conformance.formats.registry import PAGE
from v2_conformance.formats.trust import TITLE, cautions
from v2_conformance.report.document import Report
from v2_conformance.report.verdict.standing import claimed, standing
from v2_conformance.report.words import (
    ShownCause,
    headline,
    must_words,
    priced,
    shown_causes,
    unexplained,
)
from v2_conformance.terminal_safe_text import in_github_actions, on_one_line, short

# GitHub shows no more of one kind for a step.
MOST_ANNOTATIONS = 10
_MESSAGE = 300
_NAME = 120
_ABOUT = 220
_SHOWN = 10
_SEVERITY: Mapping[str, str] = {"MUST": "error", "SHOULD": "warning"}


def publish(report: Report, directory: Path | None, write: Callable[[str], None]) -> None:
    """Publish a run, whose reports are in `directory`, on GitHub Actions; anywhere else do nothing.
    `write` prints a line to standard output."""
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
    """Return `text` as inline code in ASCII, without markup, links, mentions or line breaks."""
    coded = (
        char if char.isascii() and (char.isalnum() or char in ", ") else f"&#{ord(char)};"
        for char in on_one_line(text)
    )
    return f"<code>{''.join(coded)}</code>" if text else ""


def markdown(report: Report, directory: Path | None = None) -> str:
    """The summary in Markdown: what the terminal says of a run."""
    stands = standing(report)
    causes = shown_causes(report)
    about = (claimed(report), report.suite.version, report.suite.catalogue, report.started)
    claim, version, catalogue, started = (inert(short(text, _ABOUT)) for text in about)
    lines = [
        f"### {stands.sign} V2 binary tensor data: {priced(report)}",
        "",
        f"{claim}; v2-conformance {version}, catalogue {catalogue}, {started}",
        "",
    ]
    if stands.left_out or not report.complete:
        lines += [f"{stands.left_out} planned cases did not run, so there is no verdict.", ""]
    lines += [f"**{_clip(must_words(report, causes))}**", ""]
    if causes:
        lines += [_clip(headline(causes)), "", *_list("1. ", map(_cause, causes), "causes"), ""]
    doubts = [_clip(caution.words) for caution in cautions(report)]
    if doubts:
        lines += [f"**{TITLE}**", "", *_list("- ", doubts, "such reasons"), ""]
    reasons, warnings = (
        map(_clip, unexplained(causes, untold))
        for untold in (report.verdict.reasons, report.verdict.warnings)
    )
    lines += [*_list("- ", reasons, "reasons"), *_list("- warning: ", warnings, "warnings")]
    if directory is not None:
        lines += ["", f"The full report is {_clip(str(directory / PAGE.file_name))}."]
    return "\n".join(lines) + "\n"


def annotation_lines(report: Report) -> list[str]:
    """Return at most ten workflow commands, each one line: the verdict, then the first causes. What
    was expected marks no job as wrong, not even as the verdict."""
    words = standing(report).words
    causes = shown_causes(report)
    verdict = report.verdict
    expected = report.complete and bool(causes) and all(cause.expected for cause in causes)
    severity = "warning" if verdict.good else "error"
    if expected or (verdict.good and verdict.robust):
        severity = "notice"
    about = f"{short(claimed(report), _ABOUT)}: {must_words(report, causes)}"
    lines = [_command(severity, f"V2 conformance: {words}", about)]
    for cause in causes[: MOST_ANNOTATIONS - 1]:
        kind = _SEVERITY.get(cause.first.level, "notice")
        title = f"{cause.group.grade} {cause.name}"
        if cause.expected:
            kind, title = "notice", f"expected: {title}"
        lines.append(_command(kind, title, f"{cause.first.id}: {cause.says}"))
    return lines


def _clip(text: str) -> str:
    return inert(short(text, _MESSAGE))


def _list(sign: str, items: Iterable[str], what: str) -> list[str]:
    lines = [f"{sign}{item}" for item in items]
    more = [f"{sign}and {len(lines) - _SHOWN} more {what}"] if len(lines) > _SHOWN else []
    return [*lines[:_SHOWN], *more]


def _cause(cause: ShownCause) -> str:
    known = " (expected)" if cause.expected else ""
    texts = (f"{cause.first.grade} {cause.first.id}", cause.says)
    return "<br>".join([f"{_clip(cause.words)}{known}", *(_clip(text) for text in texts if text)])


def _command(kind: str, title: str, text: str) -> str:
    title = _percent(short(on_one_line(title), _NAME)).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={title}::{_percent(short(on_one_line(text), _MESSAGE))}"


def _percent(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
