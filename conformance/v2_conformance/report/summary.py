"""From the outcomes of cases to those of requirements and to the run's verdict. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import msgspec

from v2_conformance.report import soak_words
from v2_conformance.report.claim_words import claim_words, verdict_words
from v2_conformance.report.document import (
    CitedDocument,
    OverallVerdict,
    Report,
    RequirementResult,
    Soak,
)
from v2_conformance.report.evidence import Relations
from v2_conformance.report.tested import Shard
from v2_conformance.suite.cause_base import describe
from v2_conformance.suite.causes import Cause
from v2_conformance.suite.circumstances import (
    AnswersDiffer,
    CodingsUnsupported,
    DatatypesUnsupported,
    RoleAbsent,
)
from v2_conformance.suite.client_findings import ClientLacks
from v2_conformance.suite.outcomes import FAILED, Outcome
from v2_conformance.suite.relations import ROLE
from v2_conformance.suite.requirements import Basis, Level, Requirement, catalogue, documents

# The worst outcome among its cases is a requirement's.
_WORST_FIRST = (
    Outcome.FAIL,
    Outcome.FLAKY,
    Outcome.ERROR,
    Outcome.INCONCLUSIVE,
    Outcome.NOT_RUN,
    Outcome.DISPUTED,
    Outcome.PASS,
    Outcome.UNSUPPORTED,
)
_WORDS = {
    Outcome.FAIL: "failed",
    Outcome.FLAKY: "was flaky",
    Outcome.ERROR: "could not be judged (an error of the suite)",
    Outcome.INCONCLUSIVE: "was inconclusive",
    Outcome.NOT_RUN: "did not run",
}


class JudgedCase(Protocol):
    """What the verdict needs to know of a case; `level` is the case's own."""

    @property
    def id(self) -> str: ...
    @property
    def requirement(self) -> str: ...
    @property
    def level(self) -> Level: ...
    @property
    def outcome(self) -> Outcome: ...
    @property
    def cause(self) -> Cause | None: ...


@dataclass(frozen=True)
class Conclusion:
    """What the cases of a run amount to."""

    verdict: OverallVerdict
    requirements: tuple[RequirementResult, ...]


def conclude(
    cases: Sequence[JudgedCase],
    profiles: Collection[str],
    *,
    planned: Mapping[str, int],
    complete: bool = True,
    own: bool = True,
    unsupported: Collection[str] = (),
    shard: Shard | None = None,
    binding: str | None = None,
    http2: bool = False,
    relations: Relations | None = None,
    absent: Mapping[str, str] = MappingProxyType({}),
    soak: Soak | None = None,
) -> Conclusion:
    """The verdict on a run that claims `profiles`, and the rows of its requirements.

    `planned` counts the cases of a whole run, by requirement. `complete` is False for a run that
    was stopped, `own` for a run of other cases than the suite's. Cases that did not run block what
    depends on them, whatever the reason: a MUST that did not run is never a pass. A requirement of
    a profile that is not claimed is left out, and so is one that others have replaced, or of which
    a whole run has no case. The datatypes in `unsupported` excuse only what is about them. The run
    of a `shard` has no verdict of its own. `binding` is that of the endpoint. With `http2` it was
    over HTTP/2, and what it is about says which requirements it did not ask. A run about
    `relations` between the answers of models is consistent, never conformant; each of its models
    that is `absent`, by role with the reason, and each that does not repeat its answers, blocks
    that. Wrong answers of a `soak` count as failures of their cases, at their level; what did not
    survive it is not robust; a leak is a warning.
    """
    by_requirement: dict[str, list[JudgedCase]] = {}
    for case in cases:
        by_requirement.setdefault(case.requirement, []).append(case)
    rows = []
    conformant: list[str] = []
    robust: list[str] = []
    warnings: list[str] = []
    for requirement in catalogue().values():
        if requirement.profile not in profiles or requirement.superseded_by:
            continue
        of_this = by_requirement.get(requirement.id, [])
        if not of_this and _is_for_other_runs(requirement, planned, own=own):
            continue
        level = requirement.level_for(profiles)
        rows.append(_row(requirement, level, of_this))
        counted = [case for case in of_this if not isinstance(case.cause, AnswersDiffer)]
        for reason, case_level in _reasons(requirement.id, counted):
            if case_level != "MUST":
                warnings.append(reason)
            else:
                (robust if requirement.basis == "derived" else conformant).append(reason)
        lost = _lost(requirement, of_this, unsupported)
        if lost:
            (robust if requirement.basis == "derived" else conformant).append(lost)
    if soak is not None:
        for reason, level, basis in _under_load(soak, cases):
            if level != "MUST":
                warnings.append(reason)
            else:
                (robust if basis == "derived" else conformant).append(reason)
        robust += soak_words.blocking(soak)
        warnings += soak_words.warnings(soak)
    of_the_run = _of_the_run(cases, planned, complete=complete, own=own, shard=shard)
    of_models = () if relations is None else _of_the_models(cases, absent)
    conformant = [*of_the_run, *of_models, *conformant]
    holds, is_robust = not conformant, not conformant and not robust
    whole = complete and len({case.id for case in cases}) >= sum(planned.values()) and not shard
    consistent = None if relations is None else is_robust
    if relations is not None:
        holds = is_robust = False
    needs = _need_identity(rows, profiles) if relations is not None else ()
    about = () if relations is None else relations.words(needs)
    verdict = OverallVerdict(
        conformant=holds,
        robust=is_robust,
        reasons=(*conformant, *robust),
        warnings=tuple(warnings),
        standing=verdict_words(
            conformant=holds,
            robust=is_robust,
            complete=whole,
            consistent=consistent,
            contradicted=contradicted(rows),
        ),
        claim=claim_words(profiles, unsupported, cases, rows, binding, http2=http2, about=about),
        consistent=consistent,
        shown=() if relations is None else _shown(rows),
        needs_identity=needs,
    )
    return Conclusion(verdict, tuple(rows))


def contradicted(rows: Iterable[RequirementResult]) -> bool:
    """Whether a MUST failed, rather than not being shown to hold."""
    return any(row.level == "MUST" and row.outcome in FAILED for row in rows)


def _shown(rows: Iterable[RequirementResult]) -> tuple[str, ...]:
    return tuple(row.id for row in rows if row.outcome is Outcome.PASS)


def _need_identity(rows: Iterable[RequirementResult], profiles: Collection[str]) -> tuple[str, ...]:
    """The requirements of the claimed profiles of which a run about relations has no case."""
    there = {row.id for row in rows if row.cases}
    return tuple(
        requirement.id
        for requirement in catalogue().values()
        if requirement.profile in profiles
        and not (requirement.superseded_by or requirement.untested or requirement.id in there)
    )


def concluded(report: Report) -> Report:
    """`report` with the verdict and the requirements that its cases amount to; not sealed."""
    found = conclude(
        report.cases,
        report.target.profiles,
        planned=report.planned,
        complete=report.complete,
        own=report.own,
        unsupported=report.target.unsupported,
        shard=report.selection.shard,
        binding=report.target.binding,
        http2=report.target.http2,
        relations=report.relations,
        absent=report.target.absent,
        soak=report.soak,
    )
    return msgspec.structs.replace(
        report, verdict=found.verdict, requirements=found.requirements, integrity=None
    )


def _is_for_other_runs(requirement: Requirement, planned: Mapping[str, int], *, own: bool) -> bool:
    """Whether only a run that was asked for more, such as a thorough one, has cases of it."""
    return own and bool(planned) and requirement.id not in planned and not requirement.untested


def _of_the_run(
    cases: Sequence[JudgedCase],
    planned: Mapping[str, int],
    *,
    complete: bool,
    own: bool,
    shard: Shard | None,
) -> Iterable[str]:
    """What blocks the verdict whatever the cases show."""
    total = sum(planned.values())
    left_out = total - len({case.id for case in cases})
    if not own:
        yield "this was not the suite: the cases were those given with --cases"
    if shard is not None:
        yield (
            f"this is shard {shard.number} of {shard.of}: the verdict is that of the merged report "
            "(`v2-conformance merge`)"
        )
    if not complete:
        left = total - len(cases)
        where = f"with {left} cases to go" if left > 0 else "before it had sent its last case"
        yield f"the run is incomplete: it was stopped {where}"
    passed = {case.level for case in cases if case.outcome is Outcome.PASS}
    if "MUST" not in passed:
        yield "no MUST case passed" if passed else "no case passed"
    if left_out > 0:
        yield f"{left_out} of {total} cases were left out"


def _under_load(
    soak: Soak, cases: Iterable[JudgedCase]
) -> Iterable[tuple[str, Level, Basis | None]]:
    """Which requirements got wrong answers under load that were right alone, each with its level
    and basis."""
    levels = {case.id: (case.requirement, case.level) for case in cases}
    counts: Counter[tuple[str, Level]] = Counter()
    for case_id, number in soak.wrong.items():
        if case_id in levels:
            counts[levels[case_id]] += number
    for (requirement, level), number in sorted(counts.items()):
        if level not in ("MUST", "SHOULD"):
            continue
        answers = "1 answer" if number == 1 else f"{number} answers"
        known = catalogue().get(requirement)
        basis = None if known is None else known.basis
        yield f"{level} {requirement} did not hold under load ({answers})", level, basis


def _of_the_models(cases: Iterable[JudgedCase], absent: Mapping[str, str]) -> Iterable[str]:
    """Which models of a run about relations could not be tested as they had to be, and why."""
    for role, why in absent.items():
        yield f"the model {role.removeprefix(ROLE)} was not tested: {why}"
    differing = {c.cause.role: c.cause for c in cases if isinstance(c.cause, AnswersDiffer)}
    for cause in differing.values():
        yield describe(cause)


def _reasons(requirement: str, cases: Iterable[JudgedCase]) -> list[tuple[str, Level]]:
    """What is wrong with a requirement, each with the level at which it counts."""
    counts = Counter((case.level, case.outcome) for case in cases if not case.outcome.harmless)
    reasons: list[tuple[str, Level]] = []
    for (level, outcome), count in sorted(counts.items()):
        if level in ("MAY", "DISPUTED") and outcome is not Outcome.ERROR:
            continue
        number = "1 case" if count == 1 else f"{count} cases"
        reasons.append((f"{level} {requirement} {_WORDS[outcome]} ({number})", level))
    return reasons


def _lost(
    requirement: Requirement, cases: Iterable[JudgedCase], unsupported: Collection[str]
) -> str:
    """Why a requirement is as good as unknown: the server lacks something that each of its MUST
    cases needs and that it is not about, or a client lacks what one of them needs that asks for no
    option. "" if that is not so."""
    musts = [case for case in cases if case.level == "MUST"]
    lacking = sum(isinstance(case.cause, ClientLacks) and case.cause.basic for case in musts)
    if lacking:
        number = "1 case needs" if lacking == 1 else f"{lacking} cases need"
        return f"MUST {requirement.id} was not tested: the client lacks what {number}"
    if any(case.outcome is not Outcome.UNSUPPORTED for case in musts):
        return ""
    needs = dict.fromkeys(need for case in musts for need in _needs(case.cause))
    about = requirement.datatypes
    if not needs or (about and set(about) <= set(unsupported)):
        return ""
    return f"MUST {requirement.id} was not tested: its cases need {', '.join(needs)}"


def _needs(cause: Cause | None) -> Iterable[str]:
    """What the server lacks, if a case was not sent for that."""
    if isinstance(cause, DatatypesUnsupported):
        return cause.datatypes
    if isinstance(cause, CodingsUnsupported):
        return cause.codings
    return [f"the model {cause.role}"] if isinstance(cause, RoleAbsent) else []


def _row(requirement: Requirement, level: Level, cases: Sequence[JudgedCase]) -> RequirementResult:
    counts = Counter(case.outcome for case in cases)
    own = {case.outcome for case in cases if case.level == level} or set(counts)
    worst = next((outcome for outcome in _WORST_FIRST if outcome in own), Outcome.NOT_RUN)
    return RequirementResult(
        id=requirement.id,
        level=level,
        basis=requirement.basis,
        outcome=worst,
        cases=dict(counts),
        title=requirement.title,
        statement=requirement.statement,
        follows=requirement.follows,
        note=requirement.note,
        cite=tuple(
            CitedDocument(
                document=documents()[cited.document].title,
                url=documents()[cited.document].url,
                section=cited.section,
                paragraph=cited.paragraph,
            )
            for cited in requirement.cite
        ),
    )
