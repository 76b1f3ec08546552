"""The causes and the counts of a report in words: the same on page, terminal and step summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from v2_conformance.report import document as doc
from v2_conformance.report.document import CaseResult, Report, once
from v2_conformance.report.properties import Right
from v2_conformance.report.root_causes import ANOTHER, CauseGroup, root_causes, unhandled_error
from v2_conformance.report.verdict.judged import failed_musts
from v2_conformance.report.verdict.standing import is_decided, verdict_words
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.causes.base import body_words, counted, describe
from v2_conformance.suite.causes.causes import NotKept
from v2_conformance.suite.causes.kinds import ExtensionLeftOut, Rejected
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import FAILED, HARMS, Harm, Outcome
from v2_conformance.suite.requirements import BLOCKS, GRADES, Blocks, catalogue
from v2_conformance.terminal_safe_text import few_of, short

_NAME = 120
_HARMS: Mapping[Harm, str] = {
    "wrong-numbers": "wrong numbers",
    "breaks-clients": "breaks clients",
    "dies": "the server dies or hangs",
    "connection": "connections go wrong",
    "hygiene": "malformed answers",
}
_HARMS_OF_A_CLIENT: Mapping[Harm, str] = {
    **_HARMS,
    "breaks-clients": "fails with correct servers",
    "dies": "the client dies or hangs",
    "hygiene": "unclear errors",
}


def losses(*, client: bool) -> Mapping[Harm, str]:
    """Return what a user of a server loses, or of a client, in words."""
    return _HARMS_OF_A_CLIENT if client else _HARMS


@dataclass(frozen=True)
class ShownCause:
    """One cause of failures; `title` is its requirement's, "" if the report has none. `about` says
    what only its requests have in common, or which of several causes with a title it is.

    `first` is the case to look at first, of the gravest grade: its message says what is wrong.
    `lost` is what a user loses, in words, "" for a cause that blocks nothing.
    """

    group: CauseGroup
    title: str
    first: CaseResult
    lost: str
    about: str

    @property
    def name(self) -> str:
        """What the cause is about, its requirement and the title of that."""
        named = f"{self.group.requirement} {self.title}".strip()
        return short(f"{self.about}: {named}" if self.about else named, _NAME)

    @property
    def number(self) -> str:
        """The number of cases that it explains, and what those block that it prevented, if more."""
        words = counted(len(self.group.cases), "case")
        waiting = [GRADES.index(case.grade) for case in self.group.waiting]
        if waiting:
            worst = min(waiting)
            more = f": {GRADES[worst]}" if worst < GRADES.index(self.group.grade) else ""
            words += f" (and {len(waiting)} that could not run{more})"
        return words

    @property
    def words(self) -> str:
        """The number of its cases and its name."""
        return f"{self.number}: {self.name}"

    @property
    def says(self) -> str:
        """What is wrong in the case to look at first. If that is about all exchanges, what is wrong
        in the first of them comes before how many there are."""
        cause = self.first.cause
        if not isinstance(cause, NotKept) or not cause.cases:
            return self.first.message
        first = unhandled_error(cause)
        if first is not None:
            also = ", ".join(self.group.requirements[1:])
            return (
                f"the server answered {first.got} (an unhandled error?) to the malformed request "
                f"of {cause.cases[0]}; in all to {counted(cause.wrong, 'such request')}"
                f"{f', which also fail {also}' if also else ''}; "
                f"the answer: {body_words(first.body)}"
            )
        number = f"{cause.wrong} of {counted(cause.judged, 'exchange')}"
        return f"{describe(cause.first)} (in {number}, the first in {cause.cases[0]})"

    @property
    def expected(self) -> bool:
        """True if an expectation file knew all of its failures."""
        return all(case.expected is not None for case in self.group.cases)


@once
def shown_causes(report: Report) -> list[ShownCause]:
    """Return the causes of a report, in the order of `root_causes`, but unexpected ones first. A
    server that leaves the extension out has none: its verdict says it all."""
    if not report.verdict.implemented:
        return []
    # A finding may show a requirement of which no case could be sent.
    titles = {known.id: known.title for known in catalogue().values()}
    titles |= {row.id: row.title for row in report.requirements}
    groups = root_causes(report.cases, of_any_model=report.relations is not None)
    client = report.target.client is not None
    # To read what was sent takes a while, for which a run without failures has no use.
    passed = report.of(Outcome.PASS) if groups and not client else ()
    right = Right(case.exchanges for case in passed if not isinstance(case.cause, Rejected))
    shown = [
        ShownCause(
            group,
            titles.get(group.requirement, ""),
            min(group.cases, key=partial(_distance, group)),
            harm_words(report, group.harm if any(case.blocks for case in group.cases) else None),
            "" if client else right.lack(c.exchanges for c in group.cases if c.blocks != "robust"),
        )
        for group in groups
    ]
    names: set[str] = set()
    for n, cause in enumerate(shown):
        if cause.group.finding == ANOTHER:
            shown[n] = cause = replace(cause, about="answers of other requests")
        if cause.name in names:
            shown[n] = replace(cause, about=f"{cause.about} as in {cause.first.id}".strip())
        names.add(cause.name)
    return sorted(shown, key=lambda cause: cause.expected)


def unexplained(causes: Iterable[ShownCause], problems: Iterable[str]) -> list[str]:
    """Return those reasons or warnings of a verdict that no cause explains."""
    told = {requirement for cause in causes for requirement in cause.group.requirements}
    return [one for one in problems if told.isdisjoint(one.split())]


def _distance(group: CauseGroup, case: CaseResult) -> tuple[bool, int, bool]:
    """Return the sort key of the case to look at first: unexpected, grave, of this requirement."""
    other = case.requirement != group.requirement
    return case.expected is not None, GRADES.index(case.grade), other


def headline(causes: Sequence[ShownCause]) -> str:
    """Return all causes as a sentence: "440 failures, 1 cause. Fix first: P5 …"; "" for none."""
    if not causes:
        return ""
    cases = [case for cause in causes for case in cause.group.cases]
    failures = sum(case.outcome in FAILED for case in cases)
    unclear = len(cases) - failures
    parts = [counted(failures, "failure")] if failures else []
    parts += [f"{unclear} inconclusive"] if unclear else []
    words = f"{', '.join(parts)}, {counted(len(causes), 'cause')}"
    if not any(case.blocks for case in cases):
        words = f"Warnings only: {words}"
    return f"{words}. {'Fix' if failures else 'Look at'} first: {causes[0].name}"


def lost(report: Report, *, below: str = "") -> str:
    """Return what a user loses by the MUST requirements that failed, and by how many each, in two
    parts: "not conformant: breaks clients (2); not robust: …". A part does not repeat the verdict
    `below` which it stands. "" for nothing, and for a report without a verdict.
    """
    if not is_decided(report):
        return ""
    first = doc.NOT_CONFORMANT if report.relations is None else doc.NOT_CONSISTENT
    parts = []
    for blocks, kind, verdicts in (
        ("conformant", first, (first,)),
        ("robust", "not robust", (doc.NOT_ROBUST, doc.CONSISTENT_NOT_ROBUST)),
    ):
        counts = Counter(must.harm for must in failed_musts(report) if must.blocks == blocks)
        words = [f"{harm_words(report, harm)} ({counts[harm]})" for harm in HARMS if counts[harm]]
        if words:
            said = "" if below in verdicts else f"{kind}: "
            parts.append(f"{said}{', '.join(words)}")
    return "; ".join(parts)


def harm_words(report: Report, harm: Harm | None) -> str:
    """Return what the user of the server, or of the client, loses; "" for nothing."""
    words = losses(client=report.target.client is not None)
    return words[harm] if harm is not None else ""


def lost_by(report: Report, requirement: str) -> str:
    """Return what a user loses by this requirement: what its failures show if it failed as a MUST,
    else what this catalogue says of a failure; "" for nothing, or for a requirement that it does
    not have."""
    shown = next((must.harm for must in failed_musts(report) if must.id == requirement), None)
    known = catalogue().get(requirement)
    return harm_words(report, shown or (known.harm if known is not None else None))


def priced(report: Report) -> str:
    """Return the verdict and what it costs: "conformant, not robust: connections go wrong (1)"."""
    words = verdict_words(report)
    costs = lost(report, below=words)
    if not costs:
        return words
    return f"{words}: {costs}" if costs != lost(report) else f"{words}; {costs}"


def must_words(report: Report, causes: Sequence[ShownCause]) -> str:
    """Return the MUST requirements that fail, such as "6 of 96 MUST fail: P9, H6 …". If some block
    *conformant* and others *robust*, they are told apart."""
    if report.verdict.words == doc.OUTDATED:
        return "nothing that it says was confirmed"
    if not report.verdict.implemented:
        left_out = sum(isinstance(case.cause, ExtensionLeftOut) for case in report.cases)
        return f"{counted(left_out, 'other case')} not sent" if left_out else "all cases were sent"
    musts = [row for row in report.requirements if row.level == "MUST" and row.cases]
    tested = [row for row in musts if row.outcome is not Outcome.UNSUPPORTED]
    if not tested:
        return "no MUST was tested"
    blocked = {must.id: must.blocks for must in failed_musts(report)}
    named = [cause.group.requirement for cause in causes]
    failing = list(dict.fromkeys([*(name for name in named if name in blocked), *blocked]))
    open_ones = [row.id for row in tested if row.outcome in (Outcome.INCONCLUSIVE, Outcome.NOT_RUN)]
    parts = []
    if failing:
        fail = "fails" if len(failing) == 1 else "fail"
        parts.append(f"{len(failing)} of {len(tested)} MUST {fail}: {_by_blocks(blocked, failing)}")
    if open_ones:
        of = "" if failing else f" of {len(tested)} MUST"
        parts.append(f"{len(open_ones)}{of} not shown: {few_of(open_ones)}")
    all_hold = "the only MUST holds" if len(tested) == 1 else f"all {len(tested)} MUST hold"
    return "; ".join(parts) or all_hold


def library_words(report: Report) -> str:
    """Return what the HTTP library below a client failed; "" if nothing, or for a server. A failure
    is not the library's if its cause is a requirement for the client itself, or if a scenario finds
    it in a target, which the client has to encode."""
    usual = {row.id for row in report.requirements if row.layer == "http"}
    unsent = (Outcome.NOT_RUN, Outcome.UNSUPPORTED)
    sent = {case.requirement for case in report.cases if case.outcome not in unsent} & usual
    targets = usual and {
        case.id
        for case in client_cases()
        if isinstance(case, ClientCase)
        and any("target" in one["expect"].get("request", ()) for one in case.requests)
    }
    failed = dict.fromkeys(
        group.requirement
        for group in (cause.group for cause in shown_causes(report))
        for case in group.cases
        if case.outcome in FAILED and {group.requirement, case.requirement} <= usual
        if case.id not in targets
    )
    if not failed:
        return ""
    total = counted(len(sent), "requirement")
    return f"HTTP library below the client: {len(failed)} of {total} failed: {' '.join(failed)}"


def _by_blocks(blocked: Mapping[str, Blocks], failing: Sequence[str]) -> str:
    groups = [(blocks, [id for id in failing if blocked[id] == blocks]) for blocks in BLOCKS]
    if not all(ids for _, ids in groups):
        return few_of(failing)
    return ", ".join(
        f"{len(ids)} {'blocks' if len(ids) == 1 else 'block'} {blocks} ({few_of(ids)})"
        for blocks, ids in groups
    )
