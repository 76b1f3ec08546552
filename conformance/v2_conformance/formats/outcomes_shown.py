"""The looks of outcomes in all formats: signs, words, colors, and which come first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from v2_conformance.suite.outcomes import Outcome


@dataclass(frozen=True)
class Look:
    """Appearance of an outcome: the sign and the `label` say what its color, `style`, does."""

    sign: str
    label: str
    style: str = ""


LOOKS: Mapping[Outcome, Look] = {
    Outcome.FAIL: Look("✗", "fail", "bold red"),
    Outcome.FLAKY: Look("~", "flaky", "bold red"),
    Outcome.ERROR: Look("!", "suite error", "bold magenta"),
    Outcome.INCONCLUSIVE: Look("?", "inconclusive", "bold yellow"),
    Outcome.DISPUTED: Look("≠", "disputed", "bold cyan"),
    Outcome.PASS: Look("✓", "pass", "bold blue"),
    Outcome.NOT_RUN: Look("○", "not run"),
    Outcome.UNSUPPORTED: Look("–", "unsupported"),
}

TO_LOOK_AT = tuple(LOOKS)
"""The order in which people should look at cases."""

SKIPPED = (Outcome.NOT_RUN, Outcome.UNSUPPORTED)
"""The outcomes of cases that were left out of the run."""
