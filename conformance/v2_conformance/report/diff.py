"""Finds what changed between two reports, and whether the server or the suite changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from v2_conformance.report.cause_patterns import same_failure
from v2_conformance.report.document import CaseResult, Report, RequirementResult
from v2_conformance.report.verdict.standing import standing
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.outcomes import Outcome, Word
from v2_conformance.suite.requirements import Blocks, Level


class ChangeKind(Word):
    """How a case changed. The order is the one in which people want to read it."""

    BROKEN = "broken"  # it no longer passes
    FIXED = "fixed"  # it passes now
    NEW = "new"  # only the new report has it
    GONE = "gone"  # only the old report has it
    CHANGED = "changed"  # it has another outcome, or fails for another reason


@dataclass(frozen=True)
class CaseChange:
    """A case that changed from the outcome `before` to `after`, None if a report lacks it. Other
    members are the newer; with `other_case` the id now sends or expects something else."""

    kind: ChangeKind
    id: str
    level: Level
    blocks: Blocks | None
    before: Outcome | None
    after: Outcome | None
    words: str
    other_case: bool

    @property
    def worse(self) -> bool:
        """True if it is a failure that was not there before."""
        if self.kind is ChangeKind.NEW:
            return self.after is not None and not self.after.harmless
        return self.kind is ChangeKind.BROKEN


@dataclass(frozen=True)
class ReportDiff:
    """Everything that changed from one report to another. `notes` are about what was compared,
    `verdict` has the words before and after, and `same` counts the unchanged cases. `rerouted` is
    True if the URLs differ: what stands in between may hide a failure."""

    notes: tuple[str, ...]
    verdict: tuple[str, str]
    verdict_worse: bool
    requirements: tuple[tuple[RequirementResult | None, RequirementResult | None], ...]
    cases: tuple[CaseChange, ...]
    same: int
    complete: bool
    rerouted: bool = False

    def name(self, kind: ChangeKind) -> str:
        """Return a kind in words."""
        return "hidden or fixed" if self.rerouted and kind is ChangeKind.FIXED else kind

    def of(self, kind: ChangeKind) -> list[CaseChange]:
        """The changes of one kind."""
        return [change for change in self.cases if change.kind is kind]

    def broken(self, *, strict: bool) -> bool:
        """Return True if a MUST, with `strict` a SHOULD, or the verdict got worse."""
        levels = ("MUST", "SHOULD") if strict else ("MUST",)
        return self.verdict_worse or any(c.worse and c.level in levels for c in self.cases)


def diff_reports(old: Report, new: Report) -> ReportDiff:
    """Return everything in `new` that differs from `old`."""
    ids = dict.fromkeys(case.id for report in (new, old) for case in report.cases)
    changes = [_change(old.case(case_id), new.case(case_id)) for case_id in ids]
    return ReportDiff(
        notes=tuple(_notes(old, new)),
        verdict=(standing(old).words, standing(new).words),
        verdict_worse=_rank(new) < _rank(old),
        requirements=tuple(_requirements(old, new)),
        cases=tuple(change for change in changes if change is not None),
        same=changes.count(None),
        complete=new.complete,
        rerouted=old.target.url != new.target.url,
    )


def _change(before: CaseResult | None, after: CaseResult | None) -> CaseChange | None:
    case = after or before
    assert case is not None
    kind: ChangeKind | None
    if before is None:
        kind = ChangeKind.NEW
    elif after is None:
        kind = ChangeKind.GONE
    else:
        kind = kind_of_change(before.outcome, after.outcome)
        if kind is None and not (after.outcome.harmless or same_failure(before.cause, after.cause)):
            kind = ChangeKind.CHANGED
    if kind is None:
        return None
    graded = before if before is not None and kind is ChangeKind.FIXED else case  # what failed
    return CaseChange(
        kind=kind,
        id=case.id,
        level=graded.level,
        blocks=graded.blocks,
        before=None if before is None else before.outcome,
        after=None if after is None else after.outcome,
        words=describe(case.cause),
        other_case=before is not None and before.content != case.content,
    )


def kind_of_change(was: Outcome, now: Outcome) -> ChangeKind | None:
    """Return how the outcome of a case changed, None if it did not."""
    if was.harmless and not now.harmless:
        return ChangeKind.BROKEN
    # A case that is no longer claimed is not fixed.
    if not was.harmless and now.harmless and now is not Outcome.UNSUPPORTED:
        return ChangeKind.FIXED
    return None if was is now else ChangeKind.CHANGED


def _notes(old: Report, new: Report) -> Iterator[str]:
    for word, report in (("old", old), ("new", new)):
        if not report.complete:
            yield f"the {word} report is incomplete: cases that it lacks may not have run"
    was, now = (f"{r.suite.version} (cases {r.suite.catalogue})" for r in (old, new))
    yield f"suite: the same, {was}" if was == now else f"the suite changed: {was} -> {now}"
    contents = {case.id: case.content for case in old.cases}
    changed = sum(contents.get(case.id, case.content) != case.content for case in new.cases)
    if changed:
        yield f"cases that send or expect something else under the same id now: {changed}"
    was, now = (f"{r.target.server.name} {r.target.server.version}" for r in (old, new))
    what = new.target.what
    yield f"{what}: {was}" if was == now else f"the {what} changed: {was} -> {now}"
    if old.target.what != what:
        yield f"the reports are of a {old.target.what} and of a {what}"
    was, now = old.target.url, new.target.url
    if was != now:
        yield f"the reports are of different targets: {was} -> {now}"
    for what, before, after in (
        ("profiles", old.target.profiles, new.target.profiles),
        ("unsupported", old.target.without, new.target.without),
        ("models that the server lacks", old.target.absent, new.target.absent),
    ):
        if sorted(before) != sorted(after):
            was, now = (", ".join(sorted(names)) or "none" for names in (before, after))
            yield f"{what} changed: {was} -> {now}"


def _rank(report: Report) -> int:
    return (1 + report.verdict.robust) if report.verdict.good else 0


def _requirements(
    old: Report, new: Report
) -> Iterator[tuple[RequirementResult | None, RequirementResult | None]]:
    """Yield requirements before and after, None for a report that lacks one."""
    before, after = ({row.id: row for row in report.requirements} for report in (old, new))
    for requirement in dict.fromkeys((*after, *before)):
        was, now = before.get(requirement), after.get(requirement)
        if not (was and now and (was.grade, was.outcome) == (now.grade, now.outcome)):
            yield was, now
