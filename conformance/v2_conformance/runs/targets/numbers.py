"""Numbers that people type, for the command and for pytest."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

N = TypeVar("N", int, float)

LONGEST_TIMEOUT_S = 86400.0
"""The longest time limit of one exchange that can be asked for."""

LONGEST_RUN_S = 30 * 86400.0
"""The longest time limit of a run that can be asked for."""

_LARGEST = sys.float_info.max


def number(
    kind: type[N], least: float, most: float = _LARGEST, *, above: bool = False
) -> Callable[[Any], N]:
    """Return what reads a number from `least`, or `above` it, to `most`, or raises ValueError."""
    expected = f"a {'whole ' if kind is int else ''}number {'above' if above else 'from'} {least:g}"
    expected += "" if most == _LARGEST else f"{', at most' if above else ' to'} {most:.0f}"

    def convert(value: Any) -> N:
        try:
            converted = kind(value)
        except ValueError:
            converted = kind(-1)
        if not least <= converted <= most or (above and converted == least):  # NaN is neither
            raise ValueError(f"expected {expected}, got {str(value)[:80]!r}")
        return converted

    return convert


seconds = number(float, 0, LONGEST_TIMEOUT_S, above=True)
seconds_to_wait = number(float, 0, LONGEST_TIMEOUT_S)
seconds_of_a_run = number(float, 0, LONGEST_RUN_S, above=True)
tolerance = number(float, 0)
