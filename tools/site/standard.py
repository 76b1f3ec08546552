"""The standard as pages: one for each requirement, with what published servers and clients do."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import escape

from tools import ROOT
from tools.traceability.links import suite_trace
from v2_conformance.formats.outcomes_shown import LOOKS, SKIPPED
from v2_conformance.formats.sections import Section, read_message
from v2_conformance.formats.shown import hexdump
from v2_conformance.formats.templates import requirement_anchor
from v2_conformance.public_address import REPOSITORY
from v2_conformance.report.document import NOT_IMPLEMENTED, cited_documents
from v2_conformance.report.words import losses
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.cases import Case, GetCase, RequestCase
from v2_conformance.suite.library import client_cases, suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import Requirement, catalogue, catalogue_version, families
from v2_conformance.suite.statements import sentences
from v2_conformance.wire.encode.requests import get_request, prepare

BASES = {
    "text": "a document of the extension says it",
    "oip": "the base protocol says it",
    "http": "an RFC says it",
    "derived": "it follows from what the documents say",
}
_EXPECTATIONS = ("tests/real/expectations", "tests/real/clients/expectations")
_MENTIONED = re.compile(r"\b([A-Z])(\d{1,2})(?: to \1(\d{1,2}))?\b")
_LARGEST = 4_000_000  # bytes of a request that a page shows the beginning of
_MOST_BYTES = 192
_MOST_TEXT = 1500


@dataclass(frozen=True)
class Published:
    """A published report. `absent` is said of a requirement without an outcome. `troubles` has the
    cases that ran and did not pass, `sentences` what the server does, both by requirement."""

    kind: str
    label: str
    day: str
    page: str
    absent: str
    outcomes: Mapping[str, Outcome]
    grades: Mapping[str, str]
    troubles: Mapping[str, Sequence[Mapping[str, Any]]]
    sentences: Mapping[str, str]

    def reported(self, requirement: str) -> str:
        """Return the outcome of a requirement in words, with its sign first."""
        outcome = self.outcomes.get(requirement)
        if outcome is None:
            return self.absent
        return f"{LOOKS[outcome].sign} {LOOKS[outcome].label} {self.grades.get(requirement, '')}"

    def tone(self, requirement: str) -> str:
        """Return the outcome whose color it has."""
        outcome = self.outcomes.get(requirement)
        return "none" if outcome is None else outcome.value


class Range(NamedTuple):
    """A part of a request: its label, size, share of the whole in percent, and content as lines."""

    kind: str
    label: str
    size: int
    share: float
    text: str


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the Markdown of each page."""
    reports = [_published(one) for one in _read("reports/index.json")["reports"]]
    of = {kind: [one for one in reports if one.kind == kind] for kind in ("server", "client")}
    current = [one for one in catalogue().values() if not one.superseded_by]
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    templates.filters |= {"cell": _cell, "escaped": escape, "sentences": sentences}
    templates.globals |= {
        "anchor": requirement_anchor,
        "catalogue_version": catalogue_version(),
        "families": families(),
        "repository": REPOSITORY,
    }
    index = templates.get_template("index.md.j2")
    yield "index.md", index.render(current=current, servers=of["server"], clients=of["client"])
    template = templates.get_template("requirement.md.j2")
    trace = suite_trace()
    for one in current:
        shown = of["client" if one.profile == "client" else "server"]
        faults, entries = trace.faults_of(one.id), trace.templates_of(one.id)
        yield (
            f"{one.id}.md",
            template.render(
                one=one, reports=shown, faults=faults, entries=entries, **_members(one)
            ),
        )


def _members(one: Requirement) -> dict[str, Any]:
    """Return what the page of a requirement says besides."""
    cases = [case for case in (*suite_cases(), *client_cases()) if case.requirement == one.id]
    sent = [case for case in cases if isinstance(case, RequestCase | GetCase)]
    case = next(iter(sent or cases), None)
    return {
        "basis": BASES[one.basis],
        "harm": one.harm and losses(client=one.profile == "client")[one.harm],
        "cited": cited_documents(one.cite, one.id),
        "why": next((case.why for case in cases if case.why), ""),
        "number": len(cases),
        "case": case,
        "ranges": ranges(case),
        "disputes": _disputes(one.id),
    }


def ranges(case: Case | None) -> list[Range]:
    """Return the parts of a case's request; none if it sends no single one, or a very large."""
    target = make_target("http://server:8000")
    if isinstance(case, GetCase):
        request = get_request(target.address, case.path)
    elif isinstance(case, RequestCase) and not case.large:
        request = prepare(case, target.address, target.binding(case.model)).request
    else:
        return []
    if sum(map(len, request.http1)) > _LARGEST:
        return []
    data = b"".join(map(bytes, request.http1))
    return [
        Range(
            one.kind,
            one.label,
            one.end - one.start,
            100 * (one.end - one.start) / len(data),
            _text(one),
        )
        for one in read_message("request", data, request.answers).sections
    ]


def _text(section: Section) -> str:
    if section.kind in ("head", "json") and section.data.isascii():
        text = section.data.decode("ascii").replace("\r\n", "\n")
        shown = "".join(c if c == "\n" or c.isprintable() else "." for c in text)
        return shown if len(shown) <= _MOST_TEXT else f"{shown[:_MOST_TEXT]}\n…"
    more = len(section.data) - _MOST_BYTES
    rows = hexdump(section.data[:_MOST_BYTES], section.base)
    return rows + (f"… and {more} more bytes" if more > 0 else "")


def _published(entry: Mapping[str, Any]) -> Published:
    absent = "– not claimed"
    if entry["verdict"] == NOT_IMPLEMENTED:
        absent = "– extension not implemented"
    if not entry["confirmed"]:
        absent = "≠ outdated"
    known = absent == "– not claimed"
    troubles: dict[str, list[Mapping[str, Any]]] = {}
    for case in _read(f"reports/{entry['report']}")["cases"] if entry["confirmed"] else ():
        if Outcome(case["outcome"]) not in (Outcome.PASS, *SKIPPED):
            troubles.setdefault(case["requirement"], []).append(case)
    return Published(
        kind=entry["kind"],
        label=f"{entry['name']} {entry['version']}",
        day=entry["started"][:10],
        page=entry["page"],
        absent=absent,
        outcomes={k: Outcome(v) for k, v in entry["requirements"].items()} if known else {},
        grades=entry.get("grades", {}),
        troubles=troubles,
        sentences=_sentences(entry["id"]) if entry["confirmed"] else {},
    )


def _read(path: str) -> Any:
    data = (ROOT / path).read_bytes()
    return json.loads(gzip.decompress(data) if path.endswith(".gz") else data)


def _sentences(name: str) -> dict[str, str]:
    """Return what is written beside the outcomes that are expected of a server or client."""
    for path in (ROOT / folder / f"{name}.yaml" for folder in _EXPECTATIONS):
        if path.exists():
            entries = yaml.load(path.read_bytes(), yaml.CSafeLoader)["requirements"].items()
            return {k: one["seen"] for k, one in entries if isinstance(one, dict) and "seen" in one}
    return {}


def _disputes(requirement: str) -> list[tuple[str, str]]:
    """Return the headings of docs/disputes.md that name a requirement, each with its anchor."""
    text = (ROOT / "docs" / "disputes.md").read_text("utf-8")
    return [
        (heading, re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-"))
        for heading in re.findall(r"(?m)^#{2,3} (.*)$", text)
        if any(
            requirement in {f"{letter}{n}" for n in range(int(first), int(last or first) + 1)}
            for letter, first, last in _MENTIONED.findall(heading)
        )
    ]


def _cell(text: str) -> str:
    """Return text on one line as HTML: no markup but code between backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(" ".join(text.split()))))
