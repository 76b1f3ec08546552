"""docs/bugs.md: every row has a case or a reason, and every case that it names exists."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from v2_conformance.suite.choosing.selection import select
from v2_conformance.suite.library import client_cases, suite_cases

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "bugs.md").read_text(encoding="utf-8")
LINK = re.compile(r"\[[^\]]+\]\(([^)]+)\)")
A_CASE = re.compile(r"`([A-Z][0-9]+/[^`]+)`")


def rows() -> list[tuple[str, str, str]]:
    """Each bug, what went wrong, and what notices it."""
    found = []
    for line in PAGE.splitlines():
        if line.startswith("| ") and not line.startswith("| bug |"):
            bug, wrong, noticed = line.strip("|").split(" | ")
            found.append((bug.strip(), wrong.strip(), noticed.strip()))
    return found


def test_the_page_has_a_row_for_each_bug() -> None:
    assert len(rows()) > 100
    bugs = Counter(bug for bug, _, _ in rows())
    assert max(bugs.values()) == 1
    assert all(LINK.search(bug) for bug in bugs)


@pytest.mark.parametrize(("bug", "noticed"), [(bug, noticed) for bug, _, noticed in rows()])
def test_a_bug_has_a_case_or_a_reason(bug: str, noticed: str) -> None:
    reason = re.match(r"No case: \S.{20,}\.", noticed)
    assert A_CASE.search(noticed) if reason is None else reason, bug


@pytest.mark.parametrize("pattern", sorted(set(A_CASE.findall(PAGE))))
def test_a_pattern_of_the_page_means_a_case(pattern: str) -> None:
    assert select([*suite_cases(large=True, huge=True), *client_cases()], [pattern])
