"""Which cases a pattern chooses, and what is said if it chooses none."""

from __future__ import annotations

import pytest

from v2_conformance.errors import NothingRanError
from v2_conformance.suite.choosing import select
from v2_conformance.suite.library import suite_cases

CASES = suite_cases()


def chosen(*patterns: str) -> set[str]:
    return {case.id for case in select(CASES, patterns)}


def test_without_patterns_everything_is_chosen() -> None:
    assert select(CASES, ()) == CASES


def test_a_pattern_is_about_ids_in_which_brackets_are_brackets() -> None:
    assert chosen("P2/blob-follows-json[INT32]") == {"P2/blob-follows-json[INT32]"}
    assert chosen("P2/blob-follows-json[*]") == {
        case.id for case in CASES if case.template == "P2/blob-follows-json"
    }


def test_the_plans_order_stays_and_nothing_comes_twice() -> None:
    both = select(CASES, ("R3", "P2/*", "P2"))
    assert both == [case for case in CASES if case.requirement in ("P2", "R3")]


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("H66", "did you mean H6?"),
        ("H6/not-a-nubmer", "did you mean H6/not-a-number[*]"),
        ("P2/blob-follows-json[INT23]", "did you mean P2/blob-follows-json[INT32]"),
        ("zzzzzz", "no case: `v2-conformance list cases` lists every case"),
    ],
)
def test_pattern_without_a_case_names_what_is_close(pattern: str, meant: str) -> None:
    with pytest.raises(NothingRanError) as refusal:
        select(CASES, ("P2", pattern))
    assert f"the pattern {pattern!r} matches no case: " in str(refusal.value)
    assert meant in str(refusal.value)


def test_what_is_suggested_matches() -> None:
    with pytest.raises(NothingRanError) as refusal:
        select(CASES, ("H6/not-a-nubmer",))
    name = str(refusal.value).partition("did you mean ")[2].partition("?")[0].partition(" or ")[0]
    assert chosen(name) == {case.id for case in CASES if case.template == "H6/not-a-number"}
