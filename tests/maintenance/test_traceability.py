"""Traceability: no link is missing, each gate notices what is, and the page has all."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.traceability_gaps import citations, find_gaps
from tools.traceability.links import Trace, suite_trace
from tools.traceability.page import traceability_page
from tools.traceability.statements import DocumentSection, Statement
from v2_conformance.suite.requirements import Citation, catalogue
from v2_conformance.suite.statements import link

DOCS = Path(__file__).resolve().parents[2] / "docs"

links = cache(suite_trace)


@cache
def page() -> str:
    return traceability_page(links())


def with_requirement(id: str, **changes: Any) -> Trace:
    known = dict(links().requirements)
    return replace(links(), requirements={**known, id: replace(known[id], **changes)})


def without_cases(id: str, **changes: Any) -> Trace:
    """The suite with no case of a requirement, which is changed."""
    cases = [case for case in links().cases if case.requirement != id]
    return replace(with_requirement(id, **changes), cases=cases)


def with_statement(requirements: tuple[str, ...], paragraphs: int = 1) -> Trace:
    made = Statement("triton/made-up/1.1", 1, MADE_UP, "made up", requirements)
    section = DocumentSection("triton", "Made up", "made-up", paragraphs, (made,))
    return replace(links(), sections=[*links().sections, section])


MADE_UP = "It is made up."
PLACE, NOWHERE = Citation("triton", "Made up", 1), Citation("rfc9110", "5.1", 99)
GAPS: list[tuple[Callable[[], Trace], list[str]]] = [
    (links, []),
    (lambda: without_cases("P2"), ["P2 has neither a case nor a reason for having none"]),
    (lambda: without_cases("P2", superseded_by=("P3",)), []),
    (
        lambda: replace(links(), faults={n: o for n, o in links().faults.items() if o != "P2"}),
        ["P2/blob-follows-json has MUST cases, but no fault breaks P2"],
    ),
    (lambda: with_statement(()), ["triton/made-up/1.1 has neither a requirement nor a reason"]),
    (lambda: with_statement(("P2",), 2), ["triton/made-up: paragraph 2 has no statement"]),
    (
        lambda: with_requirement("P2", cite=(*links().requirements["P2"].cite, PLACE)),
        ["P2 cites triton, Made up, paragraph 1, but no statement of that paragraph names P2"],
    ),
    (
        lambda: with_requirement("H2", cite=(NOWHERE,)),
        ["H2 cites rfc9110, 5.1, paragraph 99, but `base` does not have its words"],
    ),
]


@pytest.mark.parametrize(("trace", "gaps"), GAPS)
def test_the_suite_has_no_gaps_and_each_missing_link_is_one(
    trace: Callable[[], Trace], gaps: list[str]
) -> None:
    found = find_gaps(trace())
    assert len(found) == len(gaps)
    assert all(one.startswith(gap) for one, gap in zip(found, gaps, strict=True))


def test_the_page_says_why_a_requirement_has_no_case() -> None:
    untested = traceability_page(without_cases("P2", untested=MADE_UP))
    assert "| [P2](#p2) " in untested.partition("## Requirements without a case")[2]
    superseded = traceability_page(without_cases("P2", superseded_by=("P3",)))
    assert "none, superseded by [P3](#p3)" in superseded


def test_a_statement_as_another_has_its_words_and_requirements() -> None:
    by_name = links().statements
    translated = by_name["triton-zh/request/8.2"]
    source = by_name[translated.same_as]
    assert source.name == "triton/request/8.2"
    assert (translated.says, translated.requirements) == (source.says, source.requirements)


LINK = re.compile(
    r"https://[^#\s]+#(section-[0-9.]+)?:~:text=[^-\s,&]+(,[^-\s,&]+)?(&text=[^-\s,&]+(,[^-\s,&]+)?)*"
)


def test_every_citation_opens_its_document_at_the_sentence() -> None:
    cited = [(link(at, who), at) for who, at in citations(links())]
    assert len(cited) > 600
    for url, at in cited:
        assert LINK.fullmatch(url), at
        assert (f"#section-{at.section}:" in url) == at.document.startswith("rfc"), at
    assert link(Citation("rfc9112", "6.2", 2), "C9").endswith(
        "rfc9112.html#section-6.2:~:text=A%20sender%20MUST%20NOT%20send%20a,"
        "Transfer%2DEncoding%20header%20field"
    )
    place = Citation("triton", "Binary Tensor Request", 1)
    assert [link(place, who).count("text=") for who in ("P2", "P8", "")] == [1, 2, 5]


def test_every_requirement_fault_and_template_is_in_the_page() -> None:
    for id in catalogue():
        assert f'<a id="{id.lower()}"></a>' in page()
    for name in [*links().faults, *links().templates]:
        assert name in page()


def test_disputes_lists_every_disputed_requirement() -> None:
    text = (DOCS / "disputes.md").read_text(encoding="utf-8")
    for item in catalogue().values():
        if item.level == "DISPUTED":
            assert f"\n## {item.id}: " in text
    for template in re.findall(r"`([A-Z][0-9]+/[a-z0-9-]+)`", text):
        assert template in links().templates
