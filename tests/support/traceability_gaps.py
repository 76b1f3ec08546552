"""Missing links between statements, requirements, cases and faults."""

from __future__ import annotations

from collections.abc import Iterator

from tools.traceability.links import BASE_DOCUMENTS, Trace
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.suite.cases import Case
from v2_conformance.suite.requirements import Citation, documents


def find_gaps(trace: Trace) -> list[str]:
    """Every missing or dangling link, one sentence each. There should be none."""
    return [
        *_requirements_without_cases(trace),
        *_templates_without_faults(trace),
        *_dangling_links(trace),
        *_statements_without_links(trace),
        *_paragraphs_without_statements(trace),
        *_citations_without_statements(trace),
        *_citations_without_words(trace),
    ]


def citations(trace: Trace) -> Iterator[tuple[str, Citation]]:
    """Yield every citation, and who cites: a requirement, a variation or an erratum."""
    for requirement in trace.requirements.values():
        yield from ((requirement.id, cited) for cited in requirement.cite)
    yield from trace.variations.items()
    for erratum in trace.errata:
        yield from (("an erratum", at) for at in erratum.where if isinstance(at, Citation))


def _requirements_without_cases(trace: Trace) -> Iterator[str]:
    for requirement in trace.requirements.values():
        templates = trace.templates_of(requirement.id)
        if requirement.superseded_by:
            if templates:
                yield f"{requirement.id} is superseded, but has cases ({templates[0]})"
            continue
        if not templates and not requirement.untested:
            yield f"{requirement.id} has neither a case nor a reason for having none (`untested`)"
        if templates and requirement.untested:
            yield f"{requirement.id} has cases ({templates[0]}), but also a reason for having none"


def _templates_without_faults(trace: Trace) -> Iterator[str]:
    for template, cases in trace.templates.items():
        requirement = cases[0].requirement
        must = any(_level(trace, case) == "MUST" for case in cases)
        if must and not trace.faults_of(requirement):
            yield f"{template} has MUST cases, but no fault breaks {requirement}"


def _level(trace: Trace, case: Case) -> str:
    """The level of a case for a server that claims every profile."""
    requirement = trace.requirements.get(case.requirement)
    if requirement is None or case.level != requirement.level:
        return case.level
    return requirement.level_for(SERVER_PROFILES)


def _dangling_links(trace: Trace) -> Iterator[str]:
    for template, cases in trace.templates.items():
        for requirement in sorted({case.requirement for case in cases} - set(trace.requirements)):
            yield f"{template} is a case of {requirement}, which is not a requirement"
    for name, requirement in trace.faults.items():
        if requirement not in trace.requirements:
            yield f"the fault {name} breaks {requirement}, which is not a requirement"
    for statement in trace.statements.values():
        for requirement in statement.requirements:
            if requirement not in trace.requirements:
                yield f"{statement.name} names {requirement}, which is not a requirement"
    for erratum in trace.errata:
        for at in erratum.where:
            if isinstance(at, str) and at not in trace.statements:
                yield f"an erratum names {at}, which is not a statement"


def _statements_without_links(trace: Trace) -> Iterator[str]:
    for statement in trace.statements.values():
        if not statement.requirements and not statement.reason:
            yield f"{statement.name} has neither a requirement nor a reason for having none"
        if statement.requirements and statement.reason:
            yield f"{statement.name} has requirements, but also a reason for having none"


def _paragraphs_without_statements(trace: Trace) -> Iterator[str]:
    with_sections = {section.document for section in trace.sections}
    for document in documents():
        if document not in BASE_DOCUMENTS and document not in with_sections:
            yield f"{document} has no statements"
    for section in trace.sections:
        name = f"{section.document}/{section.key}"
        paragraphs = set(range(1, section.paragraphs + 1))
        stated = {statement.paragraph for statement in section.statements}
        for paragraph in sorted(paragraphs - stated):
            yield f"{name}: paragraph {paragraph} has no statement"
        for paragraph in sorted(stated - paragraphs):
            yield (
                f"{name}: paragraph {paragraph} has a statement, but the section ends with "
                f"paragraph {section.paragraphs}"
            )


def _citations_without_statements(trace: Trace) -> Iterator[str]:
    """Requirements that cite a paragraph none of whose statements names them."""
    named = {
        (section.document, section.title, statement.paragraph, requirement)
        for section in trace.sections
        for statement in section.statements
        for requirement in statement.requirements
    }
    for requirement in trace.requirements.values():
        for cited in requirement.cite:
            link = (cited.document, cited.section, cited.paragraph, requirement.id)
            if cited.document not in BASE_DOCUMENTS and link not in named:
                yield (
                    f"{requirement.id} cites {_place(cited)}, but no statement of that paragraph "
                    f"names {requirement.id}"
                )
        if requirement.basis == "text" and not trace.statements_of(requirement.id):
            yield f"{requirement.id} has the basis text, but no statement names it"


def _citations_without_words(trace: Trace) -> Iterator[str]:
    """Citations that no link can open at a sentence, and sentences that nobody cites."""
    cited = {at: who for who, at in citations(trace) if at.document in BASE_DOCUMENTS}
    for at, who in cited.items():
        if at not in trace.base:
            yield f"{who} cites {_place(at)}, but `base` does not have its words"
    for at in trace.base:
        if at not in cited:
            yield f"nobody cites {_place(at)}, but `base` has its words"


def _place(at: Citation) -> str:
    return f"{at.document}, {at.section}, paragraph {at.paragraph}"
