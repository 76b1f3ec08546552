"""The sources that a report cites, as links of its page."""

from __future__ import annotations

import re
from typing import NamedTuple

from v2_conformance.report.document import CitedDocument

_RFC = re.compile(r"https://www\.rfc-editor\.org/rfc/rfc[0-9]+\.html")


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
