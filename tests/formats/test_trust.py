"""What to know before one trusts a report."""

from __future__ import annotations

import msgspec

from support.reports import exchange, report_of
from support.responses import http
from v2_conformance.formats.trust import cautions


def test_a_gateway_that_says_that_it_is_there_is_named() -> None:
    answer = http(b"{}", 200, ("Via", "1.1 varnish"), ("Via", "1.0 \x1bproxy"))
    report = msgspec.structs.replace(report_of(), discovery=(exchange(b"", answer),))
    words = "Answers came through 1.1 varnish, 1.0 \\x1bproxy: a failure may be its own"
    assert any(one.words.startswith(words) for one in cautions(report))
    assert not any("came through" in one.words for one in cautions(report_of()))
