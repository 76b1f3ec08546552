"""Patterns of causes: what is the same failure, what is another, and what is no pattern."""

from __future__ import annotations

import json

import msgspec
import pytest

from support.reports import causes_of_all_kinds
from v2_conformance.report.cause_patterns import (
    PatternError,
    lasting,
    pattern_of,
    read_pattern,
    same_failure,
)
from v2_conformance.suite.causes import causes, kinds
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import Cause

REFUSED = kinds.WrongStatus("200", 503, "busy")
CLOSED = kinds.ConnectionClosed(0, "reset")
DIFFERENCE = FirstDifference("OUT", "INT32", 3, 12, None, "01000000", "00000000", "1", "0")
WRONG = kinds.WrongValue(DIFFERENCE, 4, 1)
MADE = causes.GeneratedFailure(WRONG, 3, 0, "6.1", None)
DIED = causes.DidNotSurvive(None, REFUSED, CLOSED, False)


EXAMPLES = list(causes_of_all_kinds())


@pytest.mark.parametrize("cause", EXAMPLES, ids=lambda cause: cause.kind)
def test_a_cause_of_each_kind_fits_its_own_pattern_and_what_is_written_of_it(cause: Cause) -> None:
    for pattern in (
        pattern_of(cause),
        read_pattern(cause.kind),
        read_pattern(pattern_of(cause).document),
        read_pattern(json.loads(msgspec.json.encode(cause))),
    ):
        assert pattern.matches(cause)
        fitting = {other.kind for other in EXAMPLES if pattern.matches(other)}
        assert fitting == {cause.kind}
        assert str(pattern).startswith(cause.kind)
    assert same_failure(cause, cause)
    assert read_pattern(pattern_of(cause).document) == pattern_of(cause)
    assert hash(pattern_of(cause)) == hash(pattern_of(cause))


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (kinds.ConnectionRefused("127.0.0.1:8000"), kinds.ConnectionRefused("h:35121")),
        (kinds.TimedOut(20.0, 0, "late"), kinds.TimedOut(5.0, 12, "very late")),
        (kinds.WrongStatus("200", 500, "id 1"), kinds.WrongStatus("200", 500, "id 2")),
        (kinds.BodyNotJson(12, "at byte 3"), kinds.BodyNotJson(14, "at byte 4")),
        (WRONG, kinds.WrongValue(msgspec.structs.replace(DIFFERENCE, element=2), 4, 2)),
        (DIED, causes.DidNotSurvive(REFUSED, REFUSED, CLOSED, False)),
        (causes.SeveralWrong(2, 8, REFUSED), causes.SeveralWrong(3, 8, CLOSED)),
        (kinds.RoleAbsent("mixed", "status 404"), kinds.RoleAbsent("mixed", "not JSON")),
        (MADE, causes.GeneratedFailure(WRONG, 9, 1, "6.2", "counterexample.yaml")),
    ],
    ids=lambda cause: cause.kind,
)
def test_what_changes_from_run_to_run_makes_no_difference(was: Cause, now: Cause) -> None:
    assert pattern_of(was).matches(now)
    assert same_failure(was, now)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (kinds.WrongStatus("200", 500, ""), kinds.WrongStatus("200", 503, "")),
        (kinds.WrongShape("OUT", (3,), (1, 3)), kinds.WrongShape("OUT", (3,), (3, 1))),
        (kinds.MissingOutput("OUT", ()), kinds.MissingOutput("OUT1", ())),
        (CLOSED, REFUSED),
        (DIED, REFUSED),
        (causes.NotDone(CLOSED), causes.NotDone(REFUSED)),
        (MADE, causes.GeneratedFailure(CLOSED, 3, 0, "6.1", None)),
        (REFUSED, None),
        (None, REFUSED),
    ],
    ids=lambda cause: cause and cause.kind,
)
def test_what_makes_another_failure_makes_one(was: Cause | None, now: Cause | None) -> None:
    assert not same_failure(was, now)
    if was is not None:
        assert not pattern_of(was).matches(now)


@pytest.mark.parametrize(
    ("written", "cause", "fits"),
    [
        ({"kind": "wrong_status", "got": 503, "expected": "200"}, REFUSED, True),
        ({"kind": "wrong_status", "expected": 200}, REFUSED, True),  # no quotation marks
        ({"kind": "wrong_status", "body": "b*y"}, REFUSED, True),
        ({"kind": "wrong_status", "body": "bus"}, REFUSED, False),  # as a whole
        ({"kind": "wrong_status", "body": "*"}, kinds.WrongStatus("200", 1, "a\nb"), True),
        ({"kind": "timed_out", "seconds": 1}, kinds.TimedOut(1.0, 0, ""), True),
        ({"kind": "wrong_shape", "got": [1, 3]}, kinds.WrongShape("O", (3,), (1, 3)), True),
        ({"kind": "missing_output", "got": ["A*"]}, kinds.MissingOutput("O", ("AB",)), True),
        ({"kind": "wrong_content_type", "got": None}, kinds.WrongContentType("a", None), True),
        ({"kind": "wrong_content_type", "got": None}, kinds.WrongContentType("a", "b"), False),
        ({"kind": "wrong_value", "difference": {"datatype": "INT*", "element": 3}}, WRONG, True),
        ({"kind": "wrong_value", "difference": {"datatype": "FP*"}}, WRONG, False),
        ("did_not_survive", DIED, True),
        ({"kind": "did_not_survive", "case": "connection_closed"}, DIED, True),
        ({"kind": "did_not_survive", "same_connection": None, "case_passed": False}, DIED, True),
        ({"kind": "did_not_survive", "fresh_connection": "wrong_status"}, DIED, True),
        ({"kind": "did_not_survive", "fresh_connection": "not_http"}, DIED, False),
        ("wrong_status", DIED, False),  # the outer kind counts
    ],
)
def test_members(written: object, cause: Cause, fits: bool) -> None:
    assert read_pattern(written).matches(cause) is fits


ELEMNT = {"kind": "wrong_value", "difference": {"elemnt": 3}}


@pytest.mark.parametrize(
    ("written", "place", "words"),
    [
        (3, (), "expected a kind of cause, or a mapping"),
        ({"kind": 3}, (), "a mapping such as `kind: wrong_status`"),
        ("wrong_state", (), "unknown kind of cause: 'wrong_state'; did you mean wrong_status"),
        ("zzz", (), "schemas/report.schema.json has all of them"),
        ({"kind": "Wrong_Status"}, ("kind",), "unknown kind of cause: 'Wrong_Status'"),
        ({"kind": "wrong_status", "zzz": 1}, ("zzz",), "'zzz'; it has expected, got, body"),
        ({"kind": "accepted", "got": 1}, ("got",), "member of accepted: 'got'; it has none"),
        (ELEMNT, ("difference", "elemnt"), "'elemnt'; did you mean element"),
        ({"kind": "wrong_status", "\x1b[2J": 1}, ("\x1b[2J",), r"'\x1b[2J'"),
    ],
)
def test_no_pattern_has_its_place(written: object, place: tuple[object, ...], words: str) -> None:
    with pytest.raises(PatternError) as error:
        read_pattern(written)
    assert error.value.place == place
    assert words in str(error.value)
    assert str(error.value).isprintable()


UUID, TIME = "7f3c2a10-9b1e-4c55-8d2f-0a1b2c3d4e5f", "2026-06-15T12:00:01.5Z"


@pytest.mark.parametrize("made", [UUID, TIME, "0x7f3a9c0012d0", "1781234567890", "9f86d081884c"])
def test_what_a_server_makes_anew_each_time_is_no_part_of_a_failure(made: str) -> None:
    one, other = (kinds.WrongDatatype("OUT", "INT32", text) for text in (f"id-{made}", "id-*"))
    assert pattern_of(one).matches(one)
    assert same_failure(one, other)
    assert lasting(f"no ({made}): 4 bytes, not 12345678") == "no (*): 4 bytes, not 12345678"


@pytest.mark.parametrize("text", ["INT32", "facade", "feedbeefs", "port 8080", "v2.51.0", "0x3"])
def test_what_lasts_is_kept(text: str) -> None:
    assert lasting(text) == text
