"""The statements of the documents, sentence by sentence, and their errata:
cases/statements.yaml."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

import msgspec

from v2_conformance.own_files import own_document
from v2_conformance.suite.requirements import Citation, documents

_FILE = "statements.yaml"
_BETWEEN = " … "
"""Stands between the first and the last words of a sentence."""

# The words of sentences by document, section, paragraph and requirement. Under "" are those of all
# sentences of the paragraph.
_Sentences = dict[tuple[str, str, int, str], tuple[str, ...]]


@dataclass(frozen=True)
class Statement:
    """One statement of a document, in our words. `name` is DOCUMENT/SECTION KEY/PARAGRAPH.NUMBER.

    `words` are the first and the last words of the sentence, as the document's page shows them. A
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
    listed = own_document(_FILE)["documents"]
    entries = dict(_walk(listed))
    return tuple(
        DocumentSection(
            document,
            section["section"],
            section["key"],
            section["paragraphs"],
            tuple(
                _statement(_name(document, section, entry), entries)
                for entry in section["statements"]
            ),
        )
        for document, sections in listed.items()
        for section in sections
    )


@cache
def errata() -> tuple[Erratum, ...]:
    """Return the errata, in the order of the file."""
    return msgspec.convert(own_document(_FILE)["errata"], tuple[Erratum, ...])


def link(cited: Citation, requirement: str = "") -> str:
    """Return the URL that opens the cited document at the sentences on which `requirement` rests.

    Without a requirement, or if no sentence of the paragraph is said to be about it, these are all
    sentences of the paragraph that are known.
    """
    known = _known_sentences()
    place = (cited.document, cited.section, cited.paragraph)
    words = known.get((*place, requirement)) or known.get((*place, ""), ())
    anchor = f"section-{cited.section}" if cited.document.startswith("rfc") else ""
    return _url(cited.document, anchor, words)


def link_of(statement: Statement) -> str:
    """Return the URL that opens the statement's document at its sentence."""
    return _url(statement.name.partition("/")[0], "", [statement.words])


def _url(document: str, anchor: str, words: Iterable[str]) -> str:
    """Return a URL with a text fragment, https://wicg.github.io/scroll-to-text-fragment/."""
    texts = [",".join(map(_escaped, sentence.split(_BETWEEN))) for sentence in words]
    return f"{documents()[document].url}#{anchor}:~:text={'&text='.join(texts)}"


def _escaped(words: str) -> str:
    """Escape what has a meaning in a text fragment, such as the hyphen, which is a delimiter."""
    return quote(words, safe="").replace("-", "%2D")


def base_sentences() -> dict[Citation, str]:
    """Return the words of each sentence of the base documents that is cited."""
    return {
        Citation(document, section, int(paragraph)): words
        for document, cited in own_document(_FILE)["base"].items()
        for section, paragraphs in cited.items()
        for paragraph, words in paragraphs.items()
    }


@cache
def _known_sentences() -> _Sentences:
    found: dict[tuple[str, str, int, str], dict[str, None]] = {}
    for section in sections():
        for one in section.statements:
            for requirement in (*one.requirements, ""):
                place = (section.document, section.title, one.paragraph, requirement)
                found.setdefault(place, {})[one.words] = None
    for cited, words in base_sentences().items():
        found[cited.document, cited.section, cited.paragraph, ""] = {words: None}
    return {place: tuple(words) for place, words in found.items()}


def _walk(documents: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name of every statement, and its entry in the file."""
    for document, listed in documents.items():
        for section in listed:
            for entry in section["statements"]:
                yield _name(document, section, entry), entry


def _name(document: str, section: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    return f"{document}/{section['key']}/{entry['at']}"


def _statement(name: str, entries: Mapping[str, Mapping[str, Any]]) -> Statement:
    same_as = entries[name].get("as", "")
    entry = entries[same_as or name]
    return Statement(
        name,
        int(entries[name]["at"].partition(".")[0]),
        entry["says"],
        entries[name].get("words", entry["words"]),
        tuple(entry.get("requirements", ())),
        entry.get("reason", ""),
        same_as,
    )
