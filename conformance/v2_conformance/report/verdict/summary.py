"""From the outcomes of cases to those of requirements and to the run's verdict. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from v2_conformance.judging.extension import Tried, left_out
from v2_conformance.judging.survival import is_of_path
from v2_conformance.protocol.names import EXTENSION
from v2_conformance.report.document import (
    CaseResult,
    OverallVerdict,
    Report,
    RequirementResult,
    cited_documents,
)
from v2_conformance.report.root_causes import caused_elsewhere
from v2_conformance.report.verdict.standing import claim, to_go, verdict_words
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import counted, describe
from v2_conformance.suite.causes.causes import (
    Cause,
    DidNotSurvive,
    FailedAtFirst,
    NotKept,
    SeveralWrong,
)
from v2_conformance.suite.models import name_of
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import (
    BLOCKS,
    LEVELS,
    Blocks,
    Level,
    Requirement,
    catalogue,
    grade,
)
from v2_conformance.wire.response import Ending

_SEVERAL = 2
_LONG = 1 << 16
_SPOILED = (NotKept, SeveralWrong, kinds.ConnectionClosed, kinds.Hung, kinds.TimedOut)
_WORDS = {
    Outcome.FAIL: "failed",
    Outcome.FLAKY: "was flaky",
    Outcome.ERROR: "could not be judged (an error in the suite)",
    Outcome.INCONCLUSIVE: "was inconclusive",
    Outcome.NOT_RUN: "did not run",
}
# The worst outcome among its cases is a requirement's.
WORST_FIRST = (*_WORDS, Outcome.DISPUTED, Outcome.PASS, Outcome.UNSUPPORTED)


def concluded(report: Report) -> Report:
    """Return `report` with the verdict and the requirements that its cases amount to; not sealed.

    Cases that did not run block what depends on them, whatever the reason: a MUST that did not run
    is never a pass. A requirement of a profile that is not claimed is left out, and so is one that
    others have replaced, or of which a whole run has no case. Datatypes that the server does not
    support excuse only what is about them. A run
    about relations between the answers of models is consistent, never conformant; each of its
    models that is absent, and each that does not repeat its answers, blocks that. A generated
    failure whose cause another case has is no reason of its own.
    """
    path = path_errors(report)
    if path:
        report = replace(report, cases=_excused(report.cases))
    target = report.target
    by_requirement: dict[str, list[CaseResult]] = {}
    for case in report.cases:
        by_requirement.setdefault(case.requirement, []).append(case)
    rows = []
    elsewhere = caused_elsewhere(report.cases)
    reasons: list[_Reason] = [("conformant", why) for why in _of_the_run(report)]
    reasons += [("conformant", why) for why in _of_the_models(report)]
    for requirement in catalogue().values():
        if requirement.profile not in target.profiles or requirement.superseded_by:
            continue
        of_this = by_requirement.get(requirement.id, [])
        on_request = report.own and report.planned and requirement.id not in report.planned
        if not of_this and on_request and not requirement.untested:
            continue  # such as large ones
        rows.append(_row(requirement, requirement.level_for(target.profiles), of_this))
        own = [
            case
            for case in of_this
            if not isinstance(case.cause, kinds.AnswersDiffer) and case.id not in elsewhere
        ]
        reasons += _reasons(requirement.id, own)
        reasons += _untested(requirement, of_this, target.unsupported)
    reasons += _lacked(report.cases)
    reasons += [(None, path)] if path else []
    left_out = left_out_of(report)
    if left_out:
        reasons = [("conformant", why) for why in (*_of_the_run(report), left_out)]
    conformant, robust, warnings = (
        tuple(why for blocked, why in reasons if blocked == blocks) for blocks in (*BLOCKS, None)
    )
    about_relations = report.relations is not None
    verdict = OverallVerdict(
        conformant=not conformant and not about_relations,
        robust=not conformant and not robust,
        reasons=conformant + robust,
        warnings=warnings,
        consistent=not conformant if about_relations else None,
        shown=tuple(r.id for r in rows if about_relations and r.outcome is Outcome.PASS),
        needs_identity=_need_identity(rows, target.profiles) if about_relations else (),
        implemented=not left_out,
    )
    judged = replace(report, verdict=verdict, requirements=tuple(rows), integrity=None)
    words = verdict_words(judged)
    return replace(judged, verdict=replace(verdict, words=words, claim=claim(judged)))


def path_errors(report: Report) -> str:
    """Return what the path to the server did to messages, "" if it is not to blame.

    It is if correct requests of several requirements got no whole answer until they were sent
    again: of malformed ones, a server may survive just some.
    """
    lost = [case for case in report.cases if is_of_path(_at_first(case))]
    correct = {
        case.requirement
        for case in lost
        if case.blocks != "robust" and not isinstance(_at_first(case), DidNotSurvive)
    }
    if len(correct) < _SEVERAL:
        return ""
    exchanges = sum(len(case.exchanges) for case in report.cases)
    return (
        f"the path to the server lost answers of {counted(len(lost), 'case')} (in "
        f"{counted(exchanges, 'exchange')}), all of which came when the cases were sent again"
    )


def _at_first(case: CaseResult) -> Cause | None:
    return case.cause.first if isinstance(case.cause, FailedAtFirst) else None


def _excused(cases: Sequence[CaseResult]) -> tuple[CaseResult, ...]:
    """Return the cases that a bad path alone spoiled as passes: they lost answers that came in the
    end, some of many, or the rest of a long one, if others that are as long came whole. A server
    that never answers, or never to its end, is to blame on any path."""
    exchanges = [one for case in cases for one in case.exchanges]
    whole = [one for one in exchanges if one.ending is Ending.COMPLETE]
    longest = max((len(one.received) for one in whole), default=0)
    longest_request = max((len(one.request) for one in whole), default=0)

    def spoiled(case: CaseResult) -> bool:
        cause = case.cause
        some = isinstance(cause, NotKept) or (
            isinstance(cause, SeveralWrong) and cause.wrong < cause.total
        )
        if is_of_path(_at_first(case)) or (some and is_of_path(cause)):
            return True
        stalled = isinstance(cause, kinds.Hung | kinds.TimedOut) and cause.received > 0
        if not stalled and not isinstance(cause, kinds.ConnectionClosed):
            return False
        return any(
            len(one.request) + len(one.received) > _LONG
            and len(one.received) < longest
            and (one.received or len(one.request) <= longest_request)
            for one in case.exchanges
            if one.ending is not Ending.COMPLETE
        )

    return tuple(
        replace(case, outcome=Outcome.DISPUTED if case.level == "DISPUTED" else Outcome.PASS)
        if spoiled(case)
        else case
        for case in cases
    )


def as_run(report: Report) -> Report:
    """Return a report with the outcomes from before a bad path was seen to be to blame."""

    def judged(case: CaseResult) -> CaseResult:
        if not (case.outcome.harmless and isinstance(case.cause, _SPOILED)):
            return case
        unread = isinstance(case.cause.root, kinds.TimedOut | kinds.TimedOutEarly)
        return replace(case, outcome=Outcome.INCONCLUSIVE if unread else Outcome.FAIL)

    return replace(report, cases=tuple(map(judged, report.cases)))


def left_out_of(report: Report) -> str:
    """Return what shows that the server leaves the extension out (`judging.extension`), else ""."""
    target = report.target
    if target.client is not None or EXTENSION in target.server.extensions:
        return ""  # without reading all bytes again, which takes long
    tried = [
        Tried(
            case.requirement,
            case.outcome,
            case.cause,
            [(bytes(one.request), one.unpacked().response) for one in case.exchanges],
        )
        for case in report.cases
    ]
    return left_out(tried, report.planned, target.server.extensions)


_Reason = tuple[Blocks | None, str]
"""A problem, and what it blocks: None for a warning."""


def _need_identity(rows: Iterable[RequirementResult], profiles: Collection[str]) -> tuple[str, ...]:
    """The requirements of the claimed profiles of which a run about relations has no case."""
    there = {row.id for row in rows if row.cases}
    return tuple(
        requirement.id
        for requirement in catalogue().values()
        if requirement.profile in profiles
        and not (requirement.superseded_by or requirement.untested or requirement.id in there)
    )


def _of_the_run(report: Report) -> Iterable[str]:
    """Yield what blocks the verdict whatever the cases show."""
    cases = report.cases
    total = sum(report.planned.values())
    left_out = total - len({case.id for case in cases})
    if not report.own:
        option = "--cases" if report.target.client is None else "--scenarios"
        yield f"this run used the cases given with {option}, not the suite's"
    if not report.complete:
        left, _ = to_go(report)
        where = (
            f"with {counted(left, 'case')} to go" if left else "before it had sent its last case"
        )
        yield f"the run is incomplete: it was stopped {where}"
    passed = {case.level for case in cases if case.outcome is Outcome.PASS}
    if "MUST" not in passed:
        yield "no MUST case passed" if passed else "no case passed"
    if left_out > 0:
        yield f"{left_out} of {total} cases were left out"


def _of_the_models(report: Report) -> Iterable[str]:
    """Yield why models of a run about relations could not be tested as they had to be."""
    if report.relations is None:
        return
    for role, why in report.target.absent.items():
        yield f"the model {name_of(role)} was not tested: {why}"
    differing = {
        case.cause.role: case.cause
        for case in report.cases
        if isinstance(case.cause, kinds.AnswersDiffer)
    }
    for cause in differing.values():
        yield describe(cause)


def _reasons(requirement: str, cases: Iterable[CaseResult]) -> Iterable[_Reason]:
    """Yield what is wrong with a requirement."""
    counts = Counter(
        (case.level, case.blocks, case.outcome)
        for case in cases
        if not case.outcome.harmless
        and (case.level not in ("MAY", "DISPUTED") or case.outcome is Outcome.ERROR)
    )
    for (level, blocks, outcome), count in sorted(counts.items()):
        number = counted(count, "case")
        yield blocks, f"{grade(level, blocks)} {requirement} {_WORDS[outcome]} ({number})"


def _untested(
    requirement: Requirement, cases: Iterable[CaseResult], unsupported: Collection[str]
) -> Iterable[_Reason]:
    """Yield that the server lacks what all MUST cases of a requirement need besides its subject."""
    musts = [case for case in cases if case.level == "MUST"]
    if any(case.outcome is not Outcome.UNSUPPORTED for case in musts):
        return
    needs = dict.fromkeys(need for case in musts for need in _needs(case.cause))
    about = requirement.datatypes
    if needs and not (about and set(about) <= set(unsupported)):
        blocks = _strictest(musts)
        what = f"{grade('MUST', blocks)} {requirement.id}"
        yield blocks, f"{what} was not tested: its cases need {', '.join(needs)}"


def _lacked(cases: Iterable[CaseResult]) -> Iterable[_Reason]:
    """Yield what was not tested for one reason: the client lacks what asks for no option."""
    lacking = [
        case
        for case in cases
        if case.level == "MUST" and case.cause is not None and case.cause.lacks_basics
    ]
    for blocks in BLOCKS:
        blocking = [case for case in lacking if case.blocks == blocks]
        names = list(dict.fromkeys(case.requirement for case in blocking))
        if names:
            were = "was" if len(names) == 1 else "were"
            number = "1 case needs" if len(blocking) == 1 else f"{len(blocking)} cases need"
            what = f"{grade('MUST', blocks)} {' '.join(names)} {were} not tested"
            yield blocks, f"{what}: the client lacks what {number}"


def _strictest(cases: Iterable[CaseResult]) -> Blocks | None:
    """Return what blocks most of what some cases block."""
    there = {case.blocks for case in cases}
    return next((blocks for blocks in BLOCKS if blocks in there), None)


def amount(cases: Sequence[CaseResult]) -> tuple[Blocks | None, Outcome]:
    """Return what the cases of a requirement at one level block, and the worst outcome of them."""
    harmed = [case for case in cases if not case.outcome.harmless] or cases
    own = {case.outcome for case in cases}
    return _strictest(harmed), next((o for o in WORST_FIRST if o in own), Outcome.NOT_RUN)


def _needs(cause: Cause | None) -> Iterable[str]:
    """Return what the server lacks, if a case was not sent for that."""
    if isinstance(cause, kinds.DatatypesUnsupported):
        return cause.datatypes
    if isinstance(cause, kinds.CodingsUnsupported):
        return cause.codings
    return [f"the model {cause.role}"] if isinstance(cause, kinds.RoleAbsent) else []


def _row(requirement: Requirement, level: Level, cases: Sequence[CaseResult]) -> RequirementResult:
    counts = Counter(case.outcome for case in cases)
    if all(case.level != level for case in cases):  # a part of the suite may have lower ones alone
        level = min((case.level for case in cases), key=LEVELS.index, default=level)
    of_level = [case for case in cases if case.level == level]
    blocks, worst = amount(of_level)
    return RequirementResult(
        id=requirement.id,
        level=level,
        blocks=blocks if of_level else requirement.blocks if level == "MUST" else None,
        basis=requirement.basis,
        outcome=worst,
        cases=dict(counts),
        title=requirement.title,
        statement=requirement.statement,
        follows=requirement.follows,
        note=requirement.note,
        cite=cited_documents(requirement.cite, requirement.id),
        layer=requirement.layer,
    )
