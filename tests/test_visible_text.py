"""Text of servers in pages and logs: what hides or reorders text is spelled out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from v2_conformance.terminal_safe_text import is_visible, on_one_line, visible


def test_visible_spells_out_what_hides_or_reorders() -> None:
    assert visible("a\tb\nc é 漢") == "a\tb\nc é 漢"
    assert (
        visible("\x00\r\x1b\x9b\u202e\ufeff\ud800") == "\\x00\\x0d\\x1b\\x9b\\u202e\\ufeff\\ud800"
    )


@given(st.text())
def test_a_text_is_visible_exactly_if_nothing_must_be_spelled_out(text: str) -> None:
    assert is_visible(text) == (visible(text) == text)


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(on_one_line(text).splitlines()) <= 1
    assert "\t" not in on_one_line(text)
