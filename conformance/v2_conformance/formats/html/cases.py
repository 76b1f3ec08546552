"""The cases of a report as data in its page, of which the page's script makes the list.

A page of thousands of messages has to load at once, so it has them as one zlib stream in base64.
Its first line has what is listed of each case, in the order of the page; each line after it has
what is shown once somebody opens a case, a `Shown`, in the same order. All of it is JSON. Cases
that passed are shown in brief, failures in full if there is room for all, else in brief too; if
there is not even room for that, the last ones are only listed.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from v2_conformance.formats.outcomes_shown import LOOKS, SKIPPED, TO_LOOK_AT
from v2_conformance.formats.shown import BRIEF, FULL, in_milliseconds, replay_command, shown
from v2_conformance.formats.templates import case_anchor, source
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.suite.causes.causes import NotKept
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import GRADES
from v2_conformance.terminal_safe_text import short, visible

# A message is shown whole, unless it is absurd, or one of very many.
_MAX_MESSAGE = 4_000
MAX_MESSAGE_OF_MANY = 400
_MANY = 250
_MAX_WHY = 1_000
_MOST_PACKED = 24_000_000  # bytes before they are compressed, for the sake of time and memory
_PENDING = 65_536  # more than a compressor holds back


class Listed(NamedTuple):
    """The cases in the page's order: what needs a look, the worst first; passed; not sent."""

    troubled: list[CaseResult]
    passed: list[CaseResult]
    skipped: list[CaseResult]


def listed(report: Report) -> Listed:
    """The cases of a report in the order of the page."""
    settled = (*SKIPPED, Outcome.PASS)
    troubled = [case for case in report.cases if case.outcome not in settled]
    troubled.sort(key=lambda c: (TO_LOOK_AT.index(c.outcome), GRADES.index(c.grade)))
    return Listed(troubled, list(report.of(Outcome.PASS)), list(report.of(*SKIPPED)))


def packed(report: Report, cases: Listed, room: int) -> str:
    """Return the stream in base64, of at most `room` bytes."""
    room = room // 4 * 3
    rows = list(_rows(report, cases))
    listing = msgspec.json.encode(rows)
    while rows and len(zlib.compress(listing)) > room:
        rows = rows[: len(rows) // 2]
        listing = msgspec.json.encode(rows)
    data = b""
    opened = (*cases.troubled, *cases.passed) if len(rows) == sum(map(len, cases)) else ()
    for limits in (FULL, BRIEF):
        packer = zlib.compressobj()
        data, size, number = packer.compress(listing), len(listing), 0
        for case in opened:
            how = (BRIEF,) if case.outcome is Outcome.PASS else (limits, BRIEF)
            line = b"\n" + msgspec.json.encode(shown(case, *how))
            size += len(line)
            if size > _MOST_PACKED or len(data) + len(line) + _PENDING > room:
                break
            data += packer.compress(line)
            number += 1
        data += packer.flush()
        if number == len(cases.troubled) + len(cases.passed):
            break
    return base64.b64encode(data).decode() if rows else ""


def _rows(report: Report, cases: Listed) -> Iterator[dict[str, object]]:
    limit = _MAX_MESSAGE if len(cases.troubled) <= _MANY else MAX_MESSAGE_OF_MANY
    ids = {case.id for case in report.cases}
    for case in (*cases.troubled, *cases.passed, *cases.skipped):
        look = LOOKS[case.outcome]
        most = MAX_MESSAGE_OF_MANY if case.outcome in SKIPPED else limit
        others = case.cause.cases if isinstance(case.cause, NotKept) else ()
        yield {
            "id": visible(case.id),
            "anchor": case_anchor(case.id),
            "outcome": case.outcome,
            "sign": look.sign,
            "label": look.label,
            "level": case.grade,
            "requirement": visible(case.requirement),
            "time": in_milliseconds(case.duration_ms),
            "message": visible(short(case.message, most)),
            "why": visible(short(case.why, _MAX_WHY)),
            "cite": [tuple(map(visible, source(cited))) for cited in case.cite],
            "elsewhere": [visible(name) for name in others if name in ids],
            "replay": replay_command(report, case),
        }
