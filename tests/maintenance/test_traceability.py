"""Traceability: no link is missing, and the page has all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from tools.traceability.links import BASE_DOCUMENTS, Trace, suite_trace
from tools.traceability.page import PAGE, traceability_page
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.suite.requirements import Citation, catalogue, documents
from v2_conformance.suite.statements import link, sentences

links = cache(suite_trace)
page = cache(lambda: traceability_page(links()))


def test_every_requirement_has_cases_or_a_reason_for_having_none() -> None:
    for requirement in links().requirements.values():
        untested = bool(requirement.untested or requirement.superseded_by)
        assert bool(links().templates_of(requirement.id)) != untested, requirement.id


def test_every_template_with_must_cases_has_a_fault() -> None:
    for template, cases in links().templates.items():
        levels = {case.facts(SERVER_PROFILES).level for case in cases}
        assert "MUST" not in levels or links().faults_of(cases[0].requirement), template


def test_what_is_linked_is_there() -> None:
    statements = links().statements.values()
    named = {name for statement in statements for name in statement.requirements}
    named |= {*links().faults.values(), *(case.requirement for case in links().cases)}
    assert named <= links().requirements.keys()
    wrong = {at for one in links().errata for at in one.where if isinstance(at, str)}
    assert wrong <= links().statements.keys()


def test_every_paragraph_is_stated_and_each_statement_has_a_requirement_or_a_reason() -> None:
    stated = {section.document for section in links().sections}
    assert stated == set(documents()) - set(BASE_DOCUMENTS)
    for section in links().sections:
        paragraphs = {statement.paragraph for statement in section.statements}
        assert paragraphs == set(range(1, section.paragraphs + 1)), section.key
    for statement in links().statements.values():
        assert bool(statement.requirements) != bool(statement.reason), statement.name


def test_what_a_requirement_cites_names_it() -> None:
    named = {
        (section.document, section.title, statement.paragraph, requirement)
        for section in links().sections
        for statement in section.statements
        for requirement in statement.requirements
    }
    for id, entry in links().requirements.items():
        own = [cited for cited in entry.cite if cited.document not in BASE_DOCUMENTS]
        assert {(at.document, at.section, at.paragraph, id) for at in own} <= named
        assert entry.basis != "text" or any(id in one[-1] for one in named), id


def citations() -> Iterator[tuple[str, Citation]]:
    """Yield every citation, and who cites: a requirement, a variation or an erratum."""
    for requirement in links().requirements.values():
        yield from ((requirement.id, cited) for cited in requirement.cite)
    yield from links().variations.items()
    for erratum in links().errata:
        yield from (("an erratum", at) for at in erratum.where if isinstance(at, Citation))


def test_the_words_of_base_documents_are_those_that_are_cited() -> None:
    assert {at for _, at in citations() if at.document in BASE_DOCUMENTS} == set(links().base)


def without_cases(id: str, **changes: Any) -> Trace:
    """The suite with no case of a requirement, which is changed."""
    known = links().requirements
    cases = [case for case in links().cases if case.requirement != id]
    return replace(links(), requirements={**known, id: replace(known[id], **changes)}, cases=cases)


def test_the_page_says_why_a_requirement_has_no_case() -> None:
    untested = traceability_page(without_cases("P2", untested="It is made up."))
    assert "| [P2](#p2) " in untested.partition("## Requirements without a case")[2]
    superseded = traceability_page(without_cases("P2", superseded_by=("P3",)))
    assert ", superseded by [P3](#p3)" in superseded


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
    cited = [(link(at, who), at) for who, at in citations()]
    assert len(cited) > 600
    for url, at in cited:
        assert LINK.fullmatch(url), at
        assert len(sentences(url)) == url.count("text="), at
        assert (f"#section-{at.section}:" in url) == at.document.startswith("rfc"), at
    assert link(Citation("rfc9112", "6.2", 2), "C9").endswith(
        "rfc9112.html#section-6.2:~:text=A%20sender%20MUST%20NOT%20send%20a,"
        "Transfer%2DEncoding%20header%20field"
    )
    place = Citation("triton", "Binary Tensor Request", 1)
    assert sentences(link(place, "P2"))[0].endswith("body after the JSON object (see Examples)")
    assert [link(place, who).count("text=") for who in ("P2", "P8", "")] == [1, 2, 5]


def test_every_requirement_and_statement_is_in_the_page() -> None:
    for name in [*catalogue(), *links().statements]:
        assert f'<a id="{re.sub("[/.]", "-", name).lower()}"></a>' in page()


def test_disputes_lists_every_disputed_requirement() -> None:
    text = PAGE.with_name("disputes.md").read_text(encoding="utf-8")
    for item in catalogue().values():
        if item.level == "DISPUTED":
            assert f"\n## {item.id}: " in text
    for template in re.findall(r"`([A-Z][0-9]+/[a-z0-9-]+)`", text):
        assert template in links().templates
