"""Causes: every type has words, survives JSON, and says what it is about wherever it is nested."""

from __future__ import annotations

import types
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from v2_conformance.report.files import as_json
from v2_conformance.resources import schema_document
from v2_conformance.suite.causes.base import FirstDifference, describe, excerpt, printable
from v2_conformance.suite.causes.causes import (
    CAUSES,
    KINDS,
    Cause,
    DidNotSurvive,
    FailedAtFirst,
    GeneratedFailure,
    NotDone,
    NotKept,
    SecondAnswerWrong,
    SeveralWrong,
    WrongReading,
    WrongRequest,
    died,
    difference_in,
)
from v2_conformance.suite.causes.kinds import (
    Accepted,
    HeaderLengthMissing,
    Rejected,
    WrongBytesElement,
    WrongStatus,
    WrongValue,
)

NESTING = (
    NotDone,
    NotKept,
    SecondAnswerWrong,
    SeveralWrong,
    WrongRequest,
    WrongReading,
    DidNotSurvive,
    GeneratedFailure,
    FailedAtFirst,
)
MOST_WORDS = 2001  # 2000 characters and "…"

FEW = settings(max_examples=6)
HOSTILE = st.text(min_size=1, max_size=40) | st.sampled_from(
    ["\x1b[2J\x1b]0;title\x07", "\ud800", "\u202e" * 30, "x" * 5000, "é…", "'\"\\", "\r\n::error::"]
)
SHOWN = HOSTILE.map(printable)
NUMBERS = st.integers(0, 10**6) | st.sampled_from([2**63, 2**64, 10**3999])
STATUS = WrongStatus("200", 500, "no")
LOST = HeaderLengthMissing()
ELEMENT = FirstDifference("OUTPUT0", "INT32", 1, 5, 125, "02000000", "02010000", "2", "258")
VALUE = WrongValue(ELEMENT, 3, 2)
STRING = WrongBytesElement(ELEMENT, 2, 120, 1, 2, 2, "64", "58")


def instances(of: Any, text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Values of an annotation of a cause's member, with `text` for every text."""
    if WrongStatus in get_args(of):  # a cause, or perhaps none
        inner = st.sampled_from([STATUS, LOST, VALUE]) | any_plain(text)
        return st.none() | inner if type(None) in get_args(of) else inner
    if get_origin(of) in (Union, types.UnionType):
        return st.one_of([instances(one, text) for one in get_args(of)])
    if get_origin(of) is Literal:
        return st.sampled_from(get_args(of))
    if get_origin(of) is tuple:
        return st.lists(instances(get_args(of)[0], text), max_size=30).map(tuple)
    if isinstance(of, type) and issubclass(of, msgspec.Struct):
        return causes_of(of, text)
    return {
        str: text,
        int: NUMBERS,
        float: st.floats(0, 1e9),
        bool: st.booleans(),
        type(None): st.none(),
    }[of]


def causes_of(kind: type[Any], text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Instances of one type, every member drawn."""
    hints = get_type_hints(kind)
    members = {name: instances(hints[name], text) for name in kind.__struct_fields__}
    return st.builds(kind, **members)


@cache
def any_plain(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.deferred(
        lambda: st.one_of([causes_of(kind, text) for kind in CAUSES if kind not in NESTING])
    )


# Words.


@pytest.mark.parametrize("kind", CAUSES, ids=lambda kind: kind.__name__)
@FEW
@given(data=st.data())
def test_every_cause_has_printable_words(kind: type[Any], data: st.DataObject) -> None:
    words = describe(data.draw(causes_of(kind, HOSTILE)))
    assert words
    assert words.replace("…", "").isascii()
    assert words.isprintable()
    assert len(words) <= MOST_WORDS


def test_a_pass_without_a_cause_needs_no_words() -> None:
    assert describe(None) == ""


def test_long_words_are_cut_off() -> None:
    words = describe(WrongStatus("200", 500, "x" * 9000))
    assert words == "expected status 200, got 500: " + "x" * 1970 + "…"
    assert len(describe(WrongStatus("200", 500, "\u202e" * 9000))) == MOST_WORDS


# What causes quote.


@given(HOSTILE, st.integers(1, 50))
def test_printable_text_is_ascii_of_bounded_length(text: str, limit: int) -> None:
    shown = printable(text, limit)
    assert shown.replace("…", "").isascii()
    assert shown.isprintable()
    assert len(shown) <= limit + 1
    assert printable(shown, 10**6) == shown.replace("\\", "\\\\").replace("…", "\\u2026")


def test_printable_text_is_as_it_was_if_it_was_printable() -> None:
    assert printable('it\'s "so"') == 'it\'s "so"'
    assert printable("\x1b\u202e\n") == "\\x1b\\u202e\\n"
    assert printable("abcdef", 3) == "abc…"
    assert printable(["é", None]) == "['\\xe9', None]"


def test_an_excerpt_is_the_start_of_a_body_in_one_line() -> None:
    assert excerpt(b"") == ""
    assert excerpt(b'{"error": "it\'s\n\xff"}') == '{"error": "it\'s\\n\\xff"}'
    assert excerpt(memoryview(b"abcdef"), 3) == "abc…"


# JSON.


@pytest.mark.parametrize("kind", CAUSES, ids=lambda kind: kind.__name__)
@FEW
@given(data=st.data())
def test_every_type_survives_json(kind: type[Any], data: st.DataObject) -> None:
    cause = data.draw(causes_of(kind, SHOWN))
    for text in (msgspec.json.encode(cause), as_json(cause)):
        again = msgspec.json.decode(text, type=Cause)
        assert again == cause
        assert type(again) is kind
        assert again.kind == cause.kind
        assert describe(again) == describe(cause)


def test_kinds_are_the_names_of_the_types_and_those_of_the_schema_of_reports() -> None:
    assert len(set(KINDS)) == len(CAUSES)
    assert list(KINDS) == sorted(KINDS)
    assert WrongStatus("200", 500, "").kind == "wrong_status"
    definitions = schema_document("report")["$defs"]
    assert set(KINDS) == {kind for entry in definitions.values() for kind in _kinds(entry)}


def _kinds(entry: Any) -> list[str]:
    kinds: list[str] = entry.get("properties", {}).get("kind", {}).get("enum", [])
    return kinds if len(kinds) == 1 else []  # what is of one of several kinds is no cause


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b'{"kind":"flooded"}',
        b'{"kind":"flooded","limit":"1"}',
        b'{"kind":"flooded","limit":1,"more":2}',
        b'{"kind":"unheard_of"}',
        b'{"kind":"bytes_after_response","count":' + b"9" * 4400 + b"}",
    ],
)
def test_what_is_no_cause_is_refused(text: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Cause)


# Nesting.


@pytest.mark.parametrize(
    ("cause", "difference", "dead"),
    [
        (None, None, False),
        (STATUS, None, False),
        (Rejected(400), None, False),
        (VALUE, ELEMENT, False),
        (STRING, ELEMENT, False),
        (SeveralWrong(1, 20, VALUE), ELEMENT, False),
        (SeveralWrong(1, 20, STATUS), None, False),
        (NotDone(LOST), None, False),
        (DidNotSurvive(None, STATUS, STRING, case_passed=False), ELEMENT, True),
        (DidNotSurvive(None, STATUS, SeveralWrong(1, 20, VALUE), case_passed=False), ELEMENT, True),
        # The first difference is the case's own, not that of a known-good request.
        (DidNotSurvive(VALUE, VALUE, None, case_passed=True), None, True),
        (DidNotSurvive(VALUE, VALUE, Accepted(), case_passed=True), None, True),
        (GeneratedFailure(VALUE, 3, 0, "6.0", None), ELEMENT, False),
        (GeneratedFailure(STATUS, 3, 0, "6.0", "c.yaml"), None, False),
        (
            GeneratedFailure(
                DidNotSurvive(None, STATUS, VALUE, case_passed=False), 3, 0, "6.0", None
            ),
            ELEMENT,
            True,
        ),
    ],
)
def test_differences_and_deaths_show_at_any_depth(
    cause: Cause | None, difference: FirstDifference | None, dead: bool
) -> None:
    assert difference_in(cause) == difference
    assert died(cause) is dead


ORIGIN: dict[str, Any] = {"number": 1, "seed": 0, "hypothesis": "6.0", "file": None}
DEATH: dict[str, Any] = {"same_connection": None, "fresh_connection": None, "case_passed": True}


@pytest.mark.parametrize(
    ("kind", "members", "words"),
    [
        (NotDone, {"finding": NotDone(LOST)}, "the `finding` of not_done cannot be not_done"),
        (
            SeveralWrong,
            {"wrong": 1, "total": 2, "first": NotDone(LOST)},
            "the `first` of several_wrong cannot be not_done",
        ),
        (
            DidNotSurvive,
            {**DEATH, "case": DidNotSurvive(LOST, None, None, case_passed=True)},
            "the `case` of did_not_survive cannot be did_not_survive",
        ),
        (
            GeneratedFailure,
            {"request": GeneratedFailure(LOST, 1, 0, "6.0", None), **ORIGIN},
            "the `request` of generated_failure cannot be generated_failure",
        ),
    ],
)
def test_no_nested_compounds(kind: type[Any], members: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kind(**members)
    parts = {name: msgspec.to_builtins(value) for name, value in members.items()}
    tag = kind.__struct_config__.tag
    with pytest.raises(msgspec.ValidationError, match=words):
        msgspec.convert({"kind": tag, **parts}, Cause)
