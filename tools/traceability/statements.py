"""The statements of the documents, sentence by sentence, and errata: cases/statements.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from v2_conformance.own_files import own_document
from v2_conformance.suite.requirements import Citation
from v2_conformance.suite.statements import STATEMENTS, statement_entries, text_link


@dataclass(frozen=True)
class Statement:
    """One statement of a document, in our words. `name` is DOCUMENT/SECTION KEY/PARAGRAPH.NUMBER.

    `words` are the sentence as the document's page shows it, with what links leave out in braces. A
    statement has either `requirements` or a `reason` why it has none. `same_as` names the statement
    of another document whose text, requirements and reason it shares.
    """

    name: str
    paragraph: int
    says: str
    words: str
    requirements: tuple[str, ...] = ()
    reason: str = ""
    same_as: str = ""


@dataclass(frozen=True)
class DocumentSection:
    """A section of `document` (a key of `documents()`) with its statements in order.

    `paragraphs` is the number of its paragraphs and list items.
    """

    document: str
    title: str
    key: str
    paragraphs: int
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Erratum:
    """A mistake in the documents: what they say, what is right, and the evidence for it.

    `where` has names of statements, and citations of paragraphs whose statements are not listed.
    """

    where: tuple[str | Citation, ...]
    says: str
    right: str
    evidence: str


@cache
def sections() -> tuple[DocumentSection, ...]:
    """Return every section of the five documents."""
    result: dict[tuple[str, str], list[Statement]] = {}
    listed: dict[tuple[str, str], Any] = {}
    for document, section, entry in statement_entries():
        place = document, section["key"]
        listed[place] = section
        result.setdefault(place, []).append(
            Statement(
                f"{document}/{section['key']}/{entry['at']}",
                int(entry["at"].partition(".")[0]),
                entry["says"],
                entry["words"],
                tuple(entry.get("requirements", ())),
                entry.get("reason", ""),
                entry.get("as", ""),
            )
        )
    return tuple(
        DocumentSection(
            place[0],
            section["section"],
            section["key"],
            section["paragraphs"],
            tuple(result[place]),
        )
        for place, section in listed.items()
    )


@cache
def errata() -> tuple[Erratum, ...]:
    """Return the errata, in the order of the file."""
    return msgspec.convert(own_document(STATEMENTS)["errata"], tuple[Erratum, ...])


def link_of(statement: Statement) -> str:
    """Return the URL that opens the statement's document at its sentence."""
    return text_link(statement.name.partition("/")[0], [statement.words])


def base_citations() -> set[Citation]:
    """Return the places of the base documents whose words are known."""
    return {
        Citation(document, section, int(paragraph))
        for document, cited in own_document(STATEMENTS)["base"].items()
        for section, paragraphs in cited.items()
        for paragraph in paragraphs
    }
