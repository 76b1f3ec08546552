"""The links of a report's page: to its cases and requirements, and to the sources that it cites."""

from __future__ import annotations

import re
from typing import NamedTuple

from v2_conformance.report.document import CitedDocument

_RFC = re.compile(r"https://www\.rfc-editor\.org/rfc/rfc[0-9]+\.html")
_UNSAFE = re.compile(r"[^A-Za-z0-9/,:._+=-]")
_KEPT_BRACKETS = {"[": "(", "]": ")"}


def case_anchor(case_id: str) -> str:
    """The anchor of a case in the page: needs no quoting in a URL, differs for every id."""
    return "case-" + _safe(case_id)


def requirement_anchor(requirement_id: str) -> str:
    """The anchor of a requirement in the page."""
    return "req-" + _safe(requirement_id)


class Source(NamedTuple):
    """One citation, ready to print; `url` is "" if readers should not follow it."""

    title: str
    url: str
    place: str


def source(cited: CitedDocument) -> Source:
    """Return a citation as the page prints it."""
    url, place = cited.url, cited.section
    if rfc := _RFC.match(url):
        url = f"{url}#section-{place}" if rfc.end() == len(url) else url  # a report of before 3.0
        place = f"section {place}"
    if cited.paragraph is not None:
        place += f", paragraph {cited.paragraph}"
    safe = url.startswith(("https://", "http://"))
    return Source(cited.document, url if safe else "", place)


def _safe(text: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        char = match[0]
        coded = "".join(f"~{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
        return _KEPT_BRACKETS.get(char, coded)

    return _UNSAFE.sub(replaced, text)
