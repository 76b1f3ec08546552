"""The bytes of a case's request, as its requirement's page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from v2_conformance.report.shown.annotate import Section, annotate_request
from v2_conformance.runs.targets.make import make_target
from v2_conformance.suite.cases import Case, GetCase, RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.wire.encode.requests import prepare, prepare_get

_HOST = "http://server:8000"
_MOST_ROWS = 12
_MOST_TEXT = 1500
_LARGEST = 4_000_000


class Range(NamedTuple):
    """A part of a message: its label, how long it is, what share of the message its bar shows, and
    its content as lines."""

    kind: str
    label: str
    size: int
    share: float
    text: str


def first_case(requirement: str) -> Case | None:
    """Return the first case of a server's requirement, one with blobs if it has one early on."""
    cases = [case for case in suite_cases() if case.requirement == requirement]
    sent = [case for case in cases if isinstance(case, (RequestCase, GetCase))]
    return next(iter(sent), next(iter(cases), None))


def ranges(case: Case) -> list[Range]:
    """Return the parts of the case's request, none if it sends no single one or a very large."""
    target = make_target(_HOST)
    if isinstance(case, GetCase):
        prepared = prepare_get(case, target.address)
    elif isinstance(case, RequestCase) and not case.large:
        prepared = prepare(case, target.address, target.binding(case.model))
    else:
        return []
    if sum(len(piece) for piece in prepared.request.http1) > _LARGEST:
        return []
    data = b"".join(bytes(piece) for piece in prepared.request.http1)
    sections = annotate_request(data, prepared.request.answers).sections
    return [_range(section, len(data)) for section in sections]


def _range(section: Section, whole: int) -> Range:
    size = section.end - section.start
    return Range(section.kind, section.label, size, 100 * size / whole, _text(section))


def _text(section: Section) -> str:
    if section.kind in ("head", "json") and section.data.isascii():
        text = section.data.decode("ascii").replace("\r\n", "\n")
        shown = "".join(c if c == "\n" or c.isprintable() else "." for c in text)
        return shown if len(shown) <= _MOST_TEXT else f"{shown[:_MOST_TEXT]}\n…"
    rows: Sequence[str] = [row.line for row in section.rows(0, 16 * _MOST_ROWS)]
    more = len(section.data) - 16 * _MOST_ROWS
    return "\n".join([*rows, *([f"… and {more} more bytes"] if more > 0 else [])])
