"""What is sent again to see whether a failure is fixed, and what that shows of other cases."""

from __future__ import annotations

from dataclasses import replace

from support.reports import case
from support.runs import CASES, GOOD, target_of
from v2_conformance.certifying.resending import Failure, Now, resend
from v2_conformance.suite.requirements import Level
from v2_mutants.servers import MutantServer


def _newly_failing(level: Level, *faults: str) -> list[str]:
    """The cases that are told of when one of this level is sent because it showed another."""
    shows = replace(CASES()[GOOD], level=level)
    failed = Failure(case("R2/observed", "fail"), CASES()["R2/observed"], shown_by=(shows,))
    with MutantServer(faults) as server:
        found = list(resend(target_of(server.url), [failed]))
    return [one.case_id for one in found if one.now is Now.NEWLY_FAILING]


def test_a_case_that_showed_another_failure_counts_if_it_fails_itself() -> None:
    assert _newly_failing("MUST") == []
    assert _newly_failing("MUST", "request-blobs-off-by-one") == [GOOD]
    assert _newly_failing("MAY", "request-blobs-off-by-one") == []
