"""How much a benchmark measures: the usual size, or a tiny one with `run.py --smoke`."""

from __future__ import annotations

import os
from typing import TypeVar

SMOKE = "V2_BENCH_SMOKE"
T = TypeVar("T")


def size(usual: T, tiny: T) -> T:
    """Return `tiny` in a smoke run, which only shows that each benchmark still works."""
    return tiny if os.environ.get(SMOKE) else usual
