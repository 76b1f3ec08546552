"""One case in lines, for a terminal and for logs: what it is about and its bytes.

Every line is printable ASCII, whatever a server sent. `shown` says what is shown; here it is placed
and colored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from v2_conformance.errors import UsageError
from v2_conformance.formats.outcomes_shown import LOOKS, TO_LOOK_AT
from v2_conformance.formats.shown import (
    WHOLE,
    Look,
    Part,
    Run,
    Shown,
    ShownBytes,
    replay_command,
    shown,
)
from v2_conformance.report.document import CaseResult, CitedDocument, Report
from v2_conformance.report.words import lost_by
from v2_conformance.suite.causes.base import counted
from v2_conformance.terminal_safe_text import defused, did_you_mean, matches, plain, wrapped

_MOST_MATCHES = 10
_SHORT_ID = 300
_LIMITS = ShownBytes(256, 64, first_of_text=2048)
_INDENT = "    "
_COLUMNS = 76
_PARTS: Mapping[str, str] = {
    "head": "", "json": "cyan", "slack": "red", "raw": "yellow", "blob0": "green",
    "blob1": "magenta", "blob2": "blue", "blob3": "green", "blob4": "magenta",
}  # fmt: skip
_LOOKS: Mapping[Look, str] = {"wrong": "bold reverse red", "pointer": "bold red"}
_SIGNS = {" · ": ", ", "–": "-", "… ": "... ", "▲": "^^"}


def find(report: Report, wanted: str) -> list[CaseResult]:
    """Return the case with this id, or those that it matches as a pattern or as the name of a
    requirement, the first to look at first. Raises UsageError with similar names."""
    exact = report.case(wanted)
    if exact is not None:
        return [exact]
    matching = [c for c in report.cases if c.requirement == wanted or matches(c.id, wanted)]
    if not matching:
        names = (name for case in report.cases for name in (case.id, case.requirement))
        known = [plain(name[:_SHORT_ID]) for name in dict.fromkeys(names)]
        hint = did_you_mean(wanted[:_SHORT_ID], known, "report.html lists its cases")
        raise UsageError(f"the report has no case {plain(wanted)}: {hint}")
    return sorted(matching, key=lambda case: TO_LOOK_AT.index(case.outcome))


def others(cases: Sequence[CaseResult]) -> Iterator[Text]:
    """Lines that name cases which are not shown."""
    if cases:
        names = [f"{case.id[:_SHORT_ID]} ({case.outcome.words})" for case in cases[:_MOST_MATCHES]]
        more = ["…"] if len(cases) > _MOST_MATCHES else []
        yield from _paragraph(f"{counted(len(cases), 'more case')}", ", ".join([*names, *more]))


def lines(report: Report, case: CaseResult, *, path: str, full: bool = False) -> Iterator[Text]:
    """Yield the case in lines of `columns` of printable ASCII; long bodies are folded. Only URLs,
    ids and the last line, which has the report's `path`, can be longer."""
    outcome = case.outcome.words.upper()
    for number, line in enumerate(wrapped(f"{outcome}  {case.grade}  {case.id}", "      ")):
        text = Text(line, style="bold")
        if not number:
            text.stylize(LOOKS[case.outcome].style, 0, len(outcome))
        yield text
    yield from _paragraph("Outcome", case.message or case.outcome.words)
    limits = WHOLE if full else _LIMITS
    view = shown(case, limits, limits)
    if view.difference:
        where, *sides = view.difference
        yield from _paragraph("First difference", where)
        for side, style in zip(sides, ("green", "red"), strict=True):
            yield from _wrapped(side, style)
    if view.client:
        yield from _paragraph("What the client said", "")
        for words in view.client:
            yield from _wrapped(_in_ascii(words))
    if view.survival:
        yield from _paragraph("Known-good requests", view.survival)
    yield from _paragraph("Why this case", case.why)
    yield from exchange_lines(view, "; --full shows them")
    yield from _requirement(report, case)
    if case.cite:
        yield from _paragraph("Allowed by", "")
        yield from _cited(case.cite)
    command = replay_command(report, case, path)
    if command:
        yield from _paragraph("Replay", "")
        yield Text("  " + plain(command))


def exchange_lines(view: Shown, hint: str = "") -> Iterator[Text]:
    """The lines of all exchanges. `hint` says how to see what is left out."""
    for number, exchange in enumerate(view.exchanges, 1):
        title = f": {_in_ascii(exchange.title)}" if exchange.title else ""
        heading = f"Exchange {number} of {len(view.exchanges)}{title}"
        yield from _paragraph(heading, _in_ascii(exchange.facts))
        for message in exchange.messages:
            yield Text(f"  {_in_ascii(message.title)}", style="bold")
            for note in message.notes:
                yield from _cut(Text(f"({_in_ascii(note)})"))
            for part in message.parts:
                yield from _part(part, hint)


def _requirement(report: Report, case: CaseResult) -> Iterator[Text]:
    heading = f"Requirement {plain(case.requirement)}"
    known = next((row for row in report.requirements if row.id == case.requirement), None)
    if known is None:
        yield from _paragraph(heading, "")
        return
    yield from _paragraph(f"{heading}: {known.title}", known.statement)
    lost = lost_by(report, case.requirement) if case.blocks else ""
    yield from _wrapped(f"What a failure costs: {lost}" if lost else "")
    yield from _cited(known.cite)
    if known.follows:
        yield from _wrapped(f"Why it follows: {known.follows}")


def _cited(cite: Sequence[CitedDocument]) -> Iterator[Text]:
    for cited in cite:
        paragraph = "" if cited.paragraph is None else f", paragraph {cited.paragraph}"
        yield from _wrapped(f"{cited.document}, {cited.section}{paragraph}", "dim")
        yield Text(f"  {plain(cited.url)}", style="dim")


def _paragraph(heading: str, text: str) -> Iterator[Text]:
    yield Text("")
    yield from (Text(line, style="bold underline") for line in wrapped(heading, ""))
    yield from _wrapped(text)


def _wrapped(text: str, style: str = "") -> Iterator[Text]:
    words = text.strip().replace("\n", " ")
    return (Text(line, style=style) for line in wrapped(words, "  ", first="  "))


def _in_ascii(text: str) -> str:
    """Our own words, whose signs have a spelling in ASCII, with what a server said in them."""
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    return plain(text)


def _part(part: Part, hint: str) -> Iterator[Text]:
    style = _PARTS[part.look]
    yield from _cut(Text(_in_ascii(part.title), style=f"{style} bold"))
    pieces = ((_words(run, hint), _LOOKS.get(run.look, style)) for run in part.runs)
    yield from _cut(Text.assemble(*pieces))


def _words(run: Run, hint: str) -> str:
    if run.look in ("", "hex", "wrong"):
        return "\n".join(map(plain, run.lines.split("\n")))
    words = _in_ascii(run.text.rstrip("\n"))
    if run.look == "left-out":
        words += hint
    elif len(words) > _COLUMNS:
        words = words.replace("^^ ", "^^\n^^ ", 1)
    return words + "\n"


def _cut(text: Text) -> Iterator[Text]:
    """Lines in pieces that fit, indented; nothing is left out, and no space is lost."""
    for line in text.split("\n"):
        if defused(line.plain) != line.plain:  # a CI service's command in several styles
            line = Text(defused(line.plain))
        for piece in line.divide(range(_COLUMNS, len(line), _COLUMNS)):
            yield Text(_INDENT).append_text(piece)
