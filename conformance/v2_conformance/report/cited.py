"""Citations of the catalogue as a report has them."""

from __future__ import annotations

from collections.abc import Iterable

from v2_conformance.report.document import CitedDocument
from v2_conformance.suite.requirements import Citation, documents
from v2_conformance.suite.statements import link


def cited_documents(cite: Iterable[Citation], requirement: str = "") -> tuple[CitedDocument, ...]:
    """Return the citations with the titles of their documents and with links to the sentences.

    Of a paragraph, only the sentences on which `requirement` rests are linked.
    """
    return tuple(
        CitedDocument(
            document=documents()[cited.document].title,
            url=link(cited, requirement),
            section=cited.section,
            paragraph=cited.paragraph,
        )
        for cited in cite
    )
