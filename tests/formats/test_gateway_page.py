"""gateway.html, gateway.json and the terminal say what a gateway does, and nothing in them runs."""

from __future__ import annotations

import json
import re

import msgspec

from support.reports import case, exchange, passes, report_of
from support.responses import answer, http, posting, v2
from v2_conformance.formats.gateway.page import render
from v2_conformance.formats.gateway.text import gateway_lines
from v2_conformance.report.comparing.gateway import (
    Effect,
    GatewayReport,
    compare_sides,
    gateway_json,
)
from v2_conformance.report.comparing.through import Change, Property
from v2_conformance.resources import schema

HOSTILE = "<script>alert(1)</script>\u202e"


def found() -> GatewayReport:
    request = posting(b"{}")
    own = exchange(request, v2(answer()))
    spoiled = exchange(request, http(b"<html>", 502, ("Via", "<script>alert(1)</script>")))
    direct = [
        case("P2/broken", "pass", None, own),
        case("P2/mended", "fail", None, own),
        case("H6/hidden", "fail", None, own),
    ]
    through = [
        case("P2/broken", "fail", HOSTILE, spoiled),
        case("P2/mended", "pass", None, own),
        case("H6/hidden", "not_run", None),
    ]
    reports = [
        report_of(passes(*cases), url=f"http://{name}.example:8000", server=(HOSTILE, "1"))
        for name, cases in (("server", direct), ("gateway", through))
    ]
    return compare_sides(*reports)


def test_the_page_has_every_effect_property_and_link_and_no_script() -> None:
    page = render(found(), direct="report.html", through="gateway/report.html")
    for text in (
        "not transparent",
        "http://gateway.example:8000",
        'href="gateway/report.html#case-P2/broken"',
        'href="report.html"',
        Effect.BROKEN.words,
        Effect.MENDED.words,
        Effect.HIDDEN.words,
        *(kind.words for kind in Property),
        Change.UNAVAILABLE.words,
    ):
        assert text in page, text
    assert "<script" not in page
    assert "\u202e" not in page
    assert not re.search(r"(src|href)=\"(https?:)?//", page)
    assert "default-src 'none'" in page


def test_without_pages_nothing_is_linked() -> None:
    assert "<a " not in render(found(), direct="", through="")


def test_the_terminal_says_it_in_80_columns_of_ascii() -> None:
    lines = [*gateway_lines(found())]
    assert all(len(line) <= 80 for line in lines)
    text = " ".join(" ".join(lines).split())
    assert "gateway NOT TRANSPARENT: connections not kept in 1 case; 1 case of MUST" in text
    assert "1 broken, 1 hidden, 1 mended, 0 changed" in text
    assert "- Connections stay open, and every request is answered: not kept in 1 of 2" in text
    assert "".join(lines).replace("…", "").isascii()


def test_the_terminal_says_which_run_was_incomplete() -> None:
    found = compare_sides(report_of(passes()), report_of(passes(), complete=False))
    text = " ".join(" ".join(gateway_lines(found)).split())
    assert "the run through the gateway is incomplete" in text
    assert "the direct run is incomplete" not in text


def test_gateway_json_is_what_its_schema_says_and_reads_back() -> None:
    data = gateway_json(found())
    schema("gateway").validate(json.loads(data))
    assert msgspec.json.decode(data, type=GatewayReport) == found()
