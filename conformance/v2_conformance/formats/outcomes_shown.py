"""The looks of outcomes in all formats: signs, words, colors, and which come first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from v2_conformance.suite.outcomes import Outcome


@dataclass(frozen=True)
class Look:
    """Appearance of an outcome.

    The sign says what the color says, so that no reader depends on the color. `label` is what
    people read, `abbreviation` the same in at most seven columns, `style` its colors on a
    terminal.
    """

    sign: str
    label: str
    abbreviation: str
    style: str = ""


LOOKS: Mapping[Outcome, Look] = {
    Outcome.PASS: Look("✓", "pass", "pass", "bold blue"),
    Outcome.FAIL: Look("✗", "fail", "fail", "bold red"),
    Outcome.FLAKY: Look("~", "flaky", "flaky", "bold red"),
    Outcome.DISPUTED: Look("≠", "disputed", "disput.", "bold cyan"),
    Outcome.UNSUPPORTED: Look("–", "unsupported", "unsupp."),
    Outcome.INCONCLUSIVE: Look("?", "inconclusive", "inconcl", "bold yellow"),
    Outcome.NOT_RUN: Look("○", "not run", "not run"),
    Outcome.ERROR: Look("!", "suite error", "error", "bold magenta"),
}

WORST_FIRST = (
    Outcome.FAIL,
    Outcome.FLAKY,
    Outcome.ERROR,
    Outcome.INCONCLUSIVE,
    Outcome.DISPUTED,
    Outcome.PASS,
    Outcome.NOT_RUN,
    Outcome.UNSUPPORTED,
)
"""The order in which people should look at cases."""

SKIPPED = (Outcome.NOT_RUN, Outcome.UNSUPPORTED)
"""The outcomes of cases that were left out of the run."""
