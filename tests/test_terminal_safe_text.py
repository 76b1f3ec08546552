"""Text of servers in pages and logs, and what somebody may have meant by a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from v2_conformance.terminal_safe_text import (
    closest,
    did_you_mean,
    is_visible,
    on_one_line,
    visible,
)

KNOWN = ("raw", "bf16", "compression", "H6/word[A]", "--shape")


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("rwa", ["raw"]),
        ("RAW", ["raw"]),
        ("comprssion", ["compression"]),
        ("h6/wrd[a]", ["H6/word[A]"]),
        ("compress", ["compression"]),
        ("--shap", ["--shape"]),
        ("--nope", []),
        ("zzz", []),
        ("", []),
        ("x" * 100_000, []),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_close_names_are_found_whatever_their_case(name: str, names: list[str]) -> None:
    assert closest(name, KNOWN) == names


def test_there_are_at_most_three_the_closest_first_or_just_those_that_begin_with_it() -> None:
    assert closest("abcd", ["abxd", "abcx", "abc", "bcd", "zzzz"]) == ["bcd", "abc", "abxd"]
    assert closest("abcd", ["abxd", "abc", "abcdef", "ABCDE"]) == ["ABCDE", "abcdef"]


def test_the_question_goes_before_what_always_helps() -> None:
    assert did_you_mean("rwa", ["raw"], "see it") == "did you mean raw? (see it)"
    assert did_you_mean("rawx", ["raw1", "raw2"], "a") == "did you mean raw2 or raw1? (a)"
    both = did_you_mean("rawx", ["raw1", "raw2", "raw3"], "a")
    assert both == "did you mean raw3, raw2 or raw1? (a)"
    assert did_you_mean("zzz", ["raw"], "see it") == "see it"


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
