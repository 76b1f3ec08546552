"""The cases of the page, packed into it and unpacked by its script.

The page has them as one zlib stream in base64 with a line for each case, in the page's order: its
row in the list and, after a tab, what is shown once somebody opens it, a `Shown`; both in JSON.
"""

from __future__ import annotations

import base64
import zlib
from bisect import bisect_right
from collections.abc import Sequence
from itertools import zip_longest

import msgspec

from v2_conformance.formats.html.index import Listed, rows
from v2_conformance.formats.replay import replay_command
from v2_conformance.formats.shown import BRIEF, FULL, Limits, shown
from v2_conformance.report.document import Report
from v2_conformance.suite.causes.causes import NotKept
from v2_conformance.visible_text import visible

_MOST_PACKED = 24_000_000  # of bytes that are packed, whatever the room: for time and memory


def packed(report: Report, cases: Listed, room: int) -> str:
    """The stream in base64, of at most `room` bytes. What passed is shown in brief, and what failed
    if there is no room for all. If there is not even that, the last cases are only listed."""
    room = room // 4 * 3
    ids = {case.id for case in cases}
    listed: list[bytes] = []
    for row, case in zip(rows(cases), cases, strict=True):
        named = case.cause.cases if isinstance(case.cause, NotKept) else ()
        row["elsewhere"] = [visible(name) for name in named if name in ids]
        row["replay"] = replay_command(report, case) if len(listed) < len(cases.troubled) else ""
        listed.append(msgspec.json.encode(row))
    opened: list[bytes] = []
    for limits in (FULL, BRIEF):
        opened = _opened(cases, limits)
        data = _compressed(listed, opened)
        if len(data) <= room and len(opened) == len(cases.troubled) + len(cases.passed):
            return base64.b64encode(data).decode()
    number = len(listed)
    fitting = bisect_right(
        range(1, number + len(opened) + 1),
        room,
        key=lambda n: len(_compressed(listed[:n], opened[: max(0, n - number)])),
    )
    data = _compressed(listed[:fitting], opened[: max(0, fitting - number)])
    return base64.b64encode(data).decode() if fitting else ""


def _opened(cases: Listed, limits: Limits) -> list[bytes]:
    """Return what the first cases show; all, if that is not too much."""
    found: list[bytes] = []
    left = _MOST_PACKED
    for case in (*cases.troubled, *cases.passed):
        brief = len(found) >= len(cases.troubled)
        shows = msgspec.json.encode(shown(case, BRIEF) if brief else shown(case, limits, BRIEF))
        left -= len(shows)
        if left < 0:
            break
        found.append(shows)
    return found


def _compressed(listed: Sequence[bytes], opened: Sequence[bytes]) -> bytes:
    lines = map(b"\t".join, zip_longest(listed, opened, fillvalue=b""))
    return zlib.compress(b"\n".join(lines))
