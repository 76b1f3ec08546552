"""The documentation site as `tox -e site` has built it, in the folder V2_SITE."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest

from support.axe import violations
from support.browser import Browser, until
from v2_conformance.suite.requirements import catalogue

SITE = Path(os.environ.get("V2_SITE", ""))
pytestmark = pytest.mark.skipif("V2_SITE" not in os.environ, reason="`tox -e site` builds it")
_LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
_NOT_LOADED = {"canonical", "next", "prev", "edit"}


class Links(HTMLParser):
    """Where a page links, what it loads, and the anchors that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        name = _LOADED.get(tag, "")
        if name in values and values.get("rel") not in _NOT_LOADED:
            self.loads.add(values[name])


@cache
def read(page: Path) -> Links:
    found = Links()
    found.feed(page.read_text("utf-8"))
    return found


def pages() -> list[Path]:
    return [path for path in SITE.rglob("*.html") if "reports" not in path.relative_to(SITE).parts]


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere() -> None:
    wrong = []
    current = {one.id for one in catalogue().values() if not one.superseded_by}
    assert {path.stem for path in (SITE / "standard").glob("*.html")} == current | {"index"}
    for page in pages():
        for link in read(page).links | read(page).loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in read(page).loads and parts.scheme != "data":
                    wrong.append(f"{page.relative_to(SITE)} loads {link}")
            elif page.name != "404.html" and not leads(page, unquote(parts.path), parts.fragment):
                wrong.append(f"{page.relative_to(SITE)}: {link}")
    assert wrong == []


def leads(page: Path, path: str, anchor: str) -> bool:
    """True if a link of a page leads to a file, and to an anchor if that is a page made here."""
    target = (page.parent / path).resolve() if path else page
    made = "reports" not in target.relative_to(SITE).parts or target.name == "report.html"
    if not (target.is_file() and anchor and made and target.suffix == ".html"):
        return target.is_file()
    return unquote(anchor) in read(target).anchors


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
    cut = "Array.from(document.querySelectorAll('pre')).filter(e => e.scrollWidth > e.clientWidth)"
    browser.open(address + page, width=1400)
    assert page != "index.html" or browser.evaluate(f"{cut}.map(e => e.innerText)") == []
    browser.open(address + page, width=390, height=800)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
