"""The selftest notices what proves nothing: a fault that survives, a case that no fault fails."""

from __future__ import annotations

import pytest

from v2_conformance.maintenance.selftest import Kill, idle, lines, persist, try_fault
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults import FAULTS, Fault


def test_a_fault_without_effect_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAULTS, "none", Fault("none", "R4", "It does nothing.", Behaviour))
    kill = try_fault("none")
    assert not kill.killed
    assert not kill.own
    assert not kill.others
    assert any("SURVIVES" in line and "none" in line for line in lines([kill]))


def test_a_fault_is_killed_by_its_own_requirement_and_the_others_are_named() -> None:
    kill = try_fault("binary-response-typed-json")
    assert kill.killed
    assert {name.partition("/")[0] for name in kill.own} == {"P4"}
    assert "P4" not in kill.others


def test_a_fault_that_a_stalled_machine_hid_is_tried_again_and_the_matrix_says_so() -> None:
    def attempt(name: str, tries: int) -> Kill:
        own = ("W3/some",) if tries == 2 else ()
        return Kill(name, "W3", own, (), tries=tries)

    kill = persist(Kill("raw-body-read-once", "W3", (), ()), attempt)
    assert kill.killed
    assert "killed" in next(lines([kill]))
    assert "tried 2 times" in next(lines([kill]))


def test_a_fault_that_survives_three_tries_survives() -> None:
    def attempt(name: str, tries: int) -> Kill:
        return Kill(name, "W3", (), (), tries=tries)

    kill = persist(Kill("raw-body-read-once", "W3", (), ()), attempt)
    assert not kill.killed
    assert kill.tries == 3
    assert "SURVIVES" in next(lines([kill]))


def test_a_must_entry_that_no_fault_fails_is_named() -> None:
    killed = Kill("some", "P2", ("P2/blob-follows-json[INT32]",), ())
    assert "P2/blob-follows-json" in idle([])
    assert "P2/blob-follows-json" not in idle([killed])
    assert not [name for name in idle([]) if name.startswith("P4/")], "P4 is a SHOULD"
