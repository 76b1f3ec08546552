"""The standard as pages: a page for each requirement, family, datatype, server and client."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import escape

from tools.site.first_bytes import first_case, ranges
from tools.site.published import Published
from v2_conformance.formats.html.page import requirement_anchor
from v2_conformance.formats.outcomes_shown import LOOKS
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.public_address import REPOSITORY, is_known
from v2_conformance.report.cited import cited_documents
from v2_conformance.report.words import losses
from v2_conformance.suite.cases import Case, ClientCase, RequestCase
from v2_conformance.suite.library import client_cases, suite_cases
from v2_conformance.suite.outcomes import FAILED
from v2_conformance.suite.requirements import Requirement, catalogue, catalogue_version, families

BASES: Mapping[str, str] = {
    "text": "a document of the extension says it",
    "oip": "the base protocol says it",
    "http": "an RFC says it",
    "derived": "it follows from what the documents say",
}
_ID = re.compile(r"\b([A-Z][0-9]{1,2})\b")
_SPAN = re.compile(r"\b([A-Z])([0-9]{1,2}) to \1([0-9]{1,2})\b")
_HEADING = re.compile(r"(?m)^(#{2,3}) (.*)$")
_SHOWN = 3
_ENTITIES = {c: f"&#{ord(c)};" for c in "&<>\"'\\|*_[]#~{}`"}


@dataclass(frozen=True)
class Dispute:
    """A section of docs/disputes.md: its heading, and its anchor on the page."""

    heading: str
    anchor: str


class Standard:
    """Every page of the standard, made from the catalogue, the cases and published reports."""

    def __init__(self, root: Path, reports: Sequence[Published]) -> None:
        self.servers = [one for one in reports if one.kind == "server"]
        self.clients = [one for one in reports if one.kind == "client"]
        self.disputes = disputes((root / "docs" / "disputes.md").read_text("utf-8"))
        self.cases: dict[str, list[Case]] = {}
        for case in (*suite_cases(), *client_cases()):
            self.cases.setdefault(case.requirement, []).append(case)

    def pages(self) -> Iterator[tuple[str, str]]:
        """Each page: its path below standard/, and its Markdown."""
        current = [one for one in catalogue().values() if not one.superseded_by]
        grouped = {
            letter: [one for one in current if one.family == letter] for letter in families()
        }
        looks = self._looks(current)
        yield "index.md", self._page("index", families=families(), grouped=grouped, looks=looks)
        for letter, title in families().items():
            yield (
                f"family-{letter}.md",
                self._page("family", letter=letter, title=title, rows=grouped[letter]),
            )
        for one in current:
            yield f"{one.id}.md", self._requirement(one)
        for name in DATATYPES:
            yield f"datatype-{name}.md", self._datatype(name)
        for subject in (self.servers, self.clients):
            for name in dict.fromkeys(one.name for one in subject):
                versions = [one for one in subject if one.name == name]
                yield f"{page_name(name)}.md", self._product(name, versions)

    def _looks(self, current: Sequence[Requirement]) -> list[tuple[str, str]]:
        """The outcomes that occur, each with its sign, in the order of their looks."""
        tested = [(report, one.id) for one in current for report in self.testing(one)]
        found = {(report.tone(name), report.said(name)) for report, name in tested}
        places = {outcome.value: place for place, outcome in enumerate(LOOKS)}
        return sorted(found, key=lambda look: (places.get(look[0], len(places)), look))

    def testing(self, one: Requirement) -> Sequence[Published]:
        """The published reports on what the requirement is about."""
        return self.clients if one.profile == "client" else self.servers

    def _requirement(self, one: Requirement) -> str:
        case = first_case(one.id)
        cases = self.cases.get(one.id, [])
        return self._page(
            "requirement",
            one=one,
            family=families()[one.family],
            basis=BASES[one.basis],
            harm="" if one.harm is None else losses(client=one.profile == "client")[one.harm],
            cited=cited_documents(one.cite, one.id),
            why=next((c.why for c in cases if c.why), ""),
            number=len(cases),
            case=case,
            ranges=[] if case is None else ranges(case),
            disputes=[d for d in self.disputes if one.id in mentioned(d.heading)],
            reports=self.testing(one),
        )

    def _datatype(self, name: str) -> str:
        about: dict[str, list[Case]] = {}
        for requirement, cases in self.cases.items():
            found = [case for case in cases if name in datatypes_of(case)]
            if found:
                about[requirement] = found
        rows = [
            (catalogue()[key], {case.id for case in cases})
            for key, cases in sorted(
                about.items(), key=lambda item: list(catalogue()).index(item[0])
            )
        ]
        return self._page("datatype", datatype=DATATYPES[name], rows=rows)

    def _product(self, name: str, versions: Sequence[Published]) -> str:
        tested = [
            one
            for one in catalogue().values()
            if any(one.id in version.outcomes for version in versions)
        ]
        failing = [one for one in tested if any(v.outcomes.get(one.id) in FAILED for v in versions)]
        others = [one for one in tested if one not in failing]
        return self._page("product", name=name, versions=versions, failing=failing, others=others)

    def _page(self, template: str, **members: Any) -> str:
        return (
            _templates()
            .get_template(f"{template}.md.j2")
            .render(
                servers=self.servers,
                clients=self.clients,
                catalogue=catalogue(),
                catalogue_version=catalogue_version(),
                datatypes=DATATYPES,
                issues=f"https://github.com/{REPOSITORY}/issues/new/choose" if is_known() else "",
                most=_SHOWN,
                **members,
            )
        )


def datatypes_of(case: Case) -> set[str]:
    """The datatypes that a case is about: that of its model, or of its task."""
    if isinstance(case, RequestCase):
        role, _, datatype = case.model.partition("/")
        return {datatype} & DATATYPES.keys() if role in ("identity", "matrix") else set()
    if isinstance(case, ClientCase):
        return {word for word in re.findall(r"[A-Z0-9]+", case.id) if word in DATATYPES}
    return set()


def disputes(text: str) -> list[Dispute]:
    """The sections of docs/disputes.md, with the anchors that MkDocs gives them."""
    return [Dispute(found[2], anchor_of(found[2])) for found in _HEADING.finditer(text)]


def anchor_of(heading: str) -> str:
    """The anchor of a heading, as the site and GitHub make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def mentioned(heading: str) -> set[str]:
    """The requirements that a heading names, one by one or as a span."""
    found = set(_ID.findall(heading))
    for letter, first, last in _SPAN.findall(heading):
        found |= {f"{letter}{number}" for number in range(int(first), int(last) + 1)}
    return found


def page_name(name: str) -> str:
    """The name of a product's page."""
    return "on-" + re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def cell(text: str) -> str:
    """Text of a report, or of the catalogue, on one line: no markup but code between backticks."""
    pieces = re.split(r"`([^`\n]+)`", " ".join(text.split()))
    plain = ["".join(_ENTITIES.get(c, c) for c in piece) for piece in pieces]
    return "".join(f"<code>{p}</code>" if number % 2 else p for number, p in enumerate(plain))


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "pages"),
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters |= {"cell": cell, "escaped": escape, "page_name": page_name}
    made.globals["requirement_anchor"] = requirement_anchor
    return made
