"""Compares what a server says about the extension with what it does, from the bytes of a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from v2_conformance.judging.extension import Tried, is_binary, left_out
from v2_conformance.protocol.names import EXTENSION
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.messages import Head, read_head

# Each of its cases sends a correct request with a blob.
_BINARY_INPUTS = "P2"


@dataclass(frozen=True)
class Extension:
    """`listed` in GET /v2; binary inputs `accepted` with 200; `answered` with binary data.

    `accepted` is None if no case shows it.
    """

    listed: bool
    accepted: bool | None
    answered: bool

    @property
    def words(self) -> str:
        """A sentence if the server's words and actions differ, or both are missing, else ""."""
        listed = f"GET /v2 {'lists' if self.listed else 'does not list'} {EXTENSION}"
        if not self.accepted and not self.answered and self.accepted is not None:
            link = "but" if self.listed else "and"
            return (
                f"{listed}, {link} no correct request with binary inputs ({_BINARY_INPUTS}) was "
                "answered with 200, and no response had binary data"
            )
        if not self.listed and self.accepted and self.answered:
            return f"{listed}, yet binary inputs are accepted and binary data comes back"
        return ""


def left_out_of(report: Report) -> str:
    """Return what shows that the server leaves the extension out, "" if it does not: see
    `judging.extension`.
    """
    target = report.target
    if target.client is not None or EXTENSION in target.server.extensions:
        return ""  # without reading all bytes again, which takes long
    return left_out(list(map(_tried, report.cases)), report.planned, target.server.extensions)


def _tried(case: CaseResult) -> Tried:
    exchanges = [(bytes(one.request), one.unpacked().response) for one in case.exchanges]
    return Tried(case.requirement, case.outcome, case.cause, exchanges)


def extension(report: Report) -> Extension:
    """Return what the report shows about the extension."""
    # A case's own exchange is the first; canaries follow, in a form that the server does answer.
    heads = [
        head
        for case in report.cases
        if case.requirement == _BINARY_INPUTS
        for head in _heads(case.exchanges[:1])
    ]
    return Extension(
        listed=EXTENSION in report.target.server.extensions,
        accepted=any(head.status == 200 for head in heads) if heads else None,
        answered=any(is_binary(head) for case in report.cases for head in _heads(case.exchanges)),
    )


def _heads(exchanges: Iterable[Exchange]) -> Iterator[Head]:
    """The heads of the responses that came."""
    return (read_head(bytes(one.received)) for one in exchanges if len(one.received))
