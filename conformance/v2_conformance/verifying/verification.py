"""Judges a whole report again from its own bytes: does its verdict hold?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from v2_conformance.elsewhere import elsewhere
from v2_conformance.errors import UsageError
from v2_conformance.judging.relations.plan import bindings_of, relation_plan
from v2_conformance.judging.verdict import Verdict
from v2_conformance.report.cited import cited_documents
from v2_conformance.report.document import (
    CONFORMANT,
    CONSISTENT,
    NOT_ROBUST,
    CaseResult,
    OverallVerdict,
    Report,
)
from v2_conformance.report.files import read_report
from v2_conformance.report.tested import this_suite
from v2_conformance.report.verdict.standing import standing, unconfirmed
from v2_conformance.report.verdict.summary import concluded
from v2_conformance.runs.targets.target import check_url
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.models import contract
from v2_conformance.verifying.discovered import discovery_edits
from v2_conformance.verifying.learned import LearnedAgain, learned_again
from v2_conformance.verifying.plan import (
    DerivedPlan,
    cases_of,
    claim_edits,
    named,
    plan_edits,
)
from v2_conformance.verifying.record import UnconfirmedError
from v2_conformance.verifying.rejudge import Rejudged, is_observed, rejudge
from v2_conformance.verifying.setting import Setting, plays, setting, whereabouts

_GOOD = frozenset({CONFORMANT, NOT_ROBUST, CONSISTENT})
"""What every build means by these words."""


@dataclass(frozen=True)
class Verification:
    """Result of judging a report again.

    `edits` cannot be true of an unedited report whatever its cases show, `unconfirmed` cannot be
    judged again for lack of bytes. `again` is the report as its cases make it now, in the words of
    this installation. `foreign` says whether its catalogue asks or expects something else,
    `other_build` whether another build of the suite made it, and `unsealed` whether it is the
    record of a run, which has no digest. `digest` is computed from the content, "" for a record.
    """

    path: Path
    report: Report
    cases: tuple[Rejudged, ...]
    edits: tuple[str, ...]
    unconfirmed: tuple[str, ...]
    again: Report
    foreign: bool
    other_build: bool
    unsealed: bool
    digest: str

    @property
    def verdict(self) -> OverallVerdict:
        """The verdict that the cases give now."""
        return self.again.verdict

    @property
    def shown(self) -> Report:
        """The report as others may be shown it: in the words of this installation, for its own
        could say anything, and without its results if its catalogue asks something else.
        """
        return unconfirmed(self.report) if self.foreign else self.again

    @property
    def stated(self) -> str:
        """The verdict of the report in its own words, or in those of this build: another one's are
        not compared."""
        verdict = self.report.verdict
        own = "" if self.other_build else verdict.standing
        silent = msgspec.structs.replace(verdict, standing="")
        return own or standing(msgspec.structs.replace(self.report, verdict=silent)).words

    @property
    def now(self) -> str:
        """The verdict that its cases give now, in words."""
        return standing(msgspec.structs.replace(self.report, verdict=self.verdict)).words

    @property
    def exit_code(self) -> int:
        """0 it holds, 1 it does not, 2 it cannot be confirmed here."""
        if self.edits or any(case.problem is not None for case in self.cases):
            return 1
        judged = all(case.unjudged is None for case in self.cases)
        return 0 if judged and not self.unconfirmed and not self.foreign else 2


def verify(path: Path, cases: Sequence[Case]) -> Verification:
    """Judge a report.json or the record of a run again; `cases` are all of this installation.

    Raises ReportFileError if the file is neither.
    """
    file = read_report(path, strictly=True)
    report, suite = file.report, file.report.suite
    of_client = report.target.client is not None
    cases = [case for case in cases if case.of_clients is of_client]
    here = this_suite()
    foreign, other_build = suite.catalogue != here.catalogue, suite != here
    begun = None if foreign else cases_of(report, cases)
    again = learned_again(report, whereabouts(report), cases=begun)
    plan, edits = (None, []) if foreign else plan_edits(report, cases, again.models)
    if report.relations is not None:
        cases = relation_plan(again.models, cases)
    known = setting(
        report,
        cases,
        same_suite=not foreign,
        same_words=not other_build,
        plan=plan,
        models=again.models,
    )
    if not of_client:
        edits += _url_edits(report)
    if not file.is_intact:
        edits.insert(0, "the report was edited: its digest is not that of its content")
    unconfirmed = list(again.unconfirmed)
    if not foreign:
        edits += _version_edits(suite.catalogue_version, here.catalogue_version)
        edits += again.edits
        try:
            if of_client:
                edits += elsewhere("judge of clients").client_edits(report)
            else:
                edits += _server_edits(known, again)
        except UnconfirmedError as error:
            unconfirmed.append(f"the record of discovery: {error}")
    judged = _rejudged(report, known)
    outcomes = tuple(map(_as_judged, report.cases, judged))
    planned = report.planned if plan is None else dict(plan.counts)
    now = concluded(msgspec.structs.replace(report, cases=outcomes, planned=planned))
    if not foreign:
        edits += _edits(report, now, same_words=known.same_words)
    return Verification(
        path,
        report,
        judged,
        tuple(edits),
        tuple(unconfirmed),
        _in_present_words(now, judged, plan),
        foreign,
        other_build,
        file.is_record,
        file.digest,
    )


def _server_edits(known: Setting, again: LearnedAgain) -> Iterator[str]:
    """Yield what is wrong with the target and the claims. Raises UnconfirmedError."""
    report = known.report
    yield from claim_edits(report)
    if report.relations is not None and not (again.edits or again.unconfirmed):
        stated = {role: model.model for role, model in report.target.models.items()}
        if stated != {role: one.model for role, one in bindings_of(again.models).items()}:
            yield "the models of the target are not those that were learned"
    target = report.target
    roles = () if report.relations is not None else (*target.models, *target.absent)
    for role in roles:
        model = target.models.get(role)
        if role not in contract() or (model is not None and not plays(role, model)):
            yield f"the contract has no model for {printable(role, 80)} with such tensors"
    yield from discovery_edits(known)


def _url_edits(report: Report) -> Iterator[str]:
    """Yield what no URL of a target is, whatever the catalogue of the run."""
    target = report.target
    try:
        check_url(target.url)
    except UsageError as error:
        yield f"no run can have this target: {printable(str(error))}"
    if not target.host_given and urlsplit(target.url).netloc != target.host:
        yield "the URL of the target is not the one that its requests went to"


def _rejudged(report: Report, known: Setting) -> tuple[Rejudged, ...]:
    """Judge every case again, each once, with those about all other exchanges last."""
    seen: set[str] = set()
    found: dict[int, Rejudged] = {}
    for number, case in enumerate(report.cases):
        if case.id in seen:
            twice = "the report has it twice"
            found[number] = Rejudged(case.id, case.outcome, case.outcome, twice)
        elif not is_observed(case, known):
            found[number] = rejudge(case, known)
        seen.add(case.id)
    others = list(found.values())
    return tuple(
        found[number] if number in found else rejudge(case, known, others)
        for number, case in enumerate(report.cases)
    )


def _as_judged(recorded: CaseResult, again: Rejudged) -> CaseResult:
    """Return a case with what its bytes show: a verdict also follows from causes."""
    cause = recorded.cause if again.verdict is None else again.verdict.cause
    return msgspec.structs.replace(recorded, outcome=again.outcome, cause=cause)


def _version_edits(stated: str, here: str) -> Iterator[str]:
    """Yield what is wrong with the version of a catalogue with the digest of this one: only a patch
    has the same digest, and old reports lack the version.
    """
    if stated and stated.split(".")[:2] != here.split(".")[:2]:
        yield f"its catalogue is not {printable(stated, 20)}: its digest is that of {here}"


def _in_present_words(
    report: Report, judged: Sequence[Rejudged], plan: DerivedPlan | None
) -> Report:
    """Return `report` with no words of its own: messages are made of causes again, and the others
    are those of the cases of this installation.
    """
    known = {} if plan is None else plan.chosen
    cases = [
        _case_in_present_words(recorded, again, known.get(recorded.id))
        for recorded, again in zip(report.cases, judged, strict=True)
    ]
    worded = msgspec.structs.replace(report, cases=tuple(cases))
    return msgspec.structs.replace(concluded(worded), integrity=report.integrity)


def _case_in_present_words(recorded: CaseResult, again: Rejudged, case: Case | None) -> CaseResult:
    verdict = again.verdict or Verdict(recorded.outcome, recorded.cause)
    return msgspec.structs.replace(
        recorded,
        cause=verdict.cause,
        message=verdict.message,
        why=recorded.why if case is None else case.why,
        cite=recorded.cite if case is None else cited_documents(case.cite),
        expected=None,
    )


def _edits(report: Report, again: Report, *, same_words: bool) -> Iterator[str]:
    """Yield what in a report on this very catalogue does not follow from its cases.

    Words are compared only if this very build made it.
    """
    words = report.verdict.standing
    if words in _GOOD and words != again.verdict.standing:
        yield f"it says {words}, which does not follow from the cases"
    if not same_words:
        report, again = _without_words(report), _without_words(again)
    stated, follows = ({row.id: row for row in r.requirements} for r in (report, again))
    names = dict.fromkeys((*stated, *follows))
    other = [name for name in names if stated.get(name) != follows.get(name)]
    if other or len(stated) != len(report.requirements):
        yield f"the rows of these requirements do not follow from the cases: {named(other)}"
    if report.verdict != again.verdict:
        yield "the verdict with its reasons and warnings does not follow from the cases"


def _without_words(report: Report) -> Report:
    rows = tuple(
        msgspec.structs.replace(
            row, title="", statement="", follows="", note="", cite=(), layer=None
        )
        for row in report.requirements
    )
    verdict = msgspec.structs.replace(
        report.verdict, reasons=(), warnings=(), standing="", claim=""
    )
    return msgspec.structs.replace(report, requirements=rows, verdict=verdict)
