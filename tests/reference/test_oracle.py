"""What the suite shows is as frozen in tests/oracle: here what takes seconds, in memory."""

from __future__ import annotations

import pytest

from oracle.parts import FILES, PARTS, names_of, read
from oracle.servers import NOTHING, in_full
from support.memory import in_memory, run_in_memory
from v2_conformance.suite.library import suite_cases
from v2_mutants.faults import FAULTS

REQUIREMENTS = tuple(dict.fromkeys(fault.requirement for fault in FAULTS.values()))
LONG = ("C5", "J1", "J7", "J9", "P1", "P9", "R1", "R3", "V1", "V2", "V3", "X1")
"""Requirements with many cases and many faults, or whose cases observe all others."""


@pytest.mark.parametrize(
    "requirement",
    [pytest.param(one, marks=pytest.mark.long if one in LONG else ()) for one in REQUIREMENTS],
)
def test_each_fault_of_a_requirement_fails_its_cases(requirement: str) -> None:
    frozen = read("own")
    faults = [name for name, fault in FAULTS.items() if fault.requirement == requirement]
    found = {name: PARTS["own"].row(name) for name in faults}
    assert found == {name: frozen.get(name, "") for name in faults}


def test_each_fault_is_caught_in_memory_or_over_sockets() -> None:
    unseen = [name for name, row in read("own").items() if row == NOTHING]
    assert read("sockets") == dict.fromkeys(unseen, "caught")


def test_the_reference_server_does_in_memory_what_it_did_over_sockets() -> None:
    frozen = read("embedded")
    assert frozen.keys() <= {case.id for case in suite_cases(large=True)}
    found = {one.case.id: in_full(one) for one in run_in_memory(in_memory(suite_cases()))}
    assert found == {id: frozen.get(id, "") for id in found}


@pytest.mark.parametrize("part", sorted(PARTS.keys() - {"reports", "embedded"}))
def test_the_rows_of_the_oracle_are_in_order(part: str) -> None:
    frozen = read(part)
    assert list(frozen) == [name for name in names_of(part) if name in frozen]


def test_the_oracle_is_small() -> None:
    assert sum(file.stat().st_size for file in FILES.glob("*.txt")) <= 1_000_000
