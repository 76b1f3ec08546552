"""A client's words on a scenario, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from v2_conformance.report.document import CaseResult
from v2_conformance.suite.client_lines import Line, Said
from v2_conformance.visible_text import short, visible

_LONGEST = 200
_BYTES = 32
_MOST_OUTPUTS = 20


def said_lines(case: CaseResult) -> list[str]:
    """A line for each request of a scenario, and how the client ended; none for other cases.

    Visible characters alone, of bounded length; not escaped for any format.
    """
    said = case.heard
    if said is None:
        return []
    several = len(said.lines) > 1
    found = []
    for number, line in enumerate(said.lines, 1):
        start = f"request {number}: " if several else ""
        found += [start + words for words in _line(line)]
    return [_shown(words) for words in (*found, *_end(said))]


def _line(line: Line) -> Iterator[str]:
    if line.unsupported is not None:
        yield f"unsupported: {line.unsupported}"
    if line.error is not None:
        yield f"error: {line.error}" + ("" if line.status is None else f" (status {line.status})")
    for output in (line.outputs or ())[:_MOST_OUTPUTS]:
        shown = output.data[:_BYTES].hex() + ("…" if len(output.data) > _BYTES else "")
        yield (
            f"{output.name} {output.datatype} {list(output.shape)}, {len(output.data)} bytes: "
            f"{shown or '(nothing)'}"
        )
    if line.outputs == ():
        yield "no outputs"


def _end(said: Said) -> Iterator[str]:
    if said.garbage is not None:
        yield f"then an invalid line: {said.garbage}"
    if said.ended == "timeout":
        yield f"did not end within {said.seconds:g} s"
    elif said.ended == "flood":
        yield "printed too much"
    elif said.ended == "unsaid":
        yield "nothing"
    elif said.exit:
        yield f"exit code {said.exit}" if said.exit > 0 else f"ended by signal {-said.exit}"
    if said.stderr and (said.exit or said.ended != "exit"):
        yield f"standard error: {said.stderr}"


def _shown(text: str) -> str:
    return visible(short(" ".join(text.split()), _LONGEST))
