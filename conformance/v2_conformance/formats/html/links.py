"""The links of a report's page: to its cases and requirements, and to the sources that it cites."""

from __future__ import annotations

import re
from typing import NamedTuple

from v2_conformance.report.document import CitedDocument

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
    is_rfc = cited.url.startswith("https://www.rfc-editor.org/rfc/")
    place = f"section {cited.section}" if is_rfc else cited.section
    if cited.paragraph is not None:
        place += f", paragraph {cited.paragraph}"
    safe = cited.url.startswith(("https://", "http://"))
    return Source(cited.document, cited.url if safe else "", place)


def _safe(text: str) -> str:
    return _UNSAFE.sub(_coded, text)


def _coded(match: re.Match[str]) -> str:
    coded = (f"~{byte:02x}" for byte in match[0].encode("utf-8", "surrogatepass"))
    return _KEPT_BRACKETS.get(match[0], "".join(coded))
