"""Causes: each has a sentence and survives JSON, and says what it is about at any depth."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from support.snapshots import Snapshot
from v2_conformance.report.files import as_json_bytes
from v2_conformance.suite.causes import causes, kinds
from v2_conformance.suite.causes.base import FirstDifference, describe, excerpt, printable
from v2_conformance.suite.causes.causes import Cause

HARD = "\x1b[2J\x1b]0;title\x07\u202e\r\n::error::é" + "x" * 5000
EXAMPLES = Path(__file__).parents[2] / "snapshots" / "causes.yaml"
MOST_WORDS = 2001  # 2000 characters and "…"

HOSTILE = st.text(min_size=1, max_size=40) | st.sampled_from(
    ["\x1b[2J\x1b]0;title\x07", "\ud800", "\u202e" * 30, "x" * 5000, "é…", "'\"\\", "\r\n::error::"]
)
STATUS = kinds.WrongStatus("200", 500, "no")
LOST = kinds.HeaderLengthMissing()
ELEMENT = FirstDifference("OUTPUT0", "INT32", 1, 5, 125, "02000000", "02010000", "2", "258")
VALUE = kinds.WrongValue(ELEMENT, 3, 2)
DEAD = causes.DidNotSurvive(None, STATUS, VALUE, case_passed=False)
STRING = kinds.WrongBytesElement(ELEMENT, 2, 120, 1, 2, 2, "64", "58")


def test_long_words_are_cut_off() -> None:
    assert describe(None) == ""
    words = describe(kinds.WrongStatus("200", 500, "x" * 9000))
    assert words == "expected status 200, got 500: " + "x" * 1970 + "…"
    assert len(describe(kinds.WrongStatus("200", 500, "\u202e" * 9000))) == MOST_WORDS


@given(HOSTILE, st.integers(1, 50))
def test_printable_text_is_ascii_of_bounded_length(text: str, limit: int) -> None:
    shown = printable(text, limit)
    assert shown.replace("…", "").isascii()
    assert shown.isprintable()
    assert len(shown) <= limit + 1
    assert printable(shown, 10**6) == shown.replace("\\", "\\\\").replace("…", "\\u2026")


def test_what_was_printable_stays_and_an_excerpt_is_one_line() -> None:
    assert printable('it\'s "so"') == 'it\'s "so"'
    assert printable("\x1b\u202e\n") == "\\x1b\\u202e\\n"
    assert printable("abcdef", 3) == "abc…"
    assert printable(["é", None]) == "['\\xe9', None]"
    assert excerpt(b'{"error": "it\'s\n\xff"}') == '{"error": "it\'s\\n\\xff"}'
    assert excerpt(memoryview(b"abcdef"), 3) == "abc…"


def test_kinds_are_the_names_of_the_types() -> None:
    assert len(set(causes.KINDS)) == len(causes.CAUSES)
    assert list(causes.KINDS) == sorted(causes.KINDS)
    assert kinds.WrongStatus("200", 500, "").kind == "wrong_status"


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


@pytest.mark.parametrize(
    ("cause", "difference", "dead"),
    [
        (None, None, False),
        (STATUS, None, False),
        (VALUE, ELEMENT, False),
        (STRING, ELEMENT, False),
        (causes.SeveralWrong(1, 20, VALUE), ELEMENT, False),
        (causes.NotDone(LOST), None, False),
        (causes.DidNotSurvive(None, STATUS, STRING, case_passed=False), ELEMENT, True),
        # The first difference is the case's own, not that of a known-good request.
        (causes.DidNotSurvive(VALUE, VALUE, kinds.Accepted(), case_passed=True), None, True),
        (causes.GeneratedFailure(VALUE, 3, 0, "6.0", None), ELEMENT, False),
        (causes.GeneratedFailure(DEAD, 3, 0, "6.0", None), ELEMENT, True),
    ],
)
def test_differences_and_deaths_show(
    cause: Cause | None, difference: FirstDifference | None, dead: bool
) -> None:
    assert causes.difference_in(cause) == difference
    assert causes.died(cause) is dead


def test_no_nested_compounds() -> None:
    never = causes.SeveralWrong(1, 2, LOST)
    for kind, members, name in (
        (causes.NotDone, {"finding": causes.NotDone(LOST)}, "finding"),
        (causes.SeveralWrong, {"wrong": 1, "total": 2, "first": never}, "first"),
    ):
        tag = kind.__struct_config__.tag
        with pytest.raises(ValueError, match=f"the `{name}` of {tag} cannot be {tag}"):
            kind(**members)
        parts = {key: msgspec.to_builtins(value) for key, value in members.items()}
        with pytest.raises(msgspec.ValidationError, match=f"the `{name}` of {tag} cannot be"):
            msgspec.convert({"kind": tag, **parts}, Cause)


def test_every_cause_has_its_sentence_and_survives_json(snapshot: Snapshot) -> None:
    rows = snapshot("causes", lambda row: describe(msgspec.convert(row["cause"], Cause)))
    examples = [msgspec.convert(row["cause"], Cause) for row in rows]
    assert {type(cause) for cause in examples} == set(causes.CAUSES), "a cause has no example there"
    for cause in examples:
        for text in (msgspec.json.encode(cause), as_json_bytes(cause)):
            again = msgspec.json.decode(text, type=Cause)
            assert (type(again), again, again.kind) == (type(cause), cause, cause.kind)


@pytest.mark.parametrize("kind", causes.CAUSES, ids=lambda kind: kind.__name__)
def test_every_text_of_a_cause_is_printable(kind: type[Any]) -> None:
    hints = get_type_hints(kind)
    texts = [name for name in kind.__struct_fields__ if hints[name] in (str, str | None)]
    rows = [row["cause"] for row in yaml.safe_load(EXAMPLES.read_text(encoding="utf-8"))]
    (example, *_) = [row for row in rows if row["kind"] == kind.__struct_config__.tag]
    words = describe(msgspec.convert({**example, **dict.fromkeys(texts, HARD)}, Cause))
    assert words.replace("…", "").isascii()
    assert words.isprintable()
    assert 0 < len(words) <= MOST_WORDS


def test_made_up_text_is_escaped_and_an_ellipsis_stays() -> None:
    words = describe(kinds.NotHttp("\x1b[2J…\u202e"))
    assert words == "the response is not HTTP: \\x1b[2J…\\u202e"


def test_python_without_docstrings_is_refused_not_left_without_sentences() -> None:
    command = [sys.executable, "-OO", "-c", "import v2_conformance.suite.causes.base"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "run without -OO" in done.stderr.splitlines()[-1]
