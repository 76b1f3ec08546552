"""The matrix in a real browser: filter, deep links, narrow screens, hostile text."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.browser import Browser, choose, in_view, opened, shown
from support.reports import report_of, saved
from support.responses import HOSTILE
from v2_conformance.cli.matrix import write_matrix
from v2_conformance.formats.html.page import render
from v2_conformance.suite.requirements import catalogue


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a matrix of two servers: P2 fails on both, B4 on the second only."""
    folder = tmp_path_factory.mktemp("matrix")
    places: list[Path] = []
    for name, outcomes in (("One", {"P2": "fail"}), (HOSTILE, {"P2": "fail", "B4": "fail"})):
        report = report_of(outcomes=outcomes, server=(name, "1"), message=HOSTILE)
        place = saved(report, folder / str(len(places)) / "report.json")
        place.with_suffix(".html").write_text(render(report), "utf-8")
        places.append(place)
    write_matrix(places, folder / "index.html")
    return (folder / "index.html").as_uri()


ROWS = "tr[data-holds]"


def test_the_filter_leaves_what_differs_or_fails(browser: Browser, page: str) -> None:
    opened(browser, page)
    everything = shown(browser, ROWS)
    assert len(everything) == sum(r.profile == "binary" for r in catalogue().values())
    choose(browser, "shown", "differs")
    assert shown(browser, ROWS) == {"req-B4"}
    assert browser.evaluate("document.getElementById('count').value").startswith("1 of ")
    choose(browser, "shown", "fails")
    assert shown(browser, ROWS) == {"req-P2", "req-B4"}
    choose(browser, "shown", "all")
    assert shown(browser, ROWS) == everything


def test_a_link_to_a_row_that_is_filtered_away_shows_it(browser: Browser, page: str) -> None:
    opened(browser, page)
    choose(browser, "shown", "differs")
    browser.evaluate("location.hash = 'req-S3'")
    browser.wait(lambda: in_view(browser, "req-S3"))


def test_a_cell_leads_to_the_requirement_in_the_report(browser: Browser, page: str) -> None:
    opened(browser, page)
    link = browser.evaluate("document.querySelector('#req-P2 td:last-child a').href")
    opened(browser, link)
    browser.wait(lambda: in_view(browser, "req-P2"))


def test_hostile_text_stays_text(browser: Browser, page: str) -> None:
    opened(browser, page)
    assert "<script>alert(1)</script>" in browser.evaluate("document.body.textContent")
    # One script is there, the page's own.
    assert browser.evaluate("document.querySelectorAll('img, script').length") == 1, (
        "its own script"
    )


def test_the_page_fits_360_pixels(browser: Browser, page: str) -> None:
    opened(browser, page, width=360, height=700)
    wide = browser.evaluate("document.documentElement.scrollWidth")
    assert wide <= browser.evaluate("document.documentElement.clientWidth")
