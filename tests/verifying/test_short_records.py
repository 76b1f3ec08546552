"""What verifying says of reports of a few cases that an ordinary run tries all of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.reports import Document
from support.runs import BAD, GOOD, changed, chosen, made, said, target_of
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.verifying.recorded.beliefs import Belief


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
