"""The matrix in a real browser: filter, deep links, narrow screens, hostile text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from support.browser import Browser, choose, opened, shown
from support.reports import report_of
from support.responses import HOSTILE
from v2_conformance.formats.html.page import render
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
    folder = tmp_path_factory.mktemp("matrix")
    reports: dict[str, Report] = {}
    for name, outcomes in (("One", {"P2": "fail"}), (HOSTILE, {"P2": "fail", "B4": "fail"})):
        report = report_of(outcomes=outcomes, server=(name, "1"), message=HOSTILE)
        place = folder / str(len(reports)) / "report.html"
        place.parent.mkdir()
        place.write_text(render(report), "utf-8")
        reports[f"{len(reports)}/report.html"] = report
    return written(reports, folder)


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
    # One script is there, the page's own.
    assert browser.evaluate("document.querySelectorAll('img, script').length") == 1, (
        "its own script"
    )


@pytest.mark.parametrize(
    ("days", "age"),
    [
        (-1, ""),
        (0, " today"),
        (1, " 1 day old"),
        (59, " 59 days old"),
        (60, " 2 months old"),
        (400, " 13 months old"),
        (730, " 2 years old"),
    ],
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


def typed(browser: Browser, text: str) -> None:
    """Type into the search box, to which "/" leads."""
    browser.press("/", 191, "/")
    browser.type(text)


def test_a_fold_hides_its_rows_until_it_is_opened(browser: Browser, flooded: str) -> None:
    opened(browser, flooded)
    assert shown(browser, f"#fold-0 {ROWS}") == set()
    assert "folded" in browser.evaluate("document.getElementById('count').value")
    browser.evaluate("document.querySelector('.fold button').click()")
    assert "req-P2" in shown(browser, f"#fold-0 {ROWS}")
    assert browser.evaluate("document.querySelector('.fold button').ariaExpanded") == "true"


def test_search_finds_ids_and_words(browser: Browser, flooded: str) -> None:
    opened(browser, flooded)
    typed(browser, catalogue()["P2"].title.upper())
    assert shown(browser, ROWS) == {"req-P2"}
    browser.open(browser.evaluate("location.href"))
    assert shown(browser, ROWS) == {"req-P2"}
    assert "q=" in browser.evaluate("location.search")


def test_a_number_of_the_heat_map_leads_to_its_rows(browser: Browser, flooded: str) -> None:
    opened(browser, flooded)
    number = "document.querySelector('.heat a[href*=\"family=D&level=MUST&fails=2\"]')"
    expected = int(browser.evaluate(f"{number}.textContent").partition("/")[0])
    browser.evaluate(f"{number}.click()")
    found = shown(browser, ROWS)
    assert len(found) == expected
    assert {name[:5] for name in found} == {"req-D"}
    assert browser.evaluate("location.search") == "?fails=2&level=MUST&family=D"


def test_filters_of_a_url_that_nobody_made_show_everything(browser: Browser, flooded: str) -> None:
    opened(browser, flooded)
    usual = shown(browser, ROWS)
    opened(browser, flooded + "?fails=99&level=%00&family=__proto__&show=constructor")
    assert shown(browser, ROWS) == usual


@pytest.mark.parametrize("table", [".heat", "#matrix ~ .scroll table"])
def test_the_first_column_stays_on_a_phone(browser: Browser, flooded: str, table: str) -> None:
    opened(browser, flooded, width=390, height=800)
    left = (
        f"(() => {{ const table = document.querySelector({table!r});"
        "table.parentElement.scrollLeft = 200;"
        "const first = table.querySelector('tr:not([hidden]) > th[scope=row]');"
        "return [table.parentElement.scrollLeft, first.getBoundingClientRect().left"
        " - table.parentElement.getBoundingClientRect().left]; })()"
    )
    scrolled, place = browser.evaluate(left)
    assert scrolled > 50
    assert 0 <= place < 5
