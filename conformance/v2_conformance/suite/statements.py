"""The documents' sentences on which requirements rest, and their links: cases/statements.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import quote

from v2_conformance.own_files import own_document
from v2_conformance.suite.requirements import Citation, documents

STATEMENTS = "statements.yaml"
_UNLINKED = re.compile(r" ?\{[^{}]*\} ?")
"""What a link to a sentence leaves out."""
_TEXTS = ":~:text="


def link(cited: Citation, requirement: str = "") -> str:
    """Return the URL that opens the cited document at the sentences on which `requirement` rests,
    or at all that are known of the paragraph."""
    known = _known_sentences()
    place = (cited.document, cited.section, cited.paragraph)
    words = known.get((*place, requirement)) or known.get((*place, ""), {})
    anchor = f"section-{cited.section}" if cited.document.startswith("rfc") else ""
    return text_link(cited.document, words, anchor)


def text_link(document: str, words: Iterable[str], anchor: str = "") -> str:
    """Return a URL with a text fragment, https://wicg.github.io/scroll-to-text-fragment/.

    `words` are those of each sentence.
    """
    return f"{documents()[document].url}#{anchor}{_TEXTS}{'&text='.join(map(_fragment, words))}"


def sentences(url: str) -> list[str]:
    """Return the sentences that a URL of `link` opens; none for another URL."""
    page, fragments = url.partition("#")[0], url.partition(_TEXTS)[2].split("&text=")
    return [_linked()[page, one] for one in fragments if (page, one) in _linked()]


@cache
def _linked() -> dict[tuple[str, str], str]:
    """Return every sentence by the URL of its document and its text in links."""
    return {
        (documents()[place[0]].url, _fragment(sentence)): re.sub("[{}]", "", sentence)
        for place, words in _known_sentences().items()
        for sentence in words
    }


def _fragment(sentence: str) -> str:
    return ",".join(_escaped(part) for part in _UNLINKED.split(sentence) if part)


def _escaped(words: str) -> str:
    """Escape what has a meaning in a text fragment, such as the hyphen, which is a delimiter."""
    return quote(words, safe="").replace("-", "%2D")


def statement_entries() -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each statement's document, section and entry, with what others share."""
    named = {}
    for document, sections in own_document(STATEMENTS)["documents"].items():
        for section in sections:
            for entry in section["statements"]:
                named[f"{document}/{section['key']}/{entry['at']}"] = entry
                yield document, section, {**named.get(entry.get("as"), {}), **entry}


@cache
def _known_sentences() -> dict[tuple[str, str, int, str], dict[str, None]]:
    """Return sentences by document, section, paragraph and requirement; "" has all of these."""
    result: dict[tuple[str, str, int, str], dict[str, None]] = {}
    for document, section, entry in statement_entries():
        paragraph = int(entry["at"].partition(".")[0])
        for requirement in (*entry.get("requirements", ()), ""):
            place = (document, section["section"], paragraph, requirement)
            result.setdefault(place, {})[entry["words"]] = None
    for document, cited in own_document(STATEMENTS)["base"].items():
        for section, paragraphs in cited.items():
            for paragraph, words in paragraphs.items():
                result[document, section, int(paragraph), ""] = {words: None}
    return result
