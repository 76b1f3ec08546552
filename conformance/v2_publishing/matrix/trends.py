"""The versions of a server side by side: bars for each, and what got better and worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from v2_conformance.terminal_safe_text import short
from v2_publishing.matrix.columns import Column
from v2_publishing.trend import LevelTally, Step, steps, tallies, version_order

_NAME = 60


@dataclass(frozen=True)
class Bar:
    """A bar for a level: parts of 100, on a scale common to all versions."""

    tally: LevelTally
    passing: float
    failing: float


@dataclass(frozen=True)
class VersionBars:
    """A version of a server, with a bar for each level."""

    label: str
    page: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class ShownStep:
    """Changes from a version to the next; `page` is the report of the newer one."""

    before: str
    after: str
    step: Step
    page: str


@dataclass(frozen=True)
class Trend:
    """A server, or a client, in several versions, the oldest first."""

    name: str
    versions: tuple[VersionBars, ...]
    steps: tuple[ShownStep, ...]

    @property
    def better(self) -> int:
        """Number of requirements that got better, summed over all steps."""
        return sum(len(one.step.better) for one in self.steps)

    @property
    def worse(self) -> int:
        """Number of requirements that got worse, summed over all steps."""
        return sum(len(one.step.worse) for one in self.steps)


def trends(columns: Sequence[Column]) -> list[Trend]:
    """A trend for each server of which there are several versions among the columns.

    If there are several reports of a version, the last of them counts. One that was not confirmed
    says nothing.
    """
    groups: dict[tuple[str, str], dict[str, Column]] = {}
    for column in columns:
        if column.outdated:
            continue
        groups.setdefault(column.findings.key, {})[column.findings.version] = column
    return [_trend(list(versions.values())) for versions in groups.values() if len(versions) > 1]


def _trend(columns: Sequence[Column]) -> Trend:
    ordered = sorted(columns, key=lambda column: version_order(column.findings.version))
    results = [column.findings for column in ordered]
    labels = [short(one.version or "no version", _NAME) for one in results]
    counted = [tallies(one) for one in results]
    most = max((tally.all for all_ in counted for tally in all_), default=1)
    bars = tuple(
        VersionBars(
            label,
            column.page,
            tuple(
                Bar(tally, 100 * tally.passing / most, 100 * tally.failing / most)
                for tally in levels
            ),
        )
        for label, column, levels in zip(labels, ordered, counted, strict=True)
    )
    shown = tuple(
        ShownStep(before, after, step, column.page)
        for before, after, step, column in zip(
            labels, labels[1:], steps(results), ordered[1:], strict=False
        )
    )
    return Trend(short(results[0].name or "unnamed", _NAME), bars, shown)
