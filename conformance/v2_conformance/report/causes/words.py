"""The causes and the counts of a report in words: the same on page, terminal and step summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from v2_conformance.report.causes.root_causes import CauseGroup, caused_elsewhere, root_causes
from v2_conformance.report.causes.unhandled import unhandled_error
from v2_conformance.report.document import OUTDATED, CaseResult, Report
from v2_conformance.report.shown.visible_text import short
from v2_conformance.report.verdict.standing import is_decided
from v2_conformance.suite.causes.base import body_words, counted, describe
from v2_conformance.suite.causes.causes import NotKept
from v2_conformance.suite.causes.circumstances import ExtensionLeftOut
from v2_conformance.suite.outcomes import FAILED, Outcome
from v2_conformance.suite.requirements import BLOCKS, GRADES, HARMS, Harm, catalogue

_IDS = 6
_NAME = 120
_HARMS: Mapping[Harm, str] = {
    "wrong-numbers": "wrong numbers",
    "breaks-clients": "breaks clients",
    "dies": "the server dies",
    "connection": "connections go wrong",
    "hygiene": "malformed answers",
}
_HARMS_OF_A_CLIENT: Mapping[Harm, str] = {
    **_HARMS,
    "breaks-clients": "fails with right servers",
    "dies": "the client dies or hangs",
    "hygiene": "unclear errors",
}


def losses(*, client: bool) -> Mapping[Harm, str]:
    """Return what a user of a server loses, or of a client, in words."""
    return _HARMS_OF_A_CLIENT if client else _HARMS


_HINTS = {
    ("C1", "wrong_status"): "Most often the body in chunks arrived empty: read it, or answer 411.",
}


@dataclass(frozen=True)
class ShownCause:
    """One cause of failures; `title` is its requirement's, "" if the report has none.

    `first` is the case to look at first: its message says what is wrong. `lost` is what a user
    loses, in words, "" for a cause that blocks nothing.
    """

    group: CauseGroup[CaseResult]
    title: str
    first: CaseResult
    lost: str

    @property
    def name(self) -> str:
        """The requirement and its title, such as "P5 Response header length is …"."""
        return short(f"{self.group.requirement} {self.title}".strip(), _NAME)

    @property
    def number(self) -> str:
        """The number of cases that it explains, in words."""
        words = counted(len(self.group.cases), "case")
        if self.group.waiting:
            words += f" (and {len(self.group.waiting)} that could not run)"
        return words

    @property
    def words(self) -> str:
        """The number of its cases and its name."""
        return f"{self.number}: {self.name}"

    @property
    def says(self) -> str:
        """What is wrong in the case to look at first. If that is about all exchanges, what is wrong
        in the first of them comes before how many there are."""
        found = self.first.cause
        if not isinstance(found, NotKept) or not found.cases:
            return self.first.message
        first = unhandled_error(found)
        if first is not None:
            also = ", ".join(self.group.requirements[1:])
            return (
                f"the server answered {first.got} (an unhandled error?) to the malformed request "
                f"of {found.cases[0]}; in all to {counted(found.wrong, 'such request')}"
                f"{f', which also fail {also}' if also else ''}; "
                f"the answer: {body_words(first.body)}"
            )
        number = f"{found.wrong} of {counted(found.judged, 'exchange')}"
        return f"{describe(found.first)} (in {number}, the first in {found.cases[0]})"

    @property
    def hint(self) -> str:
        """What such a cause most often is, as a sentence; "" if nothing is known."""
        return _HINTS.get((self.group.requirement, self.group.finding), "")

    @property
    def expected(self) -> bool:
        """True if an expectation file knew all of its failures."""
        return all(case.expected is not None for case in self.group.cases)


def shown_causes(report: Report) -> list[ShownCause]:
    """Return the causes of a report, in the order of `root_causes`, but unexpected ones first.

    A server that leaves the extension out has none: its verdict says it all.
    """
    if not report.verdict.implemented:
        return []
    # A finding may show a requirement of which no case could be sent.
    titles = {known.id: known.title for known in catalogue().values()}
    titles |= {row.id: row.title for row in report.requirements}
    shown = [
        ShownCause(
            group,
            titles.get(group.requirement, ""),
            min(group.cases, key=partial(_distance, group)),
            harm_words(report, group.harm if any(case.blocks for case in group.cases) else None),
        )
        for group in root_causes(report.cases, of_any_model=report.relations is not None)
    ]
    return sorted(shown, key=lambda cause: cause.expected)


def _distance(group: CauseGroup[CaseResult], case: CaseResult) -> tuple[bool, bool, int]:
    """Return the sort key of the case to look at first: one of what the cause is named after."""
    other = case.requirement != group.requirement
    return case.expected is not None, other, GRADES.index(case.grade)


def headline(causes: Sequence[ShownCause]) -> str:
    """Return all causes in a few words, such as "1 cause, 440 cases: P5 …"; "" for none."""
    if not causes:
        return ""
    cases = sum(len(cause.group.cases) for cause in causes)
    words = f"{counted(len(causes), 'cause')}, {counted(cases, 'case')}"
    first = causes[0]
    if not any(case.blocks for cause in causes for case in cause.group.cases):
        words = f"warnings only: {words}"
    if len(causes) == 1:
        return f"{words}: {first.name}"
    return f"{words}; the first explains {len(first.group.cases)}: {first.name}"


def harms(report: Report, causes: Sequence[ShownCause]) -> str:
    """Return what a user loses by what keeps a server (or client) from the verdict that it lacks,
    with the number of causes: "wrong numbers (1), breaks clients (2)"; "" for nothing.
    """
    lacking = "robust" if report.verdict.conformant else "conformant"
    counts = Counter(
        cause.group.harm
        for cause in causes
        if any(case.outcome in FAILED for case in cause.group.cases)
        # A case that kills the server also costs what could not run after it.
        and any(case.blocks == lacking for case in (*cause.group.cases, *cause.group.waiting))
    )
    return ", ".join(
        f"{harm_words(report, harm)} ({counts[harm]})" for harm in HARMS if counts[harm]
    )


def harm_words(report: Report, harm: Harm | None) -> str:
    """Return what the user of the server, or of the client, loses; "" for nothing."""
    words = losses(client=report.target.client is not None)
    return words[harm] if harm is not None else ""


def lost_by(report: Report, requirement: str) -> str:
    """Return what a user loses if this requirement does not hold, as this catalogue says it; "" for
    nothing, or for a requirement that it does not have.
    """
    known = catalogue().get(requirement)
    return harm_words(report, known.harm if known is not None else None)


def lost(report: Report) -> str:
    """Return what a user loses, as `harms` does; "" for a report without a verdict."""
    return harms(report, shown_causes(report)) if is_decided(report) else ""


def must_failing(report: Report, causes: Sequence[ShownCause]) -> list[str]:
    """Return the failed MUST requirements, those named as causes first; without one that only
    repeats the failure of another."""
    elsewhere = caused_elsewhere(report.cases)
    repeating = {case.requirement for case in report.cases if case.id in elsewhere}
    failing = [
        row.id
        for row in report.requirements
        if _is_failing_must(row.level, row.outcome) and row.id not in repeating
    ]
    named = dict.fromkeys(cause.group.requirement for cause in causes)
    return [*(name for name in named if name in failing), *(n for n in failing if n not in named)]


def must_words(report: Report, causes: Sequence[ShownCause]) -> str:
    """Return the MUST requirements that fail, in words such as "6 of 96 MUST fail: P9, H6 …".

    If some of them block *conformant* and others *robust*, they are told apart.
    """
    if report.verdict.standing == OUTDATED:
        return "nothing that it says was confirmed"
    if not report.verdict.implemented:
        left_out = sum(isinstance(case.cause, ExtensionLeftOut) for case in report.cases)
        return f"{counted(left_out, 'other case')} not sent" if left_out else "all cases were sent"
    musts = [row for row in report.requirements if row.level == "MUST" and row.cases]
    tested = [row for row in musts if row.outcome is not Outcome.UNSUPPORTED]
    if not tested:
        return "no MUST was tested"
    failing = must_failing(report, causes)
    open_ones = [row.id for row in tested if row.outcome in (Outcome.INCONCLUSIVE, Outcome.NOT_RUN)]
    parts = []
    if failing:
        fail = "fails" if len(failing) == 1 else "fail"
        parts.append(f"{len(failing)} of {len(tested)} MUST {fail}: {_by_blocks(report, failing)}")
    if open_ones:
        of = "" if failing else f" of {len(tested)} MUST"
        parts.append(f"{len(open_ones)}{of} not shown: {listed(open_ones)}")
    all_hold = "the only MUST holds" if len(tested) == 1 else f"all {len(tested)} MUST hold"
    wrong = {} if report.soak is None else report.soak.wrong
    if any(case.level == "MUST" and case.id in wrong for case in report.cases):
        all_hold += ", but not under load"
    return "; ".join(parts) or all_hold


def _by_blocks(report: Report, failing: Sequence[str]) -> str:
    blocked = {row.id: row.blocks for row in report.requirements}
    groups = [(blocks, [id for id in failing if blocked[id] == blocks]) for blocks in BLOCKS]
    if not all(ids for _, ids in groups):
        return listed(failing)
    return ", ".join(
        f"{len(ids)} {'blocks' if len(ids) == 1 else 'block'} {blocks} ({listed(ids)})"
        for blocks, ids in groups
    )


def listed(ids: Iterable[str]) -> str:
    """Return some of these ids, with "…" for the rest."""
    names = [short(name, _NAME) for name in ids]
    return ", ".join(names[:_IDS]) + (" …" if len(names) > _IDS else "")


def _is_failing_must(level: str, outcome: Outcome) -> bool:
    return level == "MUST" and outcome in FAILED
