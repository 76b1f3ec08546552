"""The value of `run --shard`: which part of the cases a machine runs, of how many."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from v2_conformance.report.tested import Shard

_INDEX = "JOB_COMPLETION_INDEX"
_SHARD = re.compile(r"(auto|[0-9]{1,6})/([0-9]{1,6})")
_LONGEST = 40


def shard(value: str) -> Shard:
    """A type of option: `K/N`, or `auto/N` in a pod of an Indexed Job of Kubernetes, which says
    from 0 which pod it is."""
    from v2_conformance.report.tested import Shard

    shown = repr(value if len(value) < _LONGEST else f"{value[:_LONGEST]}…")
    found = _SHARD.fullmatch(value)
    if found is None:
        raise click.BadParameter(f"expected K/N, such as 1/8, or auto/N, got {shown}")
    count = int(found[2])
    number = _of_this_pod() if found[1] == "auto" else int(found[1])
    if not 1 <= number <= count:
        which = f"{number}/{count} ({_INDEX} counts from 0)" if found[1] == "auto" else shown
        raise click.BadParameter(f"expected a shard from 1/{count} to {count}/{count}, got {which}")
    return Shard(number, count)


def _of_this_pod() -> int:
    index = os.environ.get(_INDEX, "")
    if not re.fullmatch("[0-9]{1,6}", index):
        raise click.BadParameter(
            f"auto needs {_INDEX}, which Kubernetes sets in the pods of an Indexed Job: use K/N"
        )
    return int(index) + 1
