"""What the page shows of each case once it is opened: packed into the page, unpacked by its script.

Few people look at most of it, and there is much. So the page has it as one zlib stream in base64
with a line for each case, in the page's order: a `Shown` in JSON, or nothing.
"""

from __future__ import annotations

import base64
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator

import msgspec

from v2_conformance.formats.html.index import Listed
from v2_conformance.formats.shown import BRIEF, FULL, Limits, Shown, shown
from v2_conformance.report.document import CaseResult, Report

_MOST_PACKED = 24_000_000  # of bytes that are packed, whatever the room: for time and memory
_MOST_REPLAY = 6_000

Replay = Callable[[Report, CaseResult], str]
"""The command that sends a case of a report again, "" if there is none."""


def packed(report: Report, cases: Listed, replay: Replay, room: int) -> str:
    """The stream in base64, of at most `room` bytes. What passed is shown in brief, and what failed
    if there is no room for all; the last cases are left out if there is not even that."""
    room = room // 4 * 3
    lines: list[bytes] = []
    for limits in (FULL, BRIEF):
        lines, left = [], _MOST_PACKED
        for line in _lines(report, cases, replay, limits):
            left -= len(line)
            if left < 0:
                break
            lines.append(line)
        data = zlib.compress(b"".join(lines))
        if left >= 0 and len(data) <= room:
            return base64.b64encode(data).decode()
    # Only its first lines fit.
    fitting = bisect_right(
        range(1, len(lines) + 1), room, key=lambda n: len(zlib.compress(b"".join(lines[:n])))
    )
    return base64.b64encode(zlib.compress(b"".join(lines[:fitting]))).decode() if fitting else ""


def _lines(report: Report, cases: Listed, replay: Replay, limits: Limits) -> Iterator[bytes]:
    ids = {case.id for case in cases}
    for number, case in enumerate((*cases.troubled, *cases.passed)):
        failed = number < len(cases.troubled)
        found = shown(case, limits, BRIEF) if failed else shown(case, BRIEF)
        command = replay(report, case) if failed else ""
        found = msgspec.structs.replace(
            found,
            elsewhere=tuple(name for name in found.elsewhere if name in ids),
            replay=command if len(command) <= _MOST_REPLAY else "",
        )
        yield msgspec.json.encode(found) + b"\n" if found != Shown() else b"\n"
