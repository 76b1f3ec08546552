"""pytest-html's page with what the plugin adds: for everybody, and no wider than a screen."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.axe import violations
from support.browser import Browser, opened
from v2_mutants.servers import MutantServer

pytestmark = pytest.mark.long

# A vendor's own test and environment, neither of which heeds how wide a screen is.
_OWN_TEST = """
import pytest
from pytest_html import extras as kinds

@pytest.mark.P1
@pytest.mark.parametrize("x", ["i" * 2000], ids=["i" * 2000])
def test_own(x, extras):
    print("A" * 9000)
    extras.append(kinds.html("<table><tr>" + "<td><pre>wide cell</pre></td>" * 100 + "</table>"))
    assert x == "z" * 3000
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a page of cases that pass or fail and a vendor's own test, all logs shown."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "test_own.py").write_text(_OWN_TEST)
    name = "t" * 200 + ".html"
    options = ("-p", "no:cacheprovider", "--html", name, "--self-contained-html")
    with MutantServer(["response-header-length-short"]) as server:
        chosen = ("--v2-url", server.url, "-m", "P1 or P2 or P12 or W1")
        environment = ("--metadata", "BUILD", "b" * 2000)
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, *chosen, *environment],
            cwd=folder,
            check=False,  # the vendor's test fails
            stdout=subprocess.DEVNULL,
        )
    return (folder / name).as_uri() + "?collapsed="


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
def test_axe_finds_nothing_and_nothing_is_too_wide(
    browser: Browser, page: str, scheme: str, width: int
) -> None:
    opened(browser, page, width=width, prefers_color_scheme=scheme)
    assert violations(browser) == []
    assert browser.evaluate("document.querySelectorAll('tr.collapsible').length") > 20
    needed, shown = browser.evaluate("[document.scrollingElement.scrollWidth, innerWidth]")
    assert needed <= shown == width
