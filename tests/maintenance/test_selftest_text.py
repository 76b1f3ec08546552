"""What the selftest says of a fault that the suite could not be tried with."""

from __future__ import annotations

import pytest

from v2_mutants.selftest.text import trial_rows
from v2_mutants.selftest.trials import FaultTrial


@pytest.mark.parametrize(("number", "said"), [(1, "it died"), (2, "(tried 2 times) it died")])
def test_a_row_says_why_the_suite_could_not_run(number: int, said: str) -> None:
    _, row = trial_rows((FaultTrial("some", "V1", (), ("P2",), error="it died", number=number),))
    assert row.endswith(f"  some  {said}")
