"""Exchanges as plain text: what is text as text, what is not as rows of a hexdump."""

from __future__ import annotations

from support.reports import case, exchange
from support.responses import message_with
from v2_conformance.formats.text.plain_exchanges import exchange_lines
from v2_conformance.report.shown.fold import BRIEF, FULL


def test_heads_are_shown_as_text_and_blobs_as_a_hexdump() -> None:
    failed = case("P2/x", "fail", "", exchange(message_with(b"\x01\x02\x03\xfe"), b""))
    lines = list(exchange_lines(failed, FULL, BRIEF))
    assert any("Content-Length: " in line for line in lines)
    assert any("01 02 03 fe" in line for line in lines)
