"""docs/bugs.md: every row has a case or a reason, every case that it names exists and fails on a
server or client with the faults of its row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from support.runs import results, target_of
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.suite.cases import Case
from v2_conformance.suite.choosing import select
from v2_conformance.suite.library import client_cases, suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.client_faults import CLIENT_FAULTS
from v2_mutants.faults import FAULTS
from v2_mutants.selftest.clients import client_failures_without_fault
from v2_mutants.servers import MutantServer

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


def test_the_page_has_a_row_for_each_bug() -> None:
    assert len(rows()) > 150
    bugs = Counter(row.bug for row in rows())
    assert max(bugs.values()) == 1
    assert all(LINK.search(bug) for bug in bugs)


def test_a_bug_has_a_case_or_a_reason() -> None:
    for row in rows():
        if re.match(r"(No case|Not covered): \S.{20,}\.", row.noticed):
            assert (row.patterns, row.reproduced) == ([], "–"), row.bug
        else:
            assert row.patterns, row.bug
            assert row.faults or NOT_ALL in row.reproduced or "itself" in row.reproduced, row.bug


def test_each_pattern_of_the_page_means_a_case() -> None:
    for pattern in set(A_CASE.findall(PAGE)):
        assert select(every_case(), [pattern])


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
