"""The selftest of the client bench notices holes, and finds none but those that are made."""

from __future__ import annotations

import pytest

from v2_clients.plain import PlainClient
from v2_conformance.suite.library import client_cases
from v2_mutants.client_faults import CLIENT_FAULTS
from v2_mutants.registry import Mutant
from v2_mutants.selftest.clients import client_failures_without_fault, try_client_fault
from v2_mutants.selftest.servers import SelftestResult
from v2_mutants.selftest.text import selftest_lines
from v2_mutants.selftest.trials import FaultTrial, Half, unproven


@pytest.mark.long
def test_the_plain_client_passes_every_scenario() -> None:
    wrong = [(result.case.id, result.message) for result in client_failures_without_fault()]
    assert wrong == []


def test_a_client_fault_without_effect_is_not_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    none = Mutant("none", "K1", "It does nothing.", PlainClient)
    monkeypatch.setitem(CLIENT_FAULTS, "none", none)
    trial = try_client_fault("none")
    assert (trial.caught, trial.own_failures) == (False, ())


def test_a_fault_that_only_observation_shows_is_caught() -> None:
    assert try_client_fault("host-missing").own_failures == ("K33/one-host",)


def test_an_entry_that_no_fault_of_its_requirement_fails_is_a_hole() -> None:
    caught = tuple(case.id for case in client_cases())
    assert unproven(client_cases(), [FaultTrial("made-up", "K1", caught, ())]) == []
    fewer = tuple(id for id in caught if not id.startswith("K3/mixed-order"))
    assert unproven(client_cases(), [FaultTrial("made-up", "K1", fewer, ())]) == ["K3/mixed-order"]


def test_a_fault_that_no_scenario_notices_fails_the_selftest() -> None:
    server = FaultTrial("fault", "P2", ("P2/x",), ())
    client = FaultTrial("client-fault", "K1", (), ())
    good = SelftestResult(Half((server,)))
    bad = SelftestResult(Half((server,)), Half((client,)))
    hole = SelftestResult(Half((server,)), Half(unproven=("K1/x",)))
    assert (good.passed, bad.passed, hole.passed) == (True, False, False)
    lines = list(selftest_lines(bad))
    assert any("MISSED" in line and "client-fault" in line for line in lines)
    assert lines[-1] == "1 faults of clients, 0 caught by a scenario of their own requirement"
