"""report.html for everybody: axe-core finds nothing, and it prints on few pages."""

from __future__ import annotations

import base64
import re

import pytest

from support.axe import violations
from support.browser import Browser, choose, opened, until
from support.pages import written_page
from support.reports import case, differing, exchange, passes, report_of
from support.responses import message_with, v2
from v2_conformance.formats.templates import case_anchor
from v2_conformance.suite.requirements import catalogue

_PAGE = re.compile(rb"/Type\s*/Page\b")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a page with cases of every outcome, of which many fail."""
    wrong = exchange(message_with(bytes(100)), v2({"outputs": []}, bytes(400), length=16))
    ids = [r.id for r in catalogue().values() if r.profile == "binary"]
    report = report_of(
        passes(
            differing(3000),
            *(case(f"{ids[n % len(ids)]}/off[{n}]", "fail", "m " * 80, wrong) for n in range(600)),
            *(case(f"P8/one[{n}]", "pass", "", wrong) for n in range(900)),
            case("H6/slow", "inconclusive", "too slow", wrong),
            case("O8/odd", "disputed", "as some do", wrong),
            case("P5/sometimes", "flaky", "once", wrong),
            case("P6/bug", "error", "a bug", wrong),
            case("S2/gone[1]", "not_run", "no model"),
            case("W1/raw[1]", "unsupported", "not claimed"),
        ),
        absent={"identity/FP32": "no such model"},
        complete=False,
    )
    folder = tmp_path_factory.mktemp("page")
    return written_page(folder, report)


def look_at_some_cases(browser: Browser) -> None:
    """Open cases, lists and what a requirement has, and filter."""
    choose(browser, "level", "MUST")
    anchors = [case_anchor(name) for name in ("D1/x[INT32]", "P5/off[4]", "P8/one[5]")]
    for anchor in anchors:
        browser.evaluate(f"location.hash = {anchor!r}")
        box = f"document.getElementById({anchor!r})"
        until(browser, f"{box}?.querySelector('pre') != null")
    choose(browser, "family", "P")
    parts = "document.querySelectorAll('.reqs details, .keys')"
    browser.evaluate(f"{parts}.forEach(part => {{ part.open = true; }})")


@pytest.mark.parametrize(
    ("scheme", "width", "looking"), [("light", 1400, False), ("dark", 390, True)]
)
@pytest.mark.long
def test_axe_finds_nothing(
    browser: Browser, page: str, scheme: str, width: int, looking: bool
) -> None:
    opened(browser, page, width=width, prefers_color_scheme=scheme)
    if looking:
        look_at_some_cases(browser)
    assert violations(browser) == []


@pytest.mark.long
def test_it_prints_on_ten_pages_with_the_passes_folded(browser: Browser, page: str) -> None:
    opened(browser, page)
    printed = base64.b64decode(browser.call("Page.printToPDF")["data"])
    assert 2 <= len(_PAGE.findall(printed)) <= 10
