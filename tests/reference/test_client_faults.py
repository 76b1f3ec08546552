"""Every fault of the plain client is caught by a scenario of its requirement.

Here one fault of each requirement is tried; with --whole-runs (`tox -e variants`) all of them, as
`v2-conformance selftest` does.
"""

from __future__ import annotations

import pytest

from support.long_tests import sample
from v2_conformance.suite.requirements import catalogue
from v2_mutants.client_faults import CLIENT_FAULTS
from v2_mutants.selftest.clients import try_client_fault


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "one_of_the_client_faults" in metafunc.fixturenames:
        hashed = sample(CLIENT_FAULTS, 1)
        one_each = {CLIENT_FAULTS[name].requirement: name for name in hashed}
        whole = metafunc.config.getoption("--whole-runs")
        chosen = hashed if whole else list(one_each.values())
        metafunc.parametrize("one_of_the_client_faults", chosen)


def test_client_fault_is_caught_by_its_requirement(one_of_the_client_faults: str) -> None:
    trials = (try_client_fault(one_of_the_client_faults, number=number) for number in (1, 2))
    assert any(trial.caught for trial in trials)


def test_every_requirement_of_clients_has_a_fault() -> None:
    clients = {one.id for one in catalogue().values() if one.profile == "client"}
    assert {fault.requirement for fault in CLIENT_FAULTS.values()} == clients
    assert len(CLIENT_FAULTS) > 100
