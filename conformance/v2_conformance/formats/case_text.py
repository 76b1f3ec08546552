"""One case on the terminal: what was sent and received, annotated, and how to send it again."""

from __future__ import annotations

import difflib
import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from v2_conformance.errors import UsageError
from v2_conformance.formats.message_text import Mark, in_ascii, message_lines
from v2_conformance.formats.replay import show_command, write_replay
from v2_conformance.judging.survival import CANARY, NOT_SURVIVED
from v2_conformance.report.annotate import annotate_request, annotate_response
from v2_conformance.report.fold import shown_exchanges
from v2_conformance.report.recorder import load_report
from v2_conformance.terminal_safe_text import WIDTH, matches, plain

_SHOWN = 10
_SHORT_ID = 300
_ORDER = ("fail", "error", "inconclusive", "disputed", "pass", "not_run", "unsupported")
_COLOURS = {
    "pass": "bold blue",
    "fail": "bold red",
    "error": "bold magenta",
    "inconclusive": "bold yellow",
    "disputed": "bold cyan",
}


def show(path: Path, wanted: str, *, full: bool = False, replay: Path | None = None) -> None:
    """Print the case `wanted` of the report at `path`, or write its replay into a folder.

    Raises ReportFileError, and UsageError where `wanted` is not exactly one case.
    """
    report = load_report(path)
    case = find(report, wanted)
    if replay is not None:
        print(write_replay(report, case, replay))
        return
    system = None if os.environ.get("NO_COLOR") else "auto"
    console = Console(color_system=system, width=WIDTH, highlight=False)  # type: ignore[arg-type]
    for line in lines(report, case, path=str(path), full=full):
        console.print(line, soft_wrap=True)


def find(report: Mapping[str, Any], wanted: str) -> Mapping[str, Any]:
    """The one case whose id is `wanted`, or else which the pattern or requirement names.

    Raises UsageError with the first matches, or with close names where there is none.
    """
    cases: Sequence[Mapping[str, Any]] = report["cases"]
    exact = [case for case in cases if case["id"] == wanted]
    found = exact or [
        case for case in cases if case["requirement"] == wanted or matches(case["id"], wanted)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"the report has no case {plain(wanted)}{_close(cases, wanted)}")
    found.sort(key=lambda case: _ORDER.index(case["outcome"]))
    shown = [f"{plain(case['id'][:_SHORT_ID])} ({case['outcome']})" for case in found[:_SHOWN]]
    more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    raise UsageError(f"{plain(wanted)} matches {len(found)} cases: {', '.join(shown)}{more}")


def _close(cases: Sequence[Mapping[str, Any]], wanted: str) -> str:
    known = list(dict.fromkeys([*(c["id"] for c in cases), *(c["requirement"] for c in cases)]))
    close = difflib.get_close_matches(wanted[:_SHORT_ID], known, n=3, cutoff=0.5)
    close += [name for name in known if wanted.lower() in name.lower()][: 3 - len(close)]
    names = [plain(name[:_SHORT_ID]) for name in dict.fromkeys(close)]
    return f"; close to it: {', '.join(names)}" if names else ""


def lines(
    report: Mapping[str, Any], case: Mapping[str, Any], *, path: str, full: bool = False
) -> Iterator[Text]:
    """The case in lines of at most 80 columns of printable ASCII; long bodies are folded.

    Only URLs and the last line, which has the report's name `path`, can be longer.
    """
    outcome = case["outcome"].replace("_", " ").upper()
    title = f"{outcome}  {case['level']}  {plain(case['id'])}"
    for number, line in enumerate(textwrap.wrap(title, WIDTH, subsequent_indent="      ")):
        text = Text(line, style="bold")
        if not number:
            text.stylize(_COLOURS.get(case["outcome"], ""), 0, len(outcome))
        yield text
    yield from _requirement(report, case)
    yield from _section("Why this case", case.get("why", ""))
    yield from _section("Outcome", case["message"] or f"{outcome.lower()}, with nothing to add")
    yield from _difference(case)
    yield from _canaries(case)
    yield from _exchanges(case, full=full)
    yield from _replay(case, path)


def _requirement(report: Mapping[str, Any], case: Mapping[str, Any]) -> Iterator[Text]:
    name = case["requirement"]
    known: Mapping[str, Any] = next(
        (row for row in report["requirements"] if row["id"] == name), {}
    )
    title = f"Requirement {plain(name)}" + (f": {known['title']}" if "title" in known else "")
    yield from _section(title, known.get("statement", ""))
    for cited in known.get("cite", ()):
        place = f"{cited['document']}, {cited['section']}"
        if cited.get("paragraph") is not None:
            place += f", paragraph {cited['paragraph']}"
        yield from _wrapped(place, "dim")
        yield Text(f"  {plain(cited['url'])}", style="dim")
    if known.get("follows"):
        yield from _wrapped(f"It follows: {known['follows']}")


def _difference(case: Mapping[str, Any]) -> Iterator[Text]:
    found = case.get("difference")
    if not found:
        return
    yield from _section(
        "First difference",
        f"output {found['output']} {found['datatype']}, element {found['element']}, byte "
        f"{found['offset']} of its blob",
    )
    for side in ("wanted", "got"):
        value = f"{side}: {found[side] or 'nothing'} ({found[f'{side}_value']})"
        yield from _wrapped(value, "red" if side == "got" else "green")


def _canaries(case: Mapping[str, Any]) -> Iterator[Text]:
    """What the known-good requests after the case showed."""
    notes = [e["note"] for e in case["exchanges"] if e["note"].startswith(CANARY)]
    if not notes:
        return
    _, died, problems = case["message"].partition(NOT_SURVIVED)
    words = []
    for note in notes:
        where = note.removeprefix(CANARY)
        wrong = bool(died) and f"{where}:" in problems
        words.append(f"{where}: {'WRONG' if wrong else 'right'}")
    heading = "Canary: a known-good request, sent after the case"
    yield from _section(heading, "; ".join(words))


def _exchanges(case: Mapping[str, Any], *, full: bool) -> Iterator[Text]:
    exchanges = case["exchanges"]
    for number, (entry, shown) in enumerate(
        zip(exchanges, shown_exchanges(case, (1, 1)), strict=True), 1
    ):
        note = f": {shown.title}" if shown.title else ""
        yield from _section(f"Exchange {number} of {len(exchanges)}{note}", in_ascii(shown.facts))
        request, response = shown.messages
        mark = _mark(case) if number == 1 else None
        yield from message_lines(entry["request"], request, annotate_request, None, full=full)
        yield from message_lines(entry["response"], response, annotate_response, mark, full=full)


def _mark(case: Mapping[str, Any]) -> Mark | None:
    found = case.get("difference")
    if not found or found["body_offset"] is None:
        return None
    return Mark(found["body_offset"], f"element {found['element']} of {found['output']}")


def _replay(case: Mapping[str, Any], path: str) -> Iterator[Text]:
    if not any(entry["request"] for entry in case["exchanges"]):
        return
    yield from _section("Replay", "This writes the request and a command that sends it again:")
    yield Text("  " + show_command(path, case["id"]))


def _section(heading: str, text: str) -> Iterator[Text]:
    yield Text("")
    for line in textwrap.wrap(plain(heading), WIDTH):
        yield Text(line, style="bold underline")
    yield from _wrapped(text)


def _wrapped(text: str, style: str = "") -> Iterator[Text]:
    words = text.strip().replace("\n", " ")
    for line in textwrap.wrap(
        plain(words), WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    ):
        yield Text(line, style=style)
