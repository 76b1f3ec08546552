"""The types of values that options take: functions from text to a value that raise ValueError."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

Kind = Callable[[Any], Any]
"""A type of value. One whose ValueError has its own words is not called for a default."""

LONGEST_TIMEOUT_S = 86400.0
"""The longest time limit of one exchange that can be asked for."""

LONGEST_RUN_S = 30 * 86400.0
"""The longest time limit of a run that can be asked for."""

_LONGEST = 80


def file_path(value: Any) -> Path:
    """The path of a file."""
    return Path(value)


def folder_path(value: Any) -> Path:
    """The path of a folder, which need not exist."""
    return Path(value)


def words(value: Any) -> Any:
    """Arguments for another program: options are left as they are."""
    return value


def whole_number(least: int | None = None, most: int | None = None) -> Kind:
    """A whole number, at least `least` and at most `most`."""
    expected = "a whole number"
    expected += "" if least is None else f" from {least}"
    expected += "" if most is None else f" to {most}"

    def convert(value: Any) -> int:
        try:
            number = int(value)
        except ValueError:
            raise ValueError(f"expected {expected}, got {_shown(value, _LONGEST)}") from None
        if (least is not None and number < least) or (most is not None and number > most):
            raise ValueError(f"expected {expected}, got {value}")
        return number

    return convert


def seconds(value: Any, most: float = LONGEST_TIMEOUT_S) -> float:
    """A number of seconds, from 0 to `most`."""
    number = _float(value)
    if math.isnan(number):
        raise ValueError(f"expected a number of seconds, got {value!r}")
    if number < 0:
        raise ValueError(f"expected at least 0 seconds, got {value}")
    if number > most:
        raise ValueError(f"expected at most {most:.0f} seconds, got {value}")
    return number


def seconds_of_a_run(value: Any) -> float:
    """A number of seconds that a run may last."""
    return seconds(value, LONGEST_RUN_S)


def tolerance(value: Any) -> float:
    """A finite number from 0 on."""
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


def _shown(value: str, longest: int) -> str:
    return repr(value if len(value) < longest else f"{value[:longest]}…")
