"""The matrix in a real browser: filter, deep links, narrow screens, hostile text, and axe-core,
which finds nothing on it or on the page of a server's versions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from support.axe import violations
from support.browser import Browser, choose, opened, shown
from support.reports import report_of
from support.responses import HOSTILE
from support.sites import report_on
from v2_conformance.cli.main import main
from v2_conformance.report.document import Report
from v2_conformance.suite.requirements import catalogue
from v2_publishing.matrix.columns import column_of
from v2_publishing.matrix.page import render as render_matrix


def written(reports: Mapping[str, Report], folder: Path) -> str:
    """The URL of a matrix of reports, whose pages have these names."""
    columns = [(name, column_of(report, name)) for name, report in reports.items()]
    (folder / "index.html").write_text(render_matrix(columns), "utf-8")
    return (folder / "index.html").as_uri()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a matrix of two servers: P2 fails on both, B4 on the second only."""
    servers = (("One", {"P2": "fail"}), (HOSTILE, {"P2": "fail", "B4": "fail"}))
    reports = {
        f"{number}/report.html": report_of(outcomes=outcomes, server=(name, "1"), message=HOSTILE)
        for number, (name, outcomes) in enumerate(servers)
    }
    return written(reports, tmp_path_factory.mktemp("matrix"))


ROWS = "tr[data-holds]"


def test_the_filter_leaves_what_differs_or_fails(browser: Browser, page: str) -> None:
    opened(browser, page)
    everything = shown(browser, ROWS)
    assert len(everything) == sum(r.profile == "binary" for r in catalogue().values())
    choose(browser, "show", "differs")
    assert shown(browser, ROWS) == {"req-B4"}
    assert browser.evaluate("document.getElementById('count').value").startswith("1 of ")
    choose(browser, "show", "fails")
    assert shown(browser, ROWS) == {"req-P2", "req-B4"}
    choose(browser, "show", "")
    assert shown(browser, ROWS) == everything


def test_hostile_text_stays_text(browser: Browser, page: str) -> None:
    opened(browser, page)
    assert "<script>alert(1)</script>" in browser.evaluate("document.body.textContent")
    own = "document.querySelectorAll('img, script').length"
    assert browser.evaluate(own) == 1  # the page's own script


@pytest.mark.parametrize(
    ("days", "age"),
    [(-1, ""), (0, " today"), (1, " 1 day old"), (60, " 2 months old"), (730, " 2 years old")],
)
def test_a_report_is_as_old_as_the_readers_clock_says(
    browser: Browser, page: str, days: int, age: str
) -> None:
    opened(browser, page)
    made = "Date.parse(document.querySelector('time[data-age]').dateTime)"
    now = browser.evaluate(made) + days * 86_400_000 + 1000
    script = f"Date.now = () => {now}"
    known = browser.call("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
    try:
        opened(browser, page)
        found = "document.querySelector('time[data-age] + span.dim')?.textContent ?? ''"
        assert browser.evaluate(found) == age
    finally:
        browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=known)


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a matrix of a good server in two versions, and one that fails P12 and with it
    everything that needs it, all of which is one fold."""
    folder = tmp_path_factory.mktemp("flooded")
    bad = dict.fromkeys(["P12", *catalogue()["P12"].prerequisite_of], "fail")
    reports = {
        f"{name}{version}.html": report_of(outcomes=outcomes, server=(name, version))
        for name, version, outcomes in (
            ("Good", "1", {"H6": "fail"}),
            ("Good", "2", {}),
            ("Bad", "1", bad),
        )
    }
    return written(reports, folder)


def test_a_fold_hides_its_rows_until_it_is_opened(browser: Browser, flooded: str) -> None:
    opened(browser, flooded)
    assert shown(browser, f"#fold-0 {ROWS}") == set()
    assert "in closed groups" in browser.evaluate("document.getElementById('count').value")
    browser.evaluate("document.querySelector('.fold button').click()")
    assert "req-P2" in shown(browser, f"#fold-0 {ROWS}")
    assert browser.evaluate("document.querySelector('.fold button').ariaExpanded") == "true"


def test_a_number_of_the_heat_map_leads_to_its_rows(browser: Browser, flooded: str) -> None:
    opened(browser, flooded)
    number = "document.querySelector('.heat a[href*=\"family=D&level=MUST&fails=2\"]')"
    expected = int(browser.evaluate(f"{number}.textContent").partition("/")[0])
    browser.evaluate(f"{number}.click()")
    found = shown(browser, ROWS)
    assert len(found) == expected
    assert {name[:5] for name in found} == {"req-D"}
    assert browser.evaluate("location.search") == "?fails=2&level=MUST&family=D"


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of the page of a server of which a site has two versions."""
    folder = tmp_path_factory.mktemp("product")
    for version in "12":
        report_on(folder / version, version=version)
    assert main(["publish", str(folder / "site"), str(folder)]) == 0
    return (folder / "site" / "servers" / "server.html").as_uri()


@pytest.mark.parametrize("page", ["flooded", "product"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
@pytest.mark.long
def test_axe_finds_nothing(
    browser: Browser, page: str, scheme: str, width: int, request: pytest.FixtureRequest
) -> None:
    opened(browser, request.getfixturevalue(page), width=width, prefers_color_scheme=scheme)
    browser.evaluate(
        "document.querySelectorAll('details').forEach(part => { part.open = true; });"
        "document.querySelector('.fold button')?.click()"
    )
    assert violations(browser) == []
    wide = browser.evaluate("document.documentElement.scrollWidth")
    assert wide <= browser.evaluate("document.documentElement.clientWidth")
