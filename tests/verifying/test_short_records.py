"""What verifying and merging say of reports of a few cases that an ordinary run tries all of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.reports import Document
from support.runs import BAD, GOOD, changed, chosen, made, said, target_of
from v2_conformance.certifying.servers import plan_of, start
from v2_conformance.options.selection import SelectionOptions
from v2_conformance.report.files import load_report
from v2_conformance.runs.targets.make import make_target
from v2_conformance.suite.library import every_case
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.verifying.merging import merge
from v2_conformance.verifying.recorded.beliefs import Belief
from v2_mutants.servers import MutantServer


@pytest.fixture(scope="module")
def short(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("short"), target_of(url), chosen(GOOD, BAD, "R8/observed"))


def left_out(*purposes: Purpose) -> Callable[[Document], object]:
    """A change that leaves these exchanges of BAD out."""

    def change(report: Document) -> None:
        (case,) = (case for case in report["cases"] if case["id"] == BAD)
        kept = [one for one in case["exchanges"] if one["purpose"] not in set(purposes)]
        assert len(kept) + len(purposes) == len(case["exchanges"])
        case["exchanges"] = kept

    return change


def test_that_no_close_was_unannounced_is_believed(short: Path) -> None:
    found, _ = said(short)
    believed = {case.id: case.believed for case in found.cases}
    assert found.exit_code == 0
    assert believed["R8/observed"] == (Belief.CLOSED,)


@pytest.mark.parametrize(
    ("purposes", "words"),
    [
        (
            [Purpose.CANARY_SAME],
            "the connection was left open, but no known-good request is recorded on it",
        ),
        (
            [Purpose.CANARY_SAME, Purpose.CANARY_FRESH],
            "on a fresh connection is left out; recorded instead: nothing",
        ),
    ],
)
def test_a_known_good_request_that_the_suite_sends_is_missed(
    short: Path, tmp_path: Path, purposes: list[Purpose], words: str
) -> None:
    found, text = changed(short, tmp_path, left_out(*purposes))
    assert found.exit_code == 1
    assert words in text


@pytest.mark.parametrize(
    ("faults", "outcome"), [([], Outcome.PASS), (["error-is-plain-text"], Outcome.FAIL)]
)
def test_what_is_about_all_exchanges_is_judged_over_those_of_the_shards(
    faults: list[str], outcome: Outcome, tmp_path: Path
) -> None:
    plan = plan_of(SelectionOptions(patterns=(GOOD, BAD, "R2/observed"), shard=(1, 1)))
    with MutantServer(faults) as server:
        start(make_target(server.url, timeout=3), plan, tmp_path).finish()
    merged = merge([tmp_path / "report.json"], every_case())
    assert {case.id: case.outcome for case in merged.cases}["R2/observed"] is outcome
    assert "R2/observed" not in {one.id for one in load_report(tmp_path / "report.json").cases}
