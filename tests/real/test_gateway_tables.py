"""The tables of docs/gateways.md are in their places, and a table says what its reports say."""

from __future__ import annotations

import pytest

from gateways import PAGE, table, with_table
from support.gateways import SETUPS
from support.reports import case, exchange, passes, report_of
from support.responses import answer, http, posting, v2
from v2_conformance.report.comparing.gateway import compare_sides


def test_a_table_has_a_row_for_each_configuration() -> None:
    own = exchange(posting(b"{}"), v2(answer()))
    refused = exchange(posting(b"{}"), http(b"<html>", 413, ("Server", "nginx/1.0")))
    direct = report_of(passes(case("P2/x", "pass", None, own)))
    through = report_of(passes(case("P2/x", "fail", None, refused)))
    found = {"nginx-default": compare_sides(direct, through)}
    made = table(direct, {**found, "nginx-tuned": compare_sides(direct, direct)}).splitlines()
    assert made[2].startswith("| gateway | header | length | coding | bodies | errors | early |")
    assert made[4].startswith("| nginx-default | – | – | – | ✗ | – | – | ✓ | no | 1 | 0 | 0 | 0 |")
    assert made[5].startswith("| nginx-tuned | – | – | – | ✓ | – | – | ✓ | ? | 0 | 0 | 0 | 0 |")
    assert made[5].endswith("| nothing |")


def test_a_table_replaces_only_the_one_of_its_server() -> None:
    text = (
        "a\n<!-- results: x -->\nold\n<!-- end of x -->\n<!-- results: y -->\n<!-- end of y -->\n"
    )
    changed = with_table(text, "x", "new")
    assert changed == text.replace("old", "new")
    assert with_table(changed, "y", "table").endswith("y -->\ntable\n<!-- end of y -->\n")
    with pytest.raises(ValueError, match="no place"):
        with_table(text, "z", "new")


def test_the_page_has_the_results_of_all_servers_and_configurations() -> None:
    page = PAGE.read_text("utf-8")
    for setup in SETUPS:
        assert f"\n| {setup} | " in page
    for server in ("reference", "triton", "kserve"):
        rows = page.partition(f"<!-- results: {server} -->")[2].partition("<!-- end")[0]
        assert rows.count("\n| nginx-") >= 2, server
        assert rows.count("\n| haproxy-") >= 2, server
        assert rows.count("\n| caddy-") >= 2, server
