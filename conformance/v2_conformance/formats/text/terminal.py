"""The summary of a report on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from v2_conformance.formats.outcomes_shown import TO_LOOK_AT
from v2_conformance.formats.registry import PAGE
from v2_conformance.formats.trust import TITLE, cautions
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.expectations import UNWRITTEN, Expectation, Judgment
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.report.verdict.standing import (
    claimed,
    is_whole,
    server_name,
    tested_nothing,
    verdict_words,
)
from v2_conformance.report.words import (
    ShownCause,
    headline,
    library_words,
    lost,
    must_words,
    shown_causes,
    unexplained,
)
from v2_conformance.suite.causes.base import counted
from v2_conformance.suite.models import ROLE
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.terminal_safe_text import plain, wrapped

_SHOWN = 10
_PROBLEMS = 30


def summary_lines(report: Report, directory: Path | None) -> list[str]:
    """Return the verdict, in the first line, what blocks it and where the report is. What a server
    sent is printable ASCII in them."""
    causes = shown_causes(report)
    last = [] if directory is None else [f"report: {directory / PAGE.file_name}"]
    if tested_nothing(report):  # neither counts nor a verdict, as if the server had failed
        words = (
            f"Nothing was tested: {server_name(report)} has none of the contract's "
            "models. Name one of its own: --model NAME."
        )
        return [*wrapped(words, "  "), *(["", *_failures(causes)] if causes else []), *last]
    words = verdict_words(report)
    lines = wrapped(f"{words.upper()}: {claimed(report)}", "  ")
    lines += wrapped(lost(report, below=words), "  ")
    counts = Counter(case.outcome for case in report.cases)
    total = ", ".join(f"{counts[one]} {one.words}" for one in TO_LOOK_AT if counts[one])
    lines += wrapped(f"{counted(len(report.cases), 'case')}: {total}", "  ")
    at = len(lines)
    lines += wrapped(headline(causes) or must_words(report, causes), "  ")
    doubts = [wrapped(one.words, "    ", limit=4, first="  - ") for one in cautions(report)]
    lines += ["", *_failures(causes)]
    if doubts:
        lines += [f"{TITLE.lower()}:", *_first(doubts, "of these, all in the report"), ""]
    titles = {row.id: f"{row.id} {row.title}:" for row in report.requirements}
    for what, problems in (
        ("reason", report.verdict.reasons),
        ("warning", report.verdict.warnings),
    ):
        untold = (one.split() for one in unexplained(causes, problems))
        rows = (" ".join(titles.get(word, word) for word in words) for words in untold)
        shown = [wrapped(f"{what}: {row}", "        ") for row in rows]
        # Models that do not repeat their answers come before what those answers show.
        place = at if what == "reason" and report.relations is not None else len(lines)
        lines[place:place] = _first(shown, f"{what}s")
    for note in _notes(report):
        lines += wrapped(note, "  ")
    return [*lines, *last]


def _notes(report: Report) -> Iterator[str]:
    verdict, target = report.verdict, report.target
    disputed = list(report.of(Outcome.DISPUTED))
    for row in report.requirements:
        if row.outcome is Outcome.DISPUTED:
            messages = {case.message for case in disputed if case.requirement == row.id}
            words = "; ".join(sorted(filter(None, messages)))
            yield f"disputed: {row.id} {row.title}: {words}"
    if report.relations is not None and verdict.implemented:
        more = len(verdict.needs_identity)
        yield (
            f"{counted(len(verdict.shown), 'requirement')} shown by comparing answers"
            f"{f'; {more} more need identity models' if more else ''}"
        )
        for role, model in target.models.items():
            if not role.startswith(ROLE):
                yield f"the model {model.model} returns its inputs: it plays the role {role}"
    yield library_words(report)


def gate_lines(report: Report, gate: Gate) -> list[str]:
    """Say whether a run is what was required of it, which is what its exit code says."""
    words = {"conformant": "conformant" if report.relations is None else "consistent"}
    required = words.get(gate.require, gate.require)
    asked = "--strict" if gate.strict else f"required to be {required}"
    met = "met" if gate.is_open_for(report) else "not met"
    by = "" if is_whole(report) else f" by the {counted(len(report.cases), 'case')} that ran"
    return wrapped(f"{asked}: {met}{by}", "  ")


def expectation_lines(name: str, judged: Judgment, *, words: str) -> list[str]:
    """Compare a run, whose verdict is `words`, with an expectation file, in lines."""
    rows = [[plain(f"unexpected: {_title(case)}")] for case in judged.unexpected]
    unexpected = _first(rows, "unexpected failures", _PROBLEMS)
    counts = f"failures: {len(judged.expected)} expected, {len(judged.unexpected)} unexpected"
    if judged.problems:
        counts += f"; expectations that do not hold: {len(judged.problems)}"
    return ["", *problem_lines(name, judged), *unexpected, f"{words}; {counts}"]


def problem_lines(name: str, judged: Judgment) -> list[str]:
    """Return what must be corrected in an expectation file, a line for each problem, and notes."""

    def row(entry: Expectation, text: str) -> list[str]:
        words = f"{name}:{entry.line}: {entry.what}: {text.removeprefix(f'{entry.what}: ')}"
        return [plain(" ".join(words.split()))]

    rows = [row(*problem) for problem in judged.problems]
    lines = _first(rows, "expectations that do not hold", _PROBLEMS)
    unwritten = sum(entry.reason.startswith(UNWRITTEN) for entry in judged.entries)
    if unwritten:
        lines.append(f"{plain(name)}: reasons that still begin with {UNWRITTEN}: {unwritten}")
    rows = [row(e, "matches none of the suite's cases; remove the entry") for e in judged.retired]
    lines += _first(rows, "entries that match no case", _PROBLEMS)
    if judged.untried:
        lines.append(f"{plain(name)}: entries not tried in this run: {len(judged.untried)}")
    return lines


def _failures(causes: list[ShownCause]) -> list[str]:
    lines: list[str] = []
    for cause in causes[:_SHOWN]:
        case = cause.first
        known = case.expected
        lines += wrapped(cause.words, "  ")
        lines += wrapped(f"{'expected ' if known else ''}{_title(case)}", "    ", first="  ")
        text = known.reason if known else cause.says
        lines += wrapped(text, "    ", limit=4, first="    ")
    if len(causes) > _SHOWN:
        more = sum(len(cause.group.cases) for cause in causes[_SHOWN:])
        number = counted(len(causes) - _SHOWN, "more cause")
        lines.append(f"… and {number} of {counted(more, 'case')}, all in the report")
    return [*lines, ""] if lines else []


def _title(case: CaseResult) -> str:
    return f"{case.outcome.upper()} {case.grade} {case.id}"


def _first(rows: Sequence[list[str]], what: str, most: int = _SHOWN) -> list[str]:
    """Return the lines of the first rows, and how many `what` there are besides."""
    more = [f"… and {len(rows) - most} more {what}"] if len(rows) > most else []
    return [*(line for row in rows[:most] for line in row), *more]
