"""report.html: one self-contained page, made from a report alone.

Everything in a report may come from a hostile server. The template escapes it all, characters that
hide or reorder text are spelled out, and the page's policy forbids it to load anything and to run
any script but its own. What stands of a case beyond its outcome is data in the page, of which that
script makes text once a reader gets there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from jinja2 import Template

from v2_conformance import public_address
from v2_conformance.formats.heat import by_grade, heat
from v2_conformance.formats.html.cases import MAX_MESSAGE_OF_MANY, Listed, listed, packed
from v2_conformance.formats.outcomes_shown import LOOKS, SKIPPED
from v2_conformance.formats.templates import (
    RFC,
    Source,
    case_anchor,
    environment,
    requirement_anchor,
    source,
)
from v2_conformance.formats.trust import TITLE, cautions
from v2_conformance.report import document as doc
from v2_conformance.report.document import CaseResult, Report, RequirementResult
from v2_conformance.report.verdict.judged import by_level, judged
from v2_conformance.report.verdict.standing import claim, standing
from v2_conformance.report.words import (
    ShownCause,
    headline,
    lost,
    lost_by,
    must_words,
    shown_causes,
    unexplained,
)
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import GRADES, LEVELS, Basis, catalogue, families
from v2_conformance.suite.statements import sentences
from v2_conformance.terminal_safe_text import short

# The page stays below 2 MB: the bytes of exchanges get what everything else leaves of this.
_PAGE_BYTES = 1_950_000
# So few failures are opened from the start.
_OPEN = 3
# So many of a requirement's failures are named with it.
_TROUBLES = 5
_CAUSES = 50
# So many reasons and warnings are shown before the rest is folded.
_REASONS = 12

_BASES: Mapping[Basis, str] = {
    "text": "stated by the documents of the extension",
    "oip": "stated by the base protocol",
    "http": "stated by HTTP",
    "derived": "derived: no document states it; see why it follows",
}
_EXPLAINED = {
    doc.CONFORMANT: "Correct requests work, and malformed ones are rejected.",
    doc.NOT_ROBUST: "Correct requests work. Some malformed or unusual ones get a wrong answer, or "
    "were not tested.",
    doc.NOT_CONFORMANT: "Some answers break a rule that clients rely on, or were not tested.",
    doc.NOT_IMPLEMENTED: "The server neither advertises the extension nor serves any of it. It "
    "serves plain JSON, so clients that ask it first work. Nothing else was sent.",
    doc.CONSISTENT: "The answers of these models agree with each other, and malformed requests are "
    "rejected. What the models compute is not known, so the answers may still be wrong.",
    doc.CONSISTENT_NOT_ROBUST: "The answers of these models agree with each other. Some malformed "
    "or unusual requests get a wrong answer, or were not tested.",
    doc.NOT_CONSISTENT: "Some answers of these models contradict each other, or break a rule that "
    "clients rely on.",
    doc.NOT_SHOWN: "No answers of these models contradict each other, but some could not be "
    "compared, for example because a model does not repeat its answers.",
    doc.INCOMPLETE: "Not every case of the suite ran, so there is no verdict.",
    doc.NOTHING_TESTED: "The server has none of the contract's models, so there is no verdict on "
    "it. Name a model of its own with --model.",
    doc.OUTDATED: "The report is about another version of the catalogue, so the suite that made "
    "this page cannot judge it again. The suite that made the report can.",
}
_EXPLAINED_OF_A_CLIENT = {
    **_EXPLAINED,
    doc.CONFORMANT: "Correct responses are understood, and malformed ones are rejected.",
    doc.NOT_ROBUST: "Correct responses are understood. Some malformed or unusual ones are not "
    "handled, or were not tested.",
    doc.NOT_CONFORMANT: "Some tasks with correct responses fail, or were not tested.",
}
_PACKED = '<script type="application/octet-stream" id="packed">'
_REQUIREMENT_ID = re.compile(r"\b([A-Z][0-9]{1,3})\b")


def render(report: Report) -> str:
    """The page for a report."""
    cases = listed(report)
    page = _template().render(_content(report, cases))
    # Text cannot have the like: it is escaped.
    before, element, after = page.rpartition(_PACKED)
    room = _PAGE_BYTES - len(page.encode("utf-8", "replace"))
    return f"{before}{element}{packed(report, cases, room)}{after}"


@cache
def _template() -> Template:
    made = environment(Path(__file__).parent, "report", more=("exchanges",))
    made.filters.update(
        symbol=lambda outcome: LOOKS[outcome].sign,
        label=lambda outcome: LOOKS[outcome].label,
        basis=lambda basis: _BASES[basis],
        case_anchor=case_anchor,
        requirement_anchor=requirement_anchor,
        site_page=public_address.requirement_page,
        linked=_linked,
        short=short,
    )
    return made.get_template("report.html.j2")


class RequirementRow(NamedTuple):
    """A requirement at the grade at which it does not hold, with its results: the `number`
    of cases, those that need a look, what a user loses if it fails, and all grades of its cases."""

    id: str
    entry: RequirementResult
    counts: Mapping[Outcome, int]
    sources: Sequence[Source]
    troubles: Sequence[CaseResult]
    number: int
    lost: str
    grades: str


class Rule(NamedTuple):
    """What a cause breaks: the words before it, its sentences, and where they stand."""

    words: str
    sentences: list[str]
    source: Source


def _rules(causes: Sequence[ShownCause], rows: Sequence[RequirementRow]) -> dict[int, Rule]:
    """Return the rule of each cause that costs something, once, by its place: what the case to
    look at cites, or else its requirement, if that is about one thing."""
    by_id = {row.id: row for row in rows}
    told: set[Source] = set()
    rules = {}
    for place, cause in enumerate(causes):
        name = cause.group.requirement
        row, known = by_id.get(name), catalogue().get(name)
        if not cause.lost or row is None or known is None:
            continue
        own = cause.first.cite if cause.first.requirement == name else ()
        wide = known.varies or known.combines
        cited = [*map(source, own), *(() if wide else row.sources)]
        if row.entry.basis == "http":
            cited = [one for one in cited if one.url.startswith(RFC)]
        first = next((one for one in cited if sentences(one.url)), None)
        if first is not None and first not in told:
            words = "Follows from:" if row.entry.basis == "derived" else "The rule:"
            rules[place] = Rule(words, sentences(first.url), first)
            told.add(first)
    return rules


def _content(report: Report, cases: Listed) -> dict[str, object]:
    counts = Counter(case.outcome for case in report.cases)
    rows = _rows(report)
    stands, moment = standing(report), report.moment
    minutes, rest = divmod(round(report.duration_s), 60)
    causes = shown_causes(report)
    levels = by_level(report)
    explained = _EXPLAINED if report.target.client is None else _EXPLAINED_OF_A_CLIENT
    letters = {row.id[:1] for row in rows} | {case.requirement[:1] for case in report.cases}
    return {
        "report": report,
        "server": report.target.server,
        "words": stands.words,
        "incomplete": doc.INCOMPLETE,
        "untested": doc.NOTHING_TESTED,
        "claim": claim(report),
        "explained": explained[stands.words],
        "tone": stands.tone,
        "sign": stands.sign,
        "started": f"{moment:%Y-%m-%d %H:%M UTC}" if moment else report.started,
        "duration": f"{minutes} min {rest} s" if minutes else f"{report.duration_s:.1f} s",
        "trust": TITLE,
        "cautions": cautions(report),
        "lost": lost(report, below=stands.words),
        "must": must_words(report, causes),
        "headline": headline(causes),
        "causes": causes[:_CAUSES],
        "more_causes": len(causes) - _CAUSES,
        "rules": _rules(causes[:_CAUSES], rows),
        "outcomes": [outcome for outcome in Outcome if counts[outcome]],
        "counts": counts,
        "all_levels": LEVELS,
        "all_grades": GRADES,
        "levels": by_grade(levels),
        "level_outcomes": [o for o in Outcome if any(row.outcome is o for row in levels)],
        "families": _families(rows),
        "letters": [(key, title) for key, title in _titles(letters).items() if key in letters],
        "heat": heat(levels),
        "titles": {row.id: row.entry.title for row in rows},
        "troubled": cases.troubled,
        "passed": cases.passed,
        # Many cases were not sent for one reason.
        "skipped": {
            outcome: Counter(short(one.message, MAX_MESSAGE_OF_MANY) for one in report.of(outcome))
            for outcome in SKIPPED
        },
        "open_cases": _OPEN,
        "most_troubles": _TROUBLES,
        "reasons": unexplained(causes[:_CAUSES], report.verdict.reasons),
        "warnings": unexplained(causes[:_CAUSES], report.verdict.warnings),
        "most_reasons": _REASONS,
    }


def _rows(report: Report) -> list[RequirementRow]:
    cases: dict[str, list[CaseResult]] = {}
    for case in report.cases:
        cases.setdefault(case.requirement, []).append(case)
    grades: dict[str, list[str]] = {}
    for one in by_level(report):
        grades.setdefault(one.id, []).append(one.grade)
    settled = (Outcome.PASS, *SKIPPED)
    return [
        RequirementRow(
            entry.id,
            entry,
            {outcome: entry.cases[outcome] for outcome in Outcome if outcome in entry.cases},
            [source(cited) for cited in entry.cite],
            [case for case in cases.get(entry.id, ()) if case.outcome not in settled],
            len(cases.get(entry.id, ())),
            lost_by(report, entry.id) if entry.blocks else "",
            ", ".join(dict.fromkeys([entry.grade, *grades[entry.id]])),
        )
        for entry in judged(report)
    ]


def _families(rows: Iterable[RequirementRow]) -> list[tuple[str, str, list[RequirementRow]]]:
    """The rows under their families, in the catalogue's order, unknown families last. What the HTTP
    library below a client does follows what the client does itself."""
    groups: dict[tuple[str, str], list[RequirementRow]] = {}
    for row in rows:
        groups.setdefault((row.id[:1], row.entry.layer or ""), []).append(row)
    titles = _titles(letter for letter, _ in groups)
    order = list(titles)
    return [
        (letter, titles[letter] + (": the HTTP library below them" if layer else ""), group)
        for (letter, layer), group in sorted(
            groups.items(), key=lambda one: (order.index(one[0][0]), one[0][1])
        )
    ]


def _titles(letters: Iterable[str]) -> dict[str, str]:
    known = families()
    return {**known, **{letter: "Other" for letter in sorted(letters) if letter not in known}}


def _linked(text: str, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield `text` in pieces, each with the requirement that it names, or ""."""
    for piece in _REQUIREMENT_ID.split(text):  # every second one is an id
        yield piece, piece if piece in known else ""
