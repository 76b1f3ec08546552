"""Traceability: no link is missing, each gate notices what is, the page is up to date."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from v2_conformance.errors import CaseFileError
from v2_conformance.maintenance.traceability import statements as module
from v2_conformance.maintenance.traceability.gaps import find_gaps
from v2_conformance.maintenance.traceability.links import Trace, suite_trace
from v2_conformance.maintenance.traceability.page import traceability_page
from v2_conformance.maintenance.traceability.statements import (
    DocumentSection,
    Erratum,
    Statement,
    errata,
    sections,
)
from v2_conformance.resources import folder, schema
from v2_conformance.suite.requirements import Citation, catalogue, documents

DOCS = Path(__file__).resolve().parents[2] / "docs"

links = cache(suite_trace)


@cache
def page() -> str:
    return traceability_page(links())


def with_requirement(id: str, **changes: Any) -> Trace:
    known = dict(links().requirements)
    return replace(links(), requirements={**known, id: replace(known[id], **changes)})


def with_statements(*made: Statement, paragraphs: int = 1, document: str = "triton") -> Trace:
    section = DocumentSection(document, "Made up", "made-up", paragraphs, made)
    return replace(links(), sections=[*links().sections, section])


def made(**changes: Any) -> Statement:
    return replace(Statement("triton/made-up/1.1", 1, "It is made up.", ("P2",)), **changes)


def test_the_suite_has_no_gaps() -> None:
    assert find_gaps(links()) == []


def test_traceability_is_up_to_date() -> None:
    path = DOCS / "traceability.md"
    hint = "run: v2-conformance list traceability > docs/traceability.md"
    assert path.read_text(encoding="utf-8") == page(), hint


def test_each_of_the_five_documents_has_its_statements() -> None:
    documented = ["triton", "triton-rendered", "triton-zh", "kserve", "kserve-legacy"]
    assert list(dict.fromkeys(section.document for section in sections())) == documented
    assert set(documented) < set(documents())


def test_a_requirement_without_case_or_reason_is_a_gap() -> None:
    cases = [case for case in links().cases if case.requirement != "P2"]
    assert find_gaps(replace(links(), cases=cases)) == [
        "P2 has neither a case nor a reason for having none (`untested`)"
    ]


def test_a_requirement_without_a_case_is_excused_by_its_reason() -> None:
    cases = [case for case in links().cases if case.requirement != "P2"]
    excused = replace(with_requirement("P2", untested="It is made up."), cases=cases)
    assert find_gaps(excused) == []
    assert (
        "| [P2](#p2) " in traceability_page(excused).partition("## Requirements without a case")[2]
    )


def test_a_superseded_requirement_needs_no_case_and_may_have_none() -> None:
    cases = [case for case in links().cases if case.requirement != "P2"]
    superseded = replace(with_requirement("P2", superseded_by=("P3",)), cases=cases)
    assert find_gaps(superseded) == []
    assert "none, superseded by [P3](#p3)" in traceability_page(superseded)
    assert find_gaps(with_requirement("P2", superseded_by=("P3",))) == [
        "P2 is superseded, but has cases (P2/blob-follows-json)"
    ]


def test_a_reason_that_outlived_the_first_case_is_a_gap() -> None:
    assert find_gaps(with_requirement("P2", untested="It is made up.")) == [
        "P2 has cases (P2/blob-follows-json), but also a reason for having none"
    ]


def test_a_case_without_a_requirement_is_a_gap() -> None:
    case = replace(links().cases[0], id="Y1/made-up[a]", requirement="Y1", level="MAY")
    assert find_gaps(replace(links(), cases=[*links().cases, case])) == [
        "Y1/made-up is a case of Y1, which is not a requirement"
    ]


def test_a_must_case_without_a_fault_is_a_gap() -> None:
    faults = {name: breaks for name, breaks in links().faults.items() if breaks != "P2"}
    assert find_gaps(replace(links(), faults=faults)) == [
        "P2/blob-follows-json has MUST cases, but no fault breaks P2"
    ]


def test_one_must_case_among_those_of_an_entry_is_enough_to_want_a_fault() -> None:
    first = next(case for case in links().cases if case.requirement == "P7")
    must = replace(first, id=f"{first.id}[must]", level="MUST")
    (gap,) = find_gaps(replace(links(), cases=[*links().cases, must]))
    assert gap == f"{first.id} has MUST cases, but no fault breaks P7"


def test_a_case_that_a_profile_raises_to_must_wants_a_fault() -> None:
    faults = {name: breaks for name, breaks in links().faults.items() if breaks != "P1"}
    assert find_gaps(replace(links(), faults=faults)) == [
        "P1/metadata-lists-extension has MUST cases, but no fault breaks P1"
    ]


def test_a_should_case_wants_no_fault() -> None:
    faults = {name: breaks for name, breaks in links().faults.items() if breaks != "P4"}
    assert find_gaps(replace(links(), faults=faults)) == []


def test_a_fault_of_no_requirement_is_a_gap() -> None:
    assert find_gaps(replace(links(), faults={**links().faults, "made-up": "Y1"})) == [
        "the fault made-up breaks Y1, which is not a requirement"
    ]


@pytest.mark.parametrize(
    ("statement", "gap"),
    [
        (
            made(requirements=()),
            "triton/made-up/1.1 has neither a requirement nor a reason for having none",
        ),
        (
            made(reason="It is made up."),
            "triton/made-up/1.1 has requirements, but also a reason for having none",
        ),
        (
            made(requirements=("Y1",)),
            "triton/made-up/1.1 names Y1, which is not a requirement",
        ),
    ],
)
def test_a_statement_that_leads_nowhere_is_a_gap(statement: Statement, gap: str) -> None:
    assert find_gaps(with_statements(statement)) == [gap]


def test_a_statement_with_a_reason_instead_is_none() -> None:
    assert find_gaps(with_statements(made(requirements=(), reason="It is made up."))) == []


def test_a_paragraph_without_a_statement_is_a_gap() -> None:
    assert find_gaps(with_statements(made(), paragraphs=2)) == [
        "triton/made-up: paragraph 2 has no statement"
    ]


def test_a_statement_behind_the_last_paragraph_is_a_gap() -> None:
    second = made(name="triton/made-up/2.1", paragraph=2)
    assert find_gaps(with_statements(made(), second)) == [
        "triton/made-up: paragraph 2 has a statement, but the section ends with paragraph 1"
    ]


def test_a_document_without_statements_is_a_gap() -> None:
    left = [section for section in links().sections if section.document != "triton-zh"]
    found = find_gaps(replace(links(), sections=left))
    assert "triton-zh has no statements" in found
    assert all("triton-zh" in gap for gap in found)


def test_a_citation_that_no_statement_returns_is_a_gap() -> None:
    cite = (*links().requirements["P2"].cite, Citation("triton", "Made up", 1))
    assert find_gaps(with_requirement("P2", cite=cite)) == [
        "P2 cites triton, Made up, paragraph 1, but no statement of that paragraph names P2"
    ]


def test_a_requirement_of_the_text_that_no_statement_names_is_a_gap() -> None:
    cite = (Citation("rfc9110", "5.1"),)
    assert find_gaps(with_requirement("H2", basis="text", cite=cite)) == [
        "H2 has the basis text, but no statement names it"
    ]


def test_an_erratum_of_a_statement_that_is_not_there_is_a_gap() -> None:
    erratum = Erratum(("triton/made-up/1.1",), "It is.", "It is not.", "It is made up.")
    assert find_gaps(replace(links(), errata=[erratum])) == [
        "an erratum names triton/made-up/1.1, which is not a statement"
    ]


def test_places_of_other_documents_are_in_known_documents() -> None:
    places = [at for erratum in errata() for at in erratum.where if isinstance(at, Citation)]
    assert places
    assert {place.document for place in places} <= set(documents())


def test_a_statement_as_another_has_its_words_and_requirements() -> None:
    by_name = links().statements
    translated = by_name["triton-zh/request/8.2"]
    source = by_name[translated.same_as]
    assert source.name == "triton/request/8.2"
    assert (translated.says, translated.requirements) == (source.says, source.requirements)


def test_every_link_in_the_page_leads_somewhere() -> None:
    ids = set(re.findall(r'<a id="([^"]+)">', page()))
    ids |= {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"(?m)^#+ (.*)$", page())
    }
    for target in set(re.findall(r"\]\(([^)]+)\)", page())):
        if target.startswith("#"):
            assert target[1:] in ids, target
        elif not target.startswith("https://"):
            assert (DOCS / target).is_file(), target


def test_every_row_of_a_table_has_the_cells_of_its_head() -> None:
    cells = 0
    for line in page().splitlines():
        if not line.startswith("|"):
            cells = 0
            continue
        found = len(re.findall(r"(?<!\\)\|", line)) - 1
        assert found == (cells or found), line
        cells = found


def test_every_requirement_fault_and_template_is_in_the_page() -> None:
    for id in catalogue():
        assert f'<a id="{id.lower()}"></a>' in page()
    for name in [*links().faults, *links().templates]:
        assert name in page()


def test_schema_is_itself_a_schema() -> None:
    validator = schema("statements")
    validator.check_schema(validator.schema)


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A statements.yaml to break."""
    path = tmp_path / "statements.yaml"
    path.write_bytes((folder("cases") / "statements.yaml").read_bytes())
    monkeypatch.setattr(module, "folder", lambda name: tmp_path)
    caches = (module._statements_file, sections, errata)
    for cached in caches:
        cached.cache_clear()
    yield path
    for cached in caches:
        cached.cache_clear()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('at: "1.2"', 'at: "1.1"', r":\d+: triton/title/1.1 is listed twice"),
        (
            "as: triton/title/1.1",
            "as: triton/title/9.9",
            "the same as triton/title/9.9, which is not a statement",
        ),
        (
            "requirements: [P1]",
            "requirements: []",
            r":\d+: documents\.triton\.0\..*requirements: ",
        ),
        (
            "requirements: [P1]",
            "reason: No.",
            r":\d+: documents\.triton\.0\..*reason: ",
        ),
        ("paragraphs: 1", "paragraphs: 0", "0 is less than the minimum"),
        ("evidence: ", "proof: ", "'evidence' is a required"),
    ],
)
def test_broken_statements_are_refused(edited: Path, old: str, new: str, message: str) -> None:
    text = edited.read_text(encoding="utf-8")
    assert old in text
    edited.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(CaseFileError, match=message):
        (sections(), errata())


def test_summaries_of_a_document_are_each_said_once() -> None:
    data = yaml.safe_load((folder("cases") / "statements.yaml").read_text(encoding="utf-8"))
    for document, listed in data["documents"].items():
        says = [
            entry.get("says", entry.get("as"))
            for section in listed
            for entry in section["statements"]
            if "reason" not in entry
        ]
        twice = {text for text in says if says.count(text) > 1} - {"It is a boolean."}
        assert not twice, document


def test_disputes_lists_every_disputed_requirement_and_its_links_lead_somewhere() -> None:
    text = (DOCS / "disputes.md").read_text(encoding="utf-8")
    for item in catalogue().values():
        if item.level == "DISPUTED":
            assert f"\n## {item.id}: " in text
    ids = set(re.findall(r'<a id="([^"]+)">', page())) | {"errata-of-the-documents"}
    targets = re.findall(r"\]\(traceability\.md#([^)]+)\)", text)
    assert targets
    assert set(targets) <= ids
    for template in re.findall(r"`([A-Z][0-9]+/[a-z0-9-]+)`", text):
        assert template in links().templates
