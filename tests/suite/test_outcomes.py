"""Outcomes and purposes are strings wherever strings are used, on every version of Python."""

from __future__ import annotations

import json
import pickle
from enum import Enum

import msgspec
import pytest

from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.wire.response import Ending

ALL = [*Outcome, *Purpose, *Ending]


@pytest.mark.parametrize("member", ALL, ids=lambda member: f"{type(member).__name__}-{member}")
def test_a_member_is_its_value(member: Outcome | Purpose | Ending) -> None:
    value = str(member.value)
    kind: type[Enum] = type(member)
    assert member == value
    assert value == member
    assert hash(member) == hash(value)
    assert {value: 1}[member] == 1
    assert kind(value) is member
    assert str(member) == value
    assert f"{member}" == "{}".format(member) == "%s" % member == value  # noqa: UP031, UP032
    assert f"{member:>24}|{member:.2}" == f"{value:>24}|{value:.2}"
    assert " ".join([member]) == value
    assert json.dumps({member: member}) == json.dumps({value: value})
    assert msgspec.to_builtins(member) == value
    assert type(msgspec.to_builtins(member)) is str
    assert msgspec.json.decode(msgspec.json.encode(member), type=kind) is member
    assert pickle.loads(pickle.dumps(member)) is member


def test_values_are_those_that_report_json_documents() -> None:
    assert [outcome.value for outcome in Outcome] == [
        "pass", "fail", "flaky", "disputed", "unsupported", "inconclusive", "not_run", "error",
    ]  # fmt: skip
    assert [purpose.value for purpose in Purpose] == [
        "discovery", "calibration", "before", "case", "repeated", "retried", "sample",
        "canary_same_connection", "canary_fresh_connection", "liveness",
    ]  # fmt: skip
    assert [ending.value for ending in Ending] == [
        "complete", "closed", "reset", "refused", "timeout", "too-large", "malformed", "left",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [Outcome, Purpose, Ending])
def test_another_value_is_refused(kind: type[Enum]) -> None:
    with pytest.raises(ValueError, match="passed"):
        kind("passed")
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'"passed"', type=kind)
