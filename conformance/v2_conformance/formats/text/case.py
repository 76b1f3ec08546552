"""One case on the terminal: what was sent and received, annotated, and how to send it again."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.text import Text

from v2_conformance.errors import UsageError
from v2_conformance.formats.outcomes_shown import LOOKS, WORST_FIRST
from v2_conformance.formats.replay import replay_command, show_command
from v2_conformance.formats.shown import WHOLE, Limits, shown
from v2_conformance.formats.text.exchanges import exchange_lines, in_ascii, paragraph, wrapped
from v2_conformance.report.document import CaseResult, CitedDocument, Report
from v2_conformance.report.words import lost_by
from v2_conformance.suggestions import closest, question
from v2_conformance.terminal_safe_text import WIDTH, matches, plain

_MOST_MATCHES = 10
_MOST_SIMILAR = 3
_SHORT_ID = 300
_LIMITS = Limits(256, 64, first_of_text=2048)


def find(report: Report, wanted: str) -> CaseResult:
    """The one case whose id is `wanted`, or else the only one that it matches as a pattern or as
    the name of a requirement.

    Raises UsageError with the first matches, or with similar names if there are none.
    """
    exact = report.case(wanted)
    if exact is not None:
        return exact
    found = [c for c in report.cases if c.requirement == wanted or matches(c.id, wanted)]
    if len(found) == 1:
        return found[0]
    if not found:
        hint = _similar(report.cases, wanted)
        raise UsageError(f"the report has no case {plain(wanted)}: {hint}")
    found.sort(key=lambda case: WORST_FIRST.index(case.outcome))
    shown = [f"{plain(case.id[:_SHORT_ID])} ({case.outcome})" for case in found[:_MOST_MATCHES]]
    more = f", and {len(found) - _MOST_MATCHES} more" if len(found) > _MOST_MATCHES else ""
    raise UsageError(f"{plain(wanted)} matches {len(found)} cases: {', '.join(shown)}{more}")


def _similar(cases: Sequence[CaseResult], wanted: str) -> str:
    """Return what may be meant: names that are close to `wanted`, then names that contain it."""
    known = list(dict.fromkeys([*(c.id for c in cases), *(c.requirement for c in cases)]))
    containing = [name for name in known if wanted.casefold() in name.casefold()]
    names = dict.fromkeys([*closest(wanted[:_SHORT_ID], known), *containing])
    shown = [plain(name[:_SHORT_ID]) for name in names][:_MOST_SIMILAR]
    return question(shown, "report.html lists its cases")


def lines(report: Report, case: CaseResult, *, path: str, full: bool = False) -> Iterator[Text]:
    """The case in lines of at most 80 columns of printable ASCII; long bodies are folded.

    Only URLs and the last line, which has the report's name `path`, can be longer.
    """
    outcome = case.outcome.words.upper()
    title = f"{outcome}  {case.grade}  {plain(case.id)}"
    for number, line in enumerate(textwrap.wrap(title, WIDTH, subsequent_indent="      ")):
        text = Text(line, style="bold")
        if not number:
            text.stylize(LOOKS[case.outcome].style, 0, len(outcome))
        yield text
    yield from paragraph("Outcome", case.message or case.outcome.words)
    limits = WHOLE if full else _LIMITS
    found = shown(case, limits, limits)
    if found.difference:
        where, *sides = found.difference
        yield from paragraph("First difference", where)
        for side, style in zip(sides, ("green", "red"), strict=True):
            yield from wrapped(side, style)
    if found.said:
        yield from paragraph("What the client said", "")
        for words in found.said:
            yield from wrapped(in_ascii(words))
    if found.survival:
        yield from paragraph("Known-good requests", found.survival)
    yield from paragraph("Why this case", case.why)
    yield from _requirement(report, case)
    if case.cite:
        yield from paragraph("Allowed by", "")
        yield from _cited(case.cite)
    yield from exchange_lines(found, "; --full shows them")
    yield from _replay(report, case, path)


def _requirement(report: Report, case: CaseResult) -> Iterator[Text]:
    heading = f"Requirement {plain(case.requirement)}"
    known = next((row for row in report.requirements if row.id == case.requirement), None)
    if known is None:
        yield from paragraph(heading, "")
        return
    yield from paragraph(f"{heading}: {known.title}", known.statement)
    lost = lost_by(report, case.requirement) if case.blocks else ""
    yield from wrapped(f"What a failure costs: {lost}" if lost else "")
    yield from _cited(known.cite)
    if known.follows:
        yield from wrapped(f"Why it follows: {known.follows}")


def _cited(cite: Sequence[CitedDocument]) -> Iterator[Text]:
    for cited in cite:
        place = f"{cited.document}, {cited.section}"
        if cited.paragraph is not None:
            place += f", paragraph {cited.paragraph}"
        yield from wrapped(place, "dim")
        yield Text(f"  {plain(cited.url)}", style="dim")


def _replay(report: Report, case: CaseResult, path: str) -> Iterator[Text]:
    if report.target.client is not None:
        command = replay_command(report, case)
        if command:
            yield from paragraph("Again", "This command runs the scenario again:")
            yield Text("  " + plain(command))
        return
    if not any(len(exchange.request) for exchange in case.exchanges):
        return
    yield from paragraph(
        "Replay", "This command writes the request, and a script that sends it again:"
    )
    yield Text("  " + show_command(path, case.id))
