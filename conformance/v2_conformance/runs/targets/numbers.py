"""Numbers that people type, for the command and for pytest. Each function raises ValueError with
what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

LONGEST_TIMEOUT_S = 86400.0
"""The longest time limit of one exchange that can be asked for."""

LONGEST_RUN_S = 30 * 86400.0
"""The longest time limit of a run that can be asked for."""

_LONGEST = 80


def whole_number(least: int, most: int | None = None) -> Callable[[Any], int]:
    """Return the function for whole numbers of at least `least` and at most `most`."""
    expected = f"a whole number from {least}" + ("" if most is None else f" to {most}")

    def convert(value: Any) -> int:
        try:
            number = int(value)
        except ValueError:
            raise ValueError(f"expected {expected}, got {_shown(value)}") from None
        if number < least or (most is not None and number > most):
            raise ValueError(f"expected {expected}, got {value}")
        return number

    return convert


def seconds(value: Any, most: float = LONGEST_TIMEOUT_S) -> float:
    """Return a number of seconds, from 0 to `most`."""
    number = _float(value)
    if math.isnan(number):
        raise ValueError(f"expected a number of seconds, got {value!r}")
    if number < 0:
        raise ValueError(f"expected at least 0 seconds, got {value}")
    if number > most:
        raise ValueError(f"expected at most {most:.0f} seconds, got {value}")
    return number


def seconds_of_a_run(value: Any) -> float:
    """Return a number of seconds that a run may last."""
    return seconds(value, LONGEST_RUN_S)


def tolerance(value: Any) -> float:
    """Return a finite number from 0 on."""
    number = _float(value)
    if not 0 <= number < math.inf:
        raise ValueError(f"expected a number of at least 0, got {value!r}")
    return number


def _float(value: Any) -> float:
    """Return the number that a text spells, or NaN if it spells none."""
    try:
        return float(value)
    except ValueError:
        return math.nan


def _shown(value: str) -> str:
    return repr(value if len(value) < _LONGEST else f"{value[:_LONGEST]}…")
