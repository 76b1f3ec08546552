"""The matrix, and the page of a server's versions, for everybody: axe-core finds nothing."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from support.axe import violations
from support.browser import Browser, opened
from support.reports import case, report_of
from v2_conformance.formats.badge import svg
from v2_conformance.report.document import Report
from v2_publishing.matrix.columns import column_of
from v2_publishing.matrix.page import render
from v2_publishing.matrix.product import ProductVersion, render_product
from v2_publishing.site_index import SiteReport

_PAGE = re.compile(rb"/Type\s*/Page\b")


def _report(version: str, *failing: str) -> Report:
    """A report on a few requirements of every level, of which some fail."""
    names = ["P12", "P2", "P3", "P5", "P6", "P8", "P13", "H6", "H12", "S2", "D1", "D4", "R4"]
    cases = [case(f"{name}/x", "fail" if name in failing else "pass") for name in names]
    return report_of([*cases, case("O6/x", "disputed")], server=("Server", version))


REPORTS = [
    _report("1", "H6", "H12", "P13"),
    _report("2", "D4"),
    _report("10", "P12", "P2", "P3", "P5", "P6", "P8"),
]


def _site_report(report: Report) -> SiteReport:
    version = report.target.server.version
    return SiteReport(
        id=version,
        kind="server",
        name="Server",
        version=version,
        verdict="incomplete run",
        conformant=False,
        robust=False,
        complete=True,
        consistent=None,
        confirmed=version != "1",
        claim="binary",
        profiles=("binary",),
        started=report.started,
        suite="1",
        catalogue="0",
        digest="0" * 64,
        levels={},
        requirements={},
        page=f"{version}/report.html",
        report=f"{version}/report.json.gz",
        badge=f"{version}/badge.svg",
        endpoint=f"{version}/badge.json",
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both pages."""
    folder = tmp_path_factory.mktemp("pages")
    columns = [(str(n), column_of(report, "x.html")) for n, report in enumerate(REPORTS)]
    (folder / "matrix.html").write_text(render(columns), "utf-8")
    versions = [
        ProductVersion(column_of(report, ""), _site_report(report), svg(report))
        for report in REPORTS
    ]
    product = render_product("Server", "server", "index.html", versions, "https://h.example/site")
    (folder / "product.html").write_text(product, "utf-8")
    return folder


@pytest.mark.parametrize("page", ["matrix", "product"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
@pytest.mark.long
def test_axe_finds_nothing(
    browser: Browser, pages: Path, page: str, scheme: str, width: int
) -> None:
    opened(browser, (pages / f"{page}.html").as_uri(), width=width, prefers_color_scheme=scheme)
    browser.evaluate(
        "document.querySelectorAll('details').forEach(part => { part.open = true; });"
        "document.querySelector('.fold button')?.click()"
    )
    assert violations(browser) == []
    wide = browser.evaluate("document.documentElement.scrollWidth")
    assert wide <= browser.evaluate("document.documentElement.clientWidth")


@pytest.mark.parametrize("page", ["matrix", "product"])
@pytest.mark.long
def test_it_prints_on_few_pages(browser: Browser, pages: Path, page: str) -> None:
    opened(browser, (pages / f"{page}.html").as_uri())
    printed = base64.b64decode(browser.call("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert 1 <= len(_PAGE.findall(printed)) <= 6
