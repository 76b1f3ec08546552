"""The pages of the site in the order in which people need them."""

from __future__ import annotations

from pathlib import Path

from tools.site.stage import NAV, configuration


def test_pages_that_nothing_names_come_last() -> None:
    pages = [*(name for _, names in NAV for name in names), "new.md", "newer.md"]
    nav = configuration(Path(), pages)["nav"]
    assert [title for one in nav for title in one] == [title for title, _ in NAV]
    assert [name for one in nav for names in one.values() for name in names] == pages
