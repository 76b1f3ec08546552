"""The HTTP library below a client stands apart, on the page and in the summary."""

from __future__ import annotations

from pathlib import Path

import msgspec

from support.reports import case, report_of
from v2_conformance.formats.html.page import render
from v2_conformance.formats.text.terminal import summary_lines
from v2_conformance.report.document import Report
from v2_conformance.report.tested import ClientInfo

GROUPS = ("", ": the HTTP library below them")


def of_client(*outcomes: tuple[str, str]) -> Report:
    found = [case(f"{requirement}/x", outcome) for requirement, outcome in outcomes]
    report = report_of(found, profiles=("client",))
    target = msgspec.structs.replace(report.target, client=ClientInfo(("client",), 10.0))
    return msgspec.structs.replace(report, target=target)


def test_what_the_http_library_below_a_client_does_stands_apart() -> None:
    report = of_client(("K1", "fail"), ("K4", "pass"), ("K26", "fail"), ("K34", "unsupported"))
    assert {row.id: row.layer for row in report.requirements if row.id in ("K1", "K4", "K26")} == {
        "K1": None,
        "K4": "http",
        "K26": "http",
    }
    said = "HTTP library below the client: 1 of 2 requirements failed: K26"
    assert said in "\n".join(summary_lines(report, Path()))
    page = render(report)
    own, library = (page.index(f"<caption>K · Clients{more}</caption>") for more in GROUPS)
    assert own < page.index('id="req-K1"') < library < page.index('id="req-K26"')


def test_nothing_is_said_of_a_library_that_did_nothing_wrong_or_was_not_asked() -> None:
    report = of_client(("K1", "fail"), ("K4", "pass"))
    assert "HTTP library" not in "\n".join(summary_lines(report, Path()))
