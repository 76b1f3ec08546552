"""Judges a whole report again from its own bytes: does its verdict hold?

A report has every byte that was sent and received, and everything else in it follows from them. So
a run is played again without a server. The selection and the recorded models give the plan. The
conversation of each case yields its steps; each takes the next recorded exchange, if that has the
request that the suite makes there (`on_record`, `record`). It returns the verdict of the case, and
from all of these the report's own verdict is derived, as at the end of a run. Discovery and
calibrations are played before, in the same way (`facts`).

What differs is an edit: exit code 1. What cannot be played again, since bytes are withheld, cut or
of another catalogue, is not confirmed: exit code 2. What bytes cannot show (times, how a connection
ended, whose server it was) is taken as recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from v2_conformance.elsewhere import elsewhere
from v2_conformance.errors import CaseFileError, NothingRanError, UsageError
from v2_conformance.judging.verdict import Verdict
from v2_conformance.report import document as doc
from v2_conformance.report.document import CaseResult, OverallVerdict, Report, cited_documents
from v2_conformance.report.files import read_report
from v2_conformance.report.tested import this_suite
from v2_conformance.report.verdict.standing import unconfirmed, verdict_words
from v2_conformance.report.verdict.summary import as_run, concluded
from v2_conformance.runs.targets.target import check_url
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.choosing import asked_for, claims_problem, select
from v2_conformance.verifying.facts import discovery_edits, learned_models
from v2_conformance.verifying.record import Setting, UnconfirmedError, setting_of
from v2_conformance.verifying.rejudge import Rejudged, rejudge
from v2_conformance.wire.encode.inputs import stood_in
from v2_conformance.wire.relations.cases import relation_plan

GOOD = {doc.CONFORMANT, doc.NOT_ROBUST, doc.CONSISTENT, doc.CONSISTENT_NOT_ROBUST}
"""What every build means by these words."""
_NAMED = 5


@dataclass(frozen=True)
class Verification:
    """Result of judging a report again.

    `edits` cannot be true of an unedited report whatever its cases show, `unconfirmed` cannot be
    judged again for lack of bytes. `again` is the report as its cases make it now, in the words of
    this installation. `foreign` says whether its catalogue asks or expects something else: then
    nothing is judged. `other_build` says whether another build of the suite made it, and `unsealed`
    whether it is the record of a run, which has no digest. `digest` is computed from the content,
    "" for a record.
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
        """The verdict of the report, in its own words if this build made it."""
        own = self.report.verdict.words
        return own if own and not self.other_build else verdict_words(self.report)

    @property
    def now(self) -> str:
        """The verdict that its cases give now, in words."""
        return verdict_words(self.again)

    @property
    def exit_code(self) -> int:
        """0 it holds, 1 it does not, 2 it cannot be confirmed here."""
        if self.edits or any(case.problem is not None for case in self.cases):
            return 1
        judged = all(case.unjudged is None for case in self.cases)
        return 0 if judged and not self.unconfirmed and not self.foreign else 2


def verify(path: Path, cases: Sequence[Case]) -> Verification:
    """Judge a report.json or a record again by all cases of this build. Raises ReportFileError."""
    file = read_report(path)
    report, here = as_run(file.report), this_suite()
    setting = setting_of(report)
    edits: list[str] = []
    open_: list[str] = []
    if not file.is_intact:
        edits.append("the report was edited: its digest is not that of its content")
    if report.target.client is None:
        edits += _url_edits(report)
    foreign = report.suite.catalogue != here.catalogue
    judged: tuple[Rejudged, ...] = ()
    again = report
    if not foreign:
        setting, planned = _with_plan(setting, cases, edits, open_)
        try:
            if report.target.client is not None:
                edits += elsewhere("judge of clients").client_edits(report)
            else:
                claims = report.target.profiles, report.target.unsupported
                if problem := claims_problem(*claims):
                    edits.append(f"no run can have these claims: {printable(problem, 120)}")
                edits += discovery_edits(setting)
        except UnconfirmedError as error:
            open_.append(f"the record of discovery: {error}")
        judged = _rejudged(setting)
        pairs = zip(report.cases, judged, strict=True)
        outcomes = tuple(_as_judged(recorded, now, setting) for recorded, now in pairs)
        again = concluded(msgspec.structs.replace(report, cases=outcomes, planned=planned))
        edits += _verdict_edits(report, again)
        again = msgspec.structs.replace(again, integrity=report.integrity)
    return Verification(
        *(path, report, judged, tuple(edits), tuple(open_), again),
        foreign=foreign,
        other_build=report.suite != here,
        unsealed=file.is_record,
        digest=file.digest,
    )


def with_cases_of_plan(
    setting: Setting, cases: Sequence[Case], edits: list[str], open_: list[str]
) -> Setting:
    """Return `setting` with those of `cases` that a run with these models could choose from, and
    add to `edits` and `open_` why a model cannot have been learned."""
    report = setting.report
    begun = [case for case in cases if case.of_clients is (report.target.client is not None)]
    begun = asked_for(begun, large=report.selection.large)
    if report.relations is not None:
        wrong: list[str] = []
        models = learned_models(setting, wrong, open_)
        begun = relation_plan([model.contract for model in models], begun)
        stated = {role: model.model for role, model in report.target.models.items()}
        bound = {model.role: model for model in models}
        learned = {role: one.model for role, one in bound.items()}
        if not (wrong or open_) and stated != learned:
            wrong.append("the models of the target are not those that were learned")
        edits += wrong
        claims = replace(setting.claims, present={**setting.claims.present, **bound})
        setting = replace(setting, claims=claims)
    own = {case.id: stood_in(case, report.target.unsupported) for case in begun}
    return replace(setting, cases=own)


def _with_plan(
    setting: Setting, cases: Sequence[Case], edits: list[str], open_: list[str]
) -> tuple[Setting, Mapping[str, int]]:
    """Return `setting` with the plan of its run, and the number of cases that it has of each
    requirement: the report's own for a run with cases from outside the suite."""
    report = setting.report
    setting = with_cases_of_plan(setting, cases, edits, open_)
    if not report.own:
        return setting, report.planned
    cases = list(setting.cases.values())
    try:
        chosen = {case.id for case in select(cases, report.selection.patterns)}
    except (CaseFileError, NothingRanError, UsageError) as error:
        edits.append(f"no run can have this selection: {printable(str(error), 120)}")
        return setting, report.planned
    counts = Counter(case.requirement for case in cases)
    names = dict.fromkeys((*counts, *report.planned))
    other = [name for name in names if counts[name] != report.planned.get(name)]
    if other:
        edits.append(
            f"the report plans other cases than a run with this selection: {_named(other)}"
        )
    twice = [name for name, count in Counter(c.id for c in report.cases).items() if count > 1]
    if twice:
        edits.append(f"the report has cases twice: {_named(twice)}")
    planned = {name: case for name, case in setting.cases.items() if name in chosen}
    return replace(setting, planned=planned), counts


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name, 80) for name in names[:_NAMED])
    more = len(names) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _url_edits(report: Report) -> Iterator[str]:
    """Yield what no URL of a target is, whatever the catalogue of the run."""
    target = report.target
    try:
        check_url(target.url)
    except UsageError as error:
        yield f"no run can have this target: {printable(str(error))}"
    if not target.host_given and urlsplit(target.url).netloc != target.host:
        yield "the URL of the target is not the one that its requests went to"


def _rejudged(setting: Setting) -> tuple[Rejudged, ...]:
    """Judge every case again, each once, with those about all other exchanges last."""
    cases = {case.id: case for case in setting.report.cases}
    observed = {name for name in cases if isinstance(setting.cases.get(name), ObservedCase)}
    others = [rejudge(case, setting) for name, case in cases.items() if name not in observed]
    rejudged = {one.id: one for one in others}
    rejudged |= {name: rejudge(cases[name], setting, others) for name in observed}
    return tuple(rejudged[case.id] for case in setting.report.cases)


def _as_judged(recorded: CaseResult, again: Rejudged, setting: Setting) -> CaseResult:
    """Return a case with what its bytes show, in the words of this installation."""
    verdict = again.verdict or Verdict(again.outcome, recorded.cause)
    case = (setting.planned or {}).get(recorded.id)
    return msgspec.structs.replace(
        recorded,
        outcome=again.outcome,
        cause=verdict.cause,
        message=verdict.message,
        why=recorded.why if case is None else case.why,
        cite=recorded.cite if case is None else cited_documents(case.cite),
        expected=None,
    )


def _verdict_edits(report: Report, again: Report) -> Iterator[str]:
    """Yield what does not follow from the cases of a report on this very catalogue. Words are
    compared only if this very build made it."""
    words = report.verdict.words
    if words in GOOD and words != again.verdict.words:
        yield f"it says {words}, which does not follow from the cases"
    if report.suite != this_suite():
        report, again = _without_words(report), _without_words(again)
    stated, follows = ({row.id: row for row in r.requirements} for r in (report, again))
    names = dict.fromkeys((*stated, *follows))
    other = [name for name in names if stated.get(name) != follows.get(name)]
    if other or len(stated) != len(report.requirements):
        yield f"the rows of these requirements do not follow from the cases: {_named(other)}"
    if report.verdict != again.verdict:
        yield "the verdict with its reasons and warnings does not follow from the cases"


def _without_words(report: Report) -> Report:
    of_rows = {"title": "", "statement": "", "follows": "", "note": "", "cite": (), "layer": None}
    rows = tuple(msgspec.structs.replace(row, **of_rows) for row in report.requirements)
    of_verdict = {"reasons": (), "warnings": (), "words": "", "claim": ""}
    verdict = msgspec.structs.replace(report.verdict, **of_verdict)
    return msgspec.structs.replace(report, requirements=rows, verdict=verdict)
