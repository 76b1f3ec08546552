"""The documentation site as `tox -e site` has built it, in the folder V2_SITE."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from support.axe import violations
from support.browser import Browser, until
from v2_conformance.suite.requirements import catalogue

SITE = Path(os.environ.get("V2_SITE", ""))
pytestmark = pytest.mark.skipif("V2_SITE" not in os.environ, reason="`tox -e site` builds it")


def test_each_requirement_has_a_page() -> None:
    current = {one.id for one in catalogue().values() if not one.superseded_by}
    assert {path.stem for path in (SITE / "standard").glob("*.html")} == current | {"index"}


@pytest.fixture
def address() -> Iterator[str]:
    """Where a server has the site, with a slash at its end. A browser that was there before does
    not know it again: the theme would keep the scheme of the first page."""
    handler = partial(SimpleHTTPRequestHandler, directory=SITE)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_search_finds_pages_of_the_standard(browser: Browser, address: str) -> None:
    browser.open(address)
    browser.evaluate("document.querySelector('.md-search__input').focus()")
    browser.type("header length")
    until(browser, "document.querySelectorAll('.md-search-result__link').length > 3")
    links = browser.evaluate(
        "Array.from(document.querySelectorAll('.md-search-result__link')).map(a => a.href)"
    )
    assert any("/standard/" in link for link in links)
    assert browser.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", ["index.html", "standard/index.html", "standard/B4.html"])
def test_nobody_is_kept_from_reading(
    browser: Browser, address: str, page: str, scheme: str
) -> None:
    browser.open(address + page, prefers_color_scheme=scheme)
    chosen = {"light": "default", "dark": "slate"}[scheme]
    until(browser, f"document.body.dataset.mdColorScheme == '{chosen}'")
    assert violations(browser) == []
    assert browser.complaints == []
    loaded = browser.evaluate("performance.getEntriesByType('resource').map(one => one.name)")
    assert [url for url in loaded if not url.startswith((address, "data:"))] == []
    cut = "Array.from(document.querySelectorAll('pre')).filter(e => e.scrollWidth > e.clientWidth)"
    browser.open(address + page, width=1400)
    assert page != "index.html" or browser.evaluate(f"{cut}.map(e => e.innerText)") == []
    browser.open(address + page, width=390, height=800)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
