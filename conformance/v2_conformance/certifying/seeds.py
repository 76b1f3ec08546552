"""The seed of a run: given, that of its expectation file, or a fresh one."""

from __future__ import annotations

import secrets
from dataclasses import replace

from v2_conformance.protocol.names import LARGEST_SEED
from v2_conformance.report.expectations.known import Expectations
from v2_conformance.runs.targets.target import Target


def seeded(
    target: Target,
    seed: int | None = None,
    *,
    generated: int | None = None,
    expected: Expectations | None = None,
) -> Target:
    """Return `target` with the seed that its requests follow from, unless it has one, and with how
    many are drawn.

    A run beside expectations has theirs, so that it sends what they were written for.
    """
    target = replace(target, generated=generated or 0)
    if seed is None and target.seed is not None:
        return target
    if seed is None and expected is not None:
        seed = expected.seed
    return replace(target, seed=given_or_fresh(seed))


def given_or_fresh(seed: int | None) -> int:
    """Return `seed` or, for None, one that nobody can predict."""
    return secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed
