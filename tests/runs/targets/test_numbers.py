"""Numbers that people type."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from v2_conformance.runs.targets.numbers import (
    LONGEST_RUN_S,
    LONGEST_TIMEOUT_S,
    seconds,
    seconds_of_a_run,
)


@pytest.mark.parametrize(
    ("function", "longest"), [(seconds, LONGEST_TIMEOUT_S), (seconds_of_a_run, LONGEST_RUN_S)]
)
def test_a_run_may_last_longer_than_an_exchange(
    function: Callable[[str], float], longest: float
) -> None:
    assert function(str(longest)) == longest
    with pytest.raises(ValueError, match=f"from 0 to {longest:.0f}"):
        function(str(longest + 1))
