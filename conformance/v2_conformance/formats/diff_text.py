"""A difference of two reports in words: 80 columns for a terminal, Markdown for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from v2_conformance.report.diff import KINDS, Change, Difference, RequirementChange
from v2_conformance.terminal_safe_text import finding, plain, wrapped

_SHOWN = 50
_MESSAGE = 160
_COMMENT = 60_000  # GitHub refuses comments of 65,536 characters
_TITLES = {
    "broken": "Broken",
    "fixed": "Fixed",
    "new": "New cases",
    "gone": "Cases that are gone",
    "changed": "Changed otherwise",
}
_OTHER_CASE = "the case itself changed"
_UNKNOWN_CASE = "whether the case itself changed cannot be told"
_MARKUP = re.compile(r"[^A-Za-z0-9 ,;/()='-]")


def as_text(difference: Difference) -> Iterator[str]:
    """Lines of at most 80 columns, in printable ASCII."""
    for note in difference.notes:
        yield from wrapped(note, "  ")
    yield f"verdict: {_verdict(difference)}"
    yield _counts(difference)
    if difference.requirements:
        yield from ("", "Requirements")
    for row in difference.requirements[:_SHOWN]:
        yield from wrapped(
            f"{row.id} {row.before or 'none'} -> {row.after or 'none'}", "      ", first="  "
        )
    yield from _rest(difference.requirements)
    for kind in KINDS:
        changes = _sorted(difference.of(kind))
        if changes:
            yield from ("", _TITLES[kind])
        for change in changes[:_SHOWN]:
            yield from wrapped(
                f"{change.level} {change.id}: {_outcomes(change)}", "      ", first="  "
            )
            for text in (_about(change), _message(change)):
                yield from wrapped(text, "    ", 4, first="    ")
        yield from _rest(changes)


def as_markdown(difference: Difference) -> Iterator[str]:
    """Markdown of GitHub's kind, short enough for a comment there. Whatever a report brought along
    is inert in it."""
    length = 0
    for line in _markdown(difference):
        length += len(line) + 1
        if length > _COMMENT:
            yield from ("", "… and the rest, which is too long for a comment")
            return
        yield line


def _markdown(difference: Difference) -> Iterator[str]:
    yield f"### V2 conformance: {_verdict(difference)}"
    yield ""
    yield _counts(difference)
    yield ""
    for note in difference.notes:
        yield f"- {_inert(note)}"
    if difference.requirements:
        yield from ("", "| requirement | before | after |", "|---|---|---|")
    for row in difference.requirements[:_SHOWN]:
        named = _inert(f"{row.id} {row.title}".strip())
        yield f"| {named} | {_inert(row.before)} | {_inert(row.after)} |"
    yield from _rest_of_table(difference.requirements)
    for kind in KINDS:
        changes = _sorted(difference.of(kind))
        if not changes:
            continue
        yield from ("", f"#### {_TITLES[kind]}", "")
        yield from ("| case | level | before | after | message |", "|---|---|---|---|---|")
        for change in changes[:_SHOWN]:
            message = "; ".join(text for text in (_about(change), _message(change)) if text)
            cells = (change.id, change.level, change.before, change.after, message)
            yield f"| {' | '.join(map(_inert, cells))} |"
        yield from _rest_of_table(changes)


def _inert(text: str) -> str:
    """Text as code, with every character that could mean anything as a number: no markup, no end
    of a table's cell, no mention and no link comes of it."""
    if not text:
        return ""
    coded = _MARKUP.sub(lambda match: f"&#{ord(match[0])};", plain(text))
    return f"<code>{coded}</code>"


def _verdict(difference: Difference) -> str:
    before, after = difference.verdict
    return f"{after}, as before" if before == after else f"{before} -> {after}"


def _counts(difference: Difference) -> str:
    counts = ", ".join(f"{len(difference.of(kind))} {kind}" for kind in KINDS)
    return f"{counts}, {difference.same} as before"


def _sorted(changes: Sequence[Change]) -> list[Change]:
    """What counts first."""
    order = ("MUST", "SHOULD", "MAY", "DISPUTED")
    return sorted(changes, key=lambda change: (not change.worse, order.index(change.level)))


def _outcomes(change: Change) -> str:
    if not change.before or not change.after:
        return change.before or change.after
    if change.before == change.after:
        return f"{change.after}, in another way"
    return f"{change.before} -> {change.after}"


def _about(change: Change) -> str:
    if change.other_case is None:
        return _UNKNOWN_CASE
    return _OTHER_CASE if change.other_case else ""


def _message(change: Change) -> str:
    """The newer message; what a case that is gone once said does not matter."""
    return finding(change.message)[:_MESSAGE] if change.after else ""


def _rest(rows: Sequence[Change] | Sequence[RequirementChange]) -> Iterator[str]:
    if len(rows) > _SHOWN:
        yield f"  … and {len(rows) - _SHOWN} more"


def _rest_of_table(rows: Sequence[Change] | Sequence[RequirementChange]) -> Iterator[str]:
    if len(rows) > _SHOWN:
        yield from ("", f"… and {len(rows) - _SHOWN} more")
