"""The changes between two reports, in lines for a terminal or in Markdown for a comment."""

from __future__ import annotations

from collections.abc import Iterator

from v2_conformance.formats.github import inert
from v2_conformance.report.diff import CaseChange, ChangeKind, ReportDiff
from v2_conformance.report.document import RequirementResult
from v2_conformance.suite.requirements import LEVELS, grade
from v2_conformance.terminal_safe_text import wrapped

_SHOWN = 50
_MOST_WORDS = 160
_COMMENT = 60_000  # GitHub refuses comments of 65,536 characters

_Changes = tuple[str, list[tuple[str, list[str]]]]
"""Changes of one kind: its title, and a line for each, with remarks on it."""


def as_text(diff: ReportDiff) -> Iterator[str]:
    """Yield lines that fit the terminal, in printable ASCII."""
    for note in diff.notes:
        yield from wrapped(note, "  ")
    yield f"verdict: {_to(*diff.verdict)}"
    yield _counts(diff)
    for title, rows in _changes(diff):
        yield from ("", title)
        for row, remarks in rows[:_SHOWN]:
            yield from wrapped(row, "      ", first="  ")
            for remark in remarks:
                yield from wrapped(remark, "    ", 4, first="    ")
        if len(rows) > _SHOWN:
            yield f"  … and {len(rows) - _SHOWN} more"


def as_markdown(diff: ReportDiff) -> Iterator[str]:
    """Yield Markdown, short enough for a comment on GitHub, with a report's text inert."""
    length = 0
    for line in _markdown(diff):
        length += len(line) + 1
        if length > _COMMENT:
            yield from ("", "… the rest is too long for a comment")
            return
        yield line


def _markdown(diff: ReportDiff) -> Iterator[str]:
    yield from (f"### V2 conformance: {_to(*diff.verdict)}", "", _counts(diff), "")
    for note in diff.notes:
        yield f"- {inert(note)}"
    for title, rows in _changes(diff):
        yield from ("", f"#### {title}", "")
        for row, remarks in rows[:_SHOWN]:
            yield "- " + "<br>".join(map(inert, (row, *remarks)))
        if len(rows) > _SHOWN:
            yield from ("", f"… and {len(rows) - _SHOWN} more")


def _to(before: str, after: str) -> str:
    return f"{after}, as before" if before == after else f"{before} -> {after}"


def _counts(diff: ReportDiff) -> str:
    counts = ", ".join(f"{len(diff.of(kind))} {diff.name(kind)}" for kind in ChangeKind)
    return f"{counts}, {diff.same} unchanged"


def _changes(diff: ReportDiff) -> Iterator[_Changes]:
    if diff.requirements:
        yield "Requirements", [(_requirement(*rows), []) for rows in diff.requirements]
    for kind in ChangeKind:
        cases = sorted(diff.of(kind), key=lambda one: (not one.worse, LEVELS.index(one.level)))
        if cases:
            yield diff.name(kind).capitalize(), [_case(change) for change in cases]


def _requirement(*rows: RequirementResult | None) -> str:
    """Return how a requirement changed: its outcome, its grade, or both."""
    present = [row for row in rows if row is not None]
    grades = " -> ".join(dict.fromkeys(row.grade for row in present))
    outcomes = _to(*("none" if row is None else row.outcome for row in rows))
    return f"{grades} {present[0].id}: {outcomes}"


def _case(change: CaseChange) -> tuple[str, list[str]]:
    """Return a change with the remarks that the case itself changed, and its newer cause."""
    outcomes = " -> ".join(filter(None, (change.before, change.after)))
    if change.before is change.after:
        outcomes = f"{change.after}, for another reason"
    remarks = ["the case itself changed"] if change.other_case else []
    words = " ".join(change.words.split())[:_MOST_WORDS]
    if change.after is not None and words:
        remarks.append(words)
    return f"{grade(change.level, change.blocks)} {change.id}: {outcomes}", remarks
