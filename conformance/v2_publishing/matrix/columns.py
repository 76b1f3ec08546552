"""A column of the matrix: what one report says of its server, without the recorded bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from v2_conformance.report.document import NOT_IMPLEMENTED, OUTDATED, Report, RequirementResult
from v2_conformance.report.verdict.judged import by_level, judged
from v2_conformance.report.verdict.standing import Standing, claim, missing, server_name, standing
from v2_conformance.report.words import ShownCause, lost, shown_causes
from v2_conformance.suite.causes.base import body_words
from v2_conformance.suite.outcomes import FAILED, Outcome
from v2_conformance.terminal_safe_text import short
from v2_publishing.trend import Findings, findings

_SHORT, _SAYS, _LONG = 60, 200, 600


@dataclass(frozen=True)
class CauseBrief:
    """A cause of failures: the requirement that it is about, by id and with its title, of which
    requirements it explains failures, and what is wrong in its first case."""

    requirement: str
    name: str
    title: str
    requirements: tuple[str, ...]
    says: str


@dataclass(frozen=True)
class Column:
    """A server, or a client, as `what` says.

    `requirements` has each at the level at which it does not hold, `by_level` each at all levels.
    `page` is the URL of its report.html, and `versions` that of the page of all its versions, ""
    if there is none. `explained` maps a requirement whose failures all come from others to
    those. `lost` is what a user loses, "" for nothing.
    """

    label: str
    name: str
    page: str
    standing: Standing
    complete: bool
    profiles: str
    date: str
    suite: str
    catalogue: str
    catalogue_name: str
    requirements: Mapping[str, RequirementResult]
    by_level: tuple[RequirementResult, ...]
    left: Mapping[str, int]
    findings: Findings
    causes: tuple[CauseBrief, ...]
    explained: Mapping[str, tuple[str, ...]]
    lost: str
    what: str = "server"
    other_catalogue: bool = False
    versions: str = ""

    @property
    def outdated(self) -> bool:
        """True if its catalogue asks or expects something else, so that it was not confirmed."""
        return self.standing.words == OUTDATED

    @property
    def tally(self) -> str:
        """How many mandatory requirements pass, fail, and do neither; they add up."""
        passed, total = self.passing("MUST")
        failed = len(self.failing("MUST"))
        left = total - passed - failed
        words = f"{passed} of {total} pass, {failed} {'fails' if failed == 1 else 'fail'}"
        untested = self.standing.words == NOT_IMPLEMENTED
        return words + (f", {left} not {'tested' if untested else 'shown'}" if left else "")

    def passing(self, level: str) -> tuple[int, int]:
        """Return how many requirements of a level hold with all their cases, out of how many."""
        results = [row for row in self.by_level if row.level == level]
        good = (Outcome.PASS, Outcome.DISPUTED)  # both readings are allowed
        whole = [r for r in results if r.outcome in good and not self.left.get(r.id)]
        return len(whole), len(results)

    def failing(self, level: str) -> tuple[str, ...]:
        """Return the requirements that fail at a level."""
        return tuple(r.id for r in self.by_level if r.level == level and r.outcome in FAILED)


def column_of(report: Report, page: str) -> Column:
    """The column of a report, whose page is at the URL `page`."""
    suite = report.suite
    name = server_name(report)
    causes = tuple(
        CauseBrief(
            cause.group.requirement,
            cause.name,
            short(cause.title, _SHORT),
            cause.group.requirements,
            short(_without_quotes(cause), _SAYS),
        )
        for cause in shown_causes(report)
    )
    return Column(
        label=name,
        name=name,
        page=page,
        standing=standing(report),
        complete=report.complete,
        profiles=short(claim(report), _LONG),
        date=short(report.day, _SHORT),
        suite=short(f"{suite.name} {suite.version}", _SHORT),
        catalogue=short(suite.catalogue, _SHORT),
        catalogue_name=short(suite.of_catalogue, _SHORT),
        requirements={row.id: row for row in judged(report)},
        by_level=by_level(report),
        left=missing(report),
        findings=findings(report),
        causes=causes,
        explained=_explained(causes),
        lost=lost(report),
        what=report.target.what,
    )


def _without_quotes(cause: ShownCause) -> str:
    """Return what is wrong in the first case of a cause, but not what the server said there."""
    found = cause.first.cause
    body = None if found is None else getattr(found.root, "body", None)
    words = cause.says.partition(" (sent to ")[0]
    return words.partition(f": {body_words(body)}")[0] if isinstance(body, str) else words


def _explained(causes: tuple[CauseBrief, ...]) -> dict[str, tuple[str, ...]]:
    by_requirement: dict[str, dict[str, None]] = {}
    for cause in causes:
        for requirement in cause.requirements:
            by_requirement.setdefault(requirement, {})[cause.requirement] = None
    return {name: tuple(roots) for name, roots in by_requirement.items() if name not in roots}
