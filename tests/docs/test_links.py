"""Every link from one page of the documentation to another leads somewhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tools.traceability.links import suite_trace
from tools.traceability.page import PAGE, traceability_page

ROOT = Path(__file__).parents[2]
MADE = {PAGE: lambda: traceability_page(suite_trace())}
"""Pages of the documentation site that git does not have."""
PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").glob("*.md")} - MADE.keys())]


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page: of its headings, as GitHub makes them, and its own."""
    text = MADE[page]() if page in MADE else page.read_text(encoding="utf-8")
    headings = re.findall(r"(?m)^#+ (.*)$", text)
    made = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    prose = re.sub(r"(?ms)^ *```.*?^ *```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target in MADE or target.exists(), link
        assert not anchor or anchor in anchors(target), link
