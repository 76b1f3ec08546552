"""What a run notices of the reference server's faults that knows none of its models."""

from __future__ import annotations

import pytest

from v2_mutants.selftest.relation_faults import (
    RelationTrial,
    enough_noticed,
    relation_lines,
    try_relation_fault,
)


@pytest.mark.parametrize(
    "fault",
    [
        "request-blobs-off-by-one",
        "response-header-length-short",
        "json-strings-read-as-latin-1",
    ],
)
@pytest.mark.long
def test_a_fault_that_breaks_a_relation_is_noticed(fault: str) -> None:
    assert try_relation_fault(fault).noticed_by is not None


@pytest.mark.long
def test_what_changes_every_answer_alike_is_not_noticed() -> None:
    assert try_relation_fault("nan-payloads-lost").noticed_by is None


def test_the_part_that_was_noticed_is_told() -> None:
    trials = (RelationTrial("a", "P2", "P2/x@m"), RelationTrial("b", "D4", None))
    lines = list(relation_lines(trials))
    assert lines[-1] == "1 of 2 faults noticed by relations alone (50%)"
    assert "MISSED" in lines[1]
    assert not enough_noticed(trials[1:])
