"""The changes between two reports, in 80 columns for a terminal or in Markdown for a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from v2_conformance.formats.ci.markdown import inert
from v2_conformance.report.comparing.diff import (
    CaseChange,
    ChangeKind,
    ReportDiff,
    RequirementChange,
)
from v2_conformance.suite.requirements import LEVELS
from v2_conformance.terminal_safe_text import wrapped

_SHOWN = 50
_MOST_WORDS = 160
_COMMENT = 60_000  # GitHub refuses comments of 65,536 characters
_OTHER_CASE = "the case itself changed"


def as_text(diff: ReportDiff) -> Iterator[str]:
    """Lines of at most 80 columns, in printable ASCII."""
    for note in diff.notes:
        yield from wrapped(note, "  ")
    yield f"verdict: {_verdict(diff)}"
    yield _counts(diff)
    if diff.requirements:
        yield from ("", "Requirements")
    for row in diff.requirements[:_SHOWN]:
        yield from wrapped(
            f"{row.id} {row.before or 'none'} -> {row.after or 'none'}", "      ", first="  "
        )
    yield from _rest(diff.requirements)
    for kind in ChangeKind:
        changes = _sorted(diff.of(kind))
        if changes:
            yield from ("", diff.name(kind).capitalize())
        for change in changes[:_SHOWN]:
            yield from wrapped(
                f"{change.grade} {change.id}: {_outcomes(change)}", "      ", first="  "
            )
            for text in _remarks(change):
                yield from wrapped(text, "    ", 4, first="    ")
        yield from _rest(changes)


def as_markdown(diff: ReportDiff) -> Iterator[str]:
    """Markdown of GitHub's kind, short enough for a comment there; text from the reports is inert
    in it."""
    length = 0
    for line in _markdown(diff):
        length += len(line) + 1
        if length > _COMMENT:
            yield from ("", "… the rest is too long for a comment")
            return
        yield line


def _markdown(diff: ReportDiff) -> Iterator[str]:
    yield f"### V2 conformance: {_verdict(diff)}"
    yield ""
    yield _counts(diff)
    yield ""
    for note in diff.notes:
        yield f"- {inert(note)}"
    if diff.requirements:
        yield from ("", "| requirement | before | after |", "|---|---|---|")
    for row in diff.requirements[:_SHOWN]:
        named = inert(f"{row.id} {row.title}".strip())
        yield f"| {named} | {inert(row.before)} | {inert(row.after)} |"
    yield from _rest_of_table(diff.requirements)
    for kind in ChangeKind:
        changes = _sorted(diff.of(kind))
        if not changes:
            continue
        yield from ("", f"#### {diff.name(kind).capitalize()}", "")
        yield from ("| case | level | before | after | message |", "|---|---|---|---|---|")
        for change in changes[:_SHOWN]:
            words = "; ".join(_remarks(change))
            cells = (change.id, change.grade, change.before or "", change.after or "", words)
            yield f"| {' | '.join(map(inert, cells))} |"
        yield from _rest_of_table(changes)


def _verdict(diff: ReportDiff) -> str:
    before, after = diff.verdict
    return f"{after}, as before" if before == after else f"{before} -> {after}"


def _counts(diff: ReportDiff) -> str:
    counts = ", ".join(f"{len(diff.of(kind))} {diff.name(kind)}" for kind in ChangeKind)
    return f"{counts}, {diff.same} unchanged"


def _sorted(changes: Sequence[CaseChange]) -> list[CaseChange]:
    """Return the changes, those that count first."""
    return sorted(changes, key=lambda change: (not change.worse, LEVELS.index(change.level)))


def _outcomes(change: CaseChange) -> str:
    if change.before is None or change.after is None:
        return str(change.before or change.after)
    if change.before is change.after:
        return f"{change.after}, for another reason"
    return f"{change.before} -> {change.after}"


def _remarks(change: CaseChange) -> Iterator[str]:
    """Yield that the case itself changed, and its newer cause, unless it was removed."""
    if change.other_case:
        yield _OTHER_CASE
    words = " ".join(change.words.split())[:_MOST_WORDS]
    if change.after is not None and words:
        yield words


def _rest(rows: Sequence[CaseChange] | Sequence[RequirementChange]) -> Iterator[str]:
    if len(rows) > _SHOWN:
        yield f"  … and {len(rows) - _SHOWN} more"


def _rest_of_table(rows: Sequence[CaseChange] | Sequence[RequirementChange]) -> Iterator[str]:
    if len(rows) > _SHOWN:
        yield from ("", f"… and {len(rows) - _SHOWN} more")
