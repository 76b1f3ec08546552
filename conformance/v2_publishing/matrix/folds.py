"""Rows of the matrix that differ for one reason: folded, so that what else differs is seen.

A server that ignores the extension fails most requirements. Where its failures all come from other
requirements, and every other server passes, the row says nothing that those do not say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from v2_conformance.suite.outcomes import FAILED
from v2_publishing.matrix.columns import Column

LEAST = 4
"""The number of rows that are worth a fold."""


@dataclass(frozen=True)
class Explanation:
    """A requirement, by its id and with its title, and how many rows of a fold it explains."""

    requirement: str
    name: str
    rows: int


@dataclass(frozen=True)
class Fold:
    """Requirements that fail in the same columns alone, and there only because others do."""

    requirements: tuple[str, ...]
    labels: tuple[str, ...]
    explanations: tuple[Explanation, ...]


def folds(requirements: Sequence[str], columns: Sequence[Column]) -> list[Fold]:
    """The folds of a table with these rows, the largest first."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name in requirements:
        failing = _failing(name, columns)
        if failing and all(name in columns[number].explained for number in failing):
            groups.setdefault(failing, []).append(name)
    results = [_fold(names, failing, columns) for failing, names in groups.items()]
    return sorted(
        (fold for fold in results if len(fold.requirements) >= LEAST),
        key=lambda fold: -len(fold.requirements),
    )


def _failing(requirement: str, columns: Sequence[Column]) -> tuple[int, ...]:
    """The columns in which it fails."""
    entries = ((n, column.requirements.get(requirement)) for n, column in enumerate(columns))
    return tuple(n for n, entry in entries if entry is not None and entry.outcome in FAILED)


def _fold(names: Sequence[str], failing: Sequence[int], columns: Sequence[Column]) -> Fold:
    count: Counter[str] = Counter()
    titles: dict[str, str] = {}
    for number in failing:
        column = columns[number]
        titles.update({cause.requirement: cause.name for cause in column.causes})
        count.update(root for name in names for root in column.explained[name])
    return Fold(
        tuple(names),
        tuple(columns[number].label for number in failing),
        tuple(Explanation(root, titles[root], rows) for root, rows in count.most_common()),
    )
