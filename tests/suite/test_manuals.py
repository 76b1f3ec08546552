"""docs/authoring-cases.md and docs/bugs.md say what is so, and their examples work."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.runs import results, target_of
from v2_clients.scenarios import run_scenario
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.resources import schema_document
from v2_conformance.suite.case_files import load_cases, load_scenarios
from v2_conformance.suite.cases import Case, ClientCase
from v2_conformance.suite.choosing import select
from v2_conformance.suite.library import client_cases, suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.client_faults import CLIENT_FAULTS
from v2_mutants.faults import FAULTS
from v2_mutants.selftest.clients import client_failures_without_fault, plain_client
from v2_mutants.servers import MutantServer

MANUAL = (Path(__file__).parents[2] / "docs" / "authoring-cases.md").read_text(encoding="utf-8")


def unsaid(node: Any) -> Iterator[str]:
    """The members of all objects of a schema that have no sentence."""
    if isinstance(node, dict):
        members = node.get("properties", {}) if not node.get("additionalProperties", True) else {}
        yield from (name for name, one in members.items() if "description" not in dict(one))
        node = list(node.values())
    for item in node if isinstance(node, list) else ():
        yield from unsaid(item)


def section(heading: str) -> str:
    """The text under a heading, without the headings below it."""
    _, found, rest = MANUAL.partition(f"# {heading}\n")
    assert found, f"the manual has no section {heading!r}"
    return re.split(r"(?m)^#+ ", rest)[0]


def example(heading: str) -> str:
    found = re.search(r"(?ms)^```yaml\n(.*?)^```$", section(heading))
    assert found
    return found[1]


def test_every_member_has_its_sentence() -> None:
    assert [*unsaid(schema_document("case")), *unsaid(schema_document("scenario"))] == []


def test_the_example_of_cases_passes_and_its_fault_fails_it(url: str, tmp_path: Path) -> None:
    path = tmp_path / "my-cases.yaml"
    path.write_text(example("My first case and its fault"), encoding="utf-8")
    cases = load_cases(path)
    named = set(re.findall(r"\b(S[12]/[a-z-]+\[[^\[\]]+\])", MANUAL))
    assert len(named) == 4
    assert named <= {case.id for case in cases}
    right = results(target_of(url), cases)
    assert {result.outcome for result in right.values()} == {Outcome.PASS}
    (name,) = re.findall(r"--fault ([a-z-]+)", section("My first case and its fault"))
    with MutantServer([name]) as server:
        found = results(target_of(server.url), cases)
    failed = [id for id, result in found.items() if result.outcome == Outcome.FAIL]
    assert sorted(failed) == ["S2/size-contradicts-shape[12]", "S2/size-contradicts-shape[20]"]


def outcomes_of_example(path: Path, fault: str | None = None) -> dict[str, Outcome]:
    """The outcome of each scenario of the example, with the plain client or one of its faults."""
    path.write_text(example("Scenarios for clients"), encoding="utf-8")
    client = plain_client() if fault is None else plain_client(CLIENT_FAULTS[fault].cls)
    scenarios = [case for case in load_scenarios(path) if isinstance(case, ClientCase)]
    return {case.id: run_scenario(case, client, timeout_s=20).outcome for case in scenarios}


def test_the_example_of_scenarios_passes_and_its_fault_fails_two(tmp_path: Path) -> None:
    found = outcomes_of_example(tmp_path / "my-scenarios.yaml")
    assert set(found.values()) == {Outcome.PASS}
    assert {id for id in found if "[" in id} == set(re.findall(r"K3/other-order\[\w+\]", MANUAL))
    (name,) = re.findall(r"--fault ([a-z-]+)", section("Scenarios for clients"))
    faulty = outcomes_of_example(tmp_path / "my-scenarios.yaml", name)
    assert [id for id, outcome in faulty.items() if outcome == Outcome.FAIL] == list(found)[:2]


DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "bugs.md").read_text(encoding="utf-8")
LINK = re.compile(r"\[[^\]]+\]\(([^)]+)\)")
A_CASE = re.compile(r"`([A-Z][0-9]+/[^`]+)`")
A_FAULT = re.compile(r"`([a-z0-9-]+)`")
NOT_ALL = "not reproduced"
# A fault that ends the server or hangs uses up this time; the longest case has a million chunks.
TIMEOUT_S, SLOW_TIMEOUT_S = 2.0, 30.0
SLOW = ("J7/", "L1/")


class Row(NamedTuple):
    """A bug, what went wrong, what notices it, and what reproduces it."""

    bug: str
    wrong: str
    noticed: str
    reproduced: str

    @property
    def patterns(self) -> list[str]:
        """The cases that notice it."""
        return A_CASE.findall(self.noticed)

    @property
    def faults(self) -> list[str]:
        """The faults that reproduce it."""
        return A_FAULT.findall(self.reproduced)


def rows() -> list[Row]:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    cells = (line.strip("|").split(" | ") for line in lines if not line.startswith("| bug |"))
    return [Row(*(cell.strip() for cell in row)) for row in cells]


@cache
def every_case() -> list[Case]:
    return [*suite_cases(large=True), *client_cases()]


def failing(fault: str, cases: Sequence[Case], timeout: float) -> Collection[str]:
    """The ids of the cases that fail on a server or a client with this fault."""
    if fault in CLIENT_FAULTS:
        found = client_failures_without_fault(CLIENT_FAULTS[fault].cls, cases)
        return {result.case.id for result in found if result.outcome is Outcome.FAIL}
    with MutantServer([fault]) as server:
        of_server = results(target_of(server.url, *SERVER_PROFILES, timeout=timeout), cases)
    return {id for id, result in of_server.items() if result.outcome is Outcome.FAIL}


def chosen(pattern: str, row: Row) -> list[Case]:
    """The cases of a pattern. What is observed shows in the exchanges of the row's other cases."""
    return select(every_case(), row.patterns if pattern.endswith("/observed") else [pattern])


def test_each_bug_has_a_row_of_its_own_with_a_case() -> None:
    bugs = [row.bug for row in rows()]
    assert len(bugs) == len(set(bugs)) > 150
    for row in rows():
        assert LINK.search(row.bug)
        assert row.patterns, row.bug
        assert row.faults or NOT_ALL in row.reproduced or "itself" in row.reproduced, row.bug
        assert all(select(every_case(), [pattern]) for pattern in row.patterns)


@pytest.mark.long
@pytest.mark.parametrize("row", [row for row in rows() if row.faults], ids=lambda row: row.bug)
def test_the_cases_of_a_bug_fail_with_its_faults(row: Row) -> None:
    assert set(row.faults) <= {*FAULTS, *CLIENT_FAULTS}
    idle, missed = set(row.faults), set(row.patterns)
    for pattern in row.patterns:
        meant = {case.id for case in select(every_case(), [pattern])}
        timeout = SLOW_TIMEOUT_S if pattern.startswith(SLOW) else TIMEOUT_S
        for fault in row.faults:
            if meant & set(failing(fault, chosen(pattern, row), timeout)):
                idle.discard(fault)
                missed.discard(pattern)
    assert not idle
    assert not missed or NOT_ALL in row.reproduced
