"""The long tensors that a client says it read: a report keeps them among its messages.

Most are the tensors of an answer, whose values repeat. In base64 among the lines they would take
more room than all the rest of a report.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from v2_conformance.errors import ReportFileError
from v2_conformance.report.bodies import SHORT
from v2_conformance.report.document_part import Part
from v2_conformance.suite.causes.base import Count
from v2_conformance.suite.client_lines import Said
from v2_conformance.wire.exchange import Body

_MOST = 64 << 20


class LongSaid(Part, frozen=True):
    """The data of a tensor in `said`, which is empty there."""

    line: Annotated[Count, Meta(description="The line that has it, counted from 0.")]
    output: Annotated[Count, Meta(description="Its place among the outputs of the line, from 0.")]
    data: Body


def shortened(said: Said) -> tuple[Said, tuple[LongSaid, ...]]:
    """Return `said` without the data of its long tensors, and these."""
    long: list[LongSaid] = []
    lines = list(said.lines)
    for number, line in enumerate(lines):
        outputs = list(line.outputs or ())
        for place, output in enumerate(outputs):
            if len(output.data) > SHORT:
                long.append(LongSaid(number, place, Body(output.data)))
                outputs[place] = msgspec.structs.replace(output, data=b"")
        if line.outputs is not None:
            lines[number] = msgspec.structs.replace(line, outputs=tuple(outputs))
    return msgspec.structs.replace(said, lines=tuple(lines)), tuple(long)


def restored(said: Said, long: tuple[LongSaid, ...]) -> Said:
    """Return `said` as the client said it. Raises ReportFileError for places that are not there,
    and for data that is not what it says."""
    lines = list(said.lines)
    room = _MOST
    for one in long:
        outputs = list(lines[one.line].outputs or ()) if one.line < len(lines) else []
        room -= len(one.data)
        if one.output >= len(outputs) or outputs[one.output].data or room < 0:
            raise ReportFileError("a tensor that a client said is damaged: it has no place")
        data = bytes(one.data)
        outputs[one.output] = msgspec.structs.replace(outputs[one.output], data=data)
        lines[one.line] = msgspec.structs.replace(lines[one.line], outputs=tuple(outputs))
    return msgspec.structs.replace(said, lines=tuple(lines))
