"""The types of values that options take: functions from text to a value that raise ValueError."""

from __future__ import annotations

import math
import os
import re
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
_INDEX = "JOB_COMPLETION_INDEX"
_SHARD = re.compile(r"(auto|[0-9]{1,6})/([0-9]{1,6})")


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


def part(value: str) -> tuple[int, int]:
    """Parse which part of the cases a machine runs, of how many: `K/N`, or `auto/N` in a pod of an
    Indexed Job of Kubernetes, which provides the pod's number, counted from 0.
    """
    shown = _shown(value, _LONGEST // 2)
    found = _SHARD.fullmatch(value)
    if found is None:
        raise ValueError(f"expected K/N, such as 1/8, or auto/N, got {shown}")
    count = int(found[2])
    number = _of_this_pod() if found[1] == "auto" else int(found[1])
    if not 1 <= number <= count:
        which = f"{number}/{count} ({_INDEX} counts from 0)" if found[1] == "auto" else shown
        raise ValueError(f"expected a shard from 1/{count} to {count}/{count}, got {which}")
    return number, count


def _of_this_pod() -> int:
    index = os.environ.get(_INDEX, "")
    if not re.fullmatch("[0-9]{1,6}", index):
        raise ValueError(
            f"auto needs {_INDEX}, which Kubernetes sets in the pods of an Indexed Job: use K/N"
        )
    return int(index) + 1


def _float(value: Any) -> float:
    """Return the number that a text spells, or NaN if it spells none."""
    try:
        return float(value)
    except ValueError:
        return math.nan


def _shown(value: str, longest: int) -> str:
    return repr(value if len(value) < longest else f"{value[:longest]}…")
