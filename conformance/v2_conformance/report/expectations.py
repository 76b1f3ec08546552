"""Known failures: the entries of an expectation file, compared with a run. Pure, except for reading
the file.

An expected failure stays a failure, in the report and in the verdict. It only keeps CI green, and
only as long as it is exactly what was expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from v2_conformance.errors import UsageError
from v2_conformance.report.cause_patterns import CausePattern, PatternError, read_pattern
from v2_conformance.report.document import CaseResult, ExpectedFailure
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.kinds import ExtensionLeftOut
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.terminal_safe_text import matches
from v2_conformance.yaml_files import YamlFile, check_yaml, read_yaml

UNWRITTEN = "TODO"  # start of a reason that is still to be written
_SHOWN = 160
_SHAKY = (Outcome.FLAKY, Outcome.INCONCLUSIVE)


@dataclass(frozen=True)
class Expectation:
    """One entry. Exactly one of `requirements` and `case`, a pattern of ids, is not empty. An entry
    with several requirements is about all of their cases that fail for its `cause`, and no others.

    `outcome` is the expected one, `cause` what the cause must be (None for anything), `expires` the
    last day on which the entry holds, `line` its line in the file, from 1. The cases of a `flaky`
    entry may pass as well.
    """

    line: int = 0
    requirements: tuple[str, ...] = ()
    case: str = ""
    outcome: Outcome = Outcome.FAIL
    cause: CausePattern | None = None
    reason: str = ""
    link: str = ""
    expires: date | None = None
    flaky: bool = False

    @property
    def what(self) -> str:
        """The requirements or the pattern."""
        return ", ".join(self.requirements) or self.case

    @property
    def by_cause(self) -> bool:
        """True if it covers what fails for its cause, and leaves the rest to other entries."""
        return len(self.requirements) > 1

    def covers(self, requirement: str, case_id: str) -> bool:
        """Return True if it matches the case."""
        if self.requirements:
            return requirement in self.requirements
        return matches(case_id, self.case)

    def mismatch(self, case: CaseResult) -> str:
        """Return how a case failed or passed differently than expected; "" if as expected."""
        if self.flaky and (case.outcome.harmless or case.outcome in _SHAKY):
            return ""
        if case.outcome is not self.outcome and not (self.flaky and case.outcome is Outcome.FAIL):
            return f"expected {self.outcome}, got {case.outcome}"
        if self.cause is not None and not self.cause.matches(case.cause):
            return f"fails for another reason than {self.cause}: {describe(case.cause)[:_SHOWN]}"
        return ""

    def expired(self, today: date) -> bool:
        """Return True if its last day is over."""
        return self.expires is not None and today > self.expires


@dataclass(frozen=True)
class Judgment:
    """A run compared with its expectations.

    `expected` are the ids of cases that failed as expected. `unexpected` are the failures that no
    entry covers and that count. `problems` are entries that do not hold, each with the reason.
    `untried` are the entries none of whose cases was selected and claimed, `retired` those that
    match none of the suite's cases.
    """

    entries: tuple[Expectation, ...]
    expected: tuple[str, ...]
    unexpected: tuple[CaseResult, ...]
    problems: tuple[tuple[Expectation, str], ...]
    untried: tuple[Expectation, ...]
    retired: tuple[Expectation, ...]

    @property
    def good(self) -> bool:
        """True if every result is as expected."""
        return not self.problems and not self.unexpected


@dataclass(frozen=True)
class Expectations:
    """The entries of a file, of which the first that covers a case counts; their run's `seed`."""

    name: str
    entries: tuple[Expectation, ...] = field(default=())
    seed: int | None = None

    def entry_for(
        self, requirement: str, case_id: str, case: CaseResult | None = None
    ) -> Expectation | None:
        """The entry that counts for a case, whose result is `case` if it was tried."""
        for entry in self.entries:
            if entry.covers(requirement, case_id) and not (
                entry.by_cause and (case is None or entry.mismatch(case))
            ):
                return entry
        return None

    def excuse(self, case: CaseResult, today: date) -> Expectation | None:
        """Return the entry that expects a case's failure, None for any other case."""
        entry = self.entry_for(case.requirement, case.id, case)
        if entry is None or case.outcome.harmless:
            return None
        return None if entry.expired(today) or entry.mismatch(case) else entry

    def complaint(self, case: CaseResult) -> str:
        """Return how a case breaks its entry; "" if not, or if only all its cases can tell."""
        entry = self.entry_for(case.requirement, case.id, case)
        if entry is None or case.outcome is Outcome.UNSUPPORTED:
            return ""
        return "" if entry.requirements and case.outcome.harmless else entry.mismatch(case)

    def noted(self, case: CaseResult, today: date) -> CaseResult:
        """The case, with `expected` if it fails as expected."""
        entry = self.excuse(case, today)
        if entry is None:
            return case
        expected = ExpectedFailure(entry.reason, entry.link or None)
        return msgspec.structs.replace(case, expected=expected)


def load_expectations(path: Path) -> Expectations:
    """Read an expectation file. Raises UsageError, with the line, for any mistake."""
    if not path.exists():
        raise UsageError(f"cannot read {path}: `expect --write REPORT {path}` makes such a file")
    file = read_yaml(path, UsageError)
    check_yaml(file, "expect", UsageError)
    entries = file.document["expected"] or ()
    return Expectations(
        file.name,
        tuple(_entry(file, index, entry) for index, entry in enumerate(entries)),
        file.document.get("seed"),
    )


def _entry(file: YamlFile, index: int, entry: Mapping[str, Any]) -> Expectation:
    at = ("expected", index)
    try:
        expires = date.fromisoformat(entry["expires"]) if "expires" in entry else None
    except ValueError as error:
        line = file.line((*at, "expires"))
        raise UsageError(f"{file.name}:{line}: expires: {error}") from error
    try:
        cause = read_pattern(entry["cause"]) if "cause" in entry else None
    except PatternError as error:
        line = file.line((*at, "cause", *error.place))
        member = ".".join(map(str, ("cause", *error.place)))
        raise UsageError(f"{file.name}:{line}: {member}: {error}") from error
    named = entry.get("requirement", [])
    return Expectation(
        line=file.line(at),
        requirements=(named,) if isinstance(named, str) else tuple(named),
        case=entry.get("case", ""),
        outcome=Outcome(entry.get("outcome", "fail")),
        cause=cause,
        reason=" ".join(entry["reason"].split()),
        link=entry.get("link", ""),
        expires=expires,
        flaky=entry.get("flaky", False),
    )


def judge_expectations(
    expectations: Expectations,
    cases: Sequence[CaseResult],
    known: Mapping[str, str],
    today: date,
    gate: Gate,
) -> Judgment:
    """Compare the cases of a run with what was expected of them.

    `known` maps the id of every case of the suite to its requirement: an entry whose cases were not
    selected still matches something. Cases that were not sent because the server leaves the
    extension out are as if not selected. What keeps the `gate` shut needs an entry.
    """
    cases = [case for case in cases if not isinstance(case.cause, ExtensionLeftOut)]
    known = {**known, **{case.id: case.requirement for case in cases}}
    results = {case.id: case for case in cases}
    belongs = {
        i: expectations.entry_for(requirement, i, results.get(i))
        for i, requirement in known.items()
    }
    problems: list[tuple[Expectation, str]] = []
    untried: list[Expectation] = []
    retired: list[Expectation] = []
    for entry in expectations.entries:
        about = {i for i, requirement in known.items() if entry.covers(requirement, i)}
        own = {case_id for case_id, chosen in belongs.items() if chosen is entry}
        texts = _problems(entry, about, own, results, today) if about else None
        problems += [(entry, text) for text in texts or ()]
        if texts is None:
            (untried if about else retired).append(entry)
    bad = [case for case in cases if not case.outcome.harmless]
    return Judgment(
        entries=expectations.entries,
        expected=tuple(case.id for case in bad if expectations.excuse(case, today)),
        unexpected=tuple(case for case in bad if belongs[case.id] is None and gate.counts(case)),
        problems=tuple(problems),
        untried=tuple(untried),
        retired=tuple(retired),
    )


def _problems(
    entry: Expectation,
    about: set[str],
    own: set[str],
    results: Mapping[str, CaseResult],
    today: date,
) -> list[str] | None:
    """Return what is wrong with an entry for `about` that counts for `own`; None if untried."""
    ran = (results[case_id] for case_id in results if case_id in own)
    tried = [case for case in ran if case.outcome is not Outcome.UNSUPPORTED]
    failing = [case for case in tried if not case.outcome.harmless]
    if entry.expired(today):
        rest = f"; {len(failing)} of its cases did not pass" if failing else ""
        return [f"expired on {entry.expires}{rest}"]
    if not own and entry.by_cause:
        text = f"no case of these requirements fails for the cause {entry.cause} any more"
        return [text] if about <= results.keys() else None
    if not own:
        return ["matches only cases that entries above it already match"]
    if not tried:
        return None
    if entry.case:
        failing = tried  # every case that a pattern matches must fail
    elif not failing and not entry.flaky:  # that none of them fails today proves nothing then
        every = own <= results.keys()
        return ["no case of this requirement fails any more"] if every else None
    mismatches = [(case.id, entry.mismatch(case)) for case in failing]
    return [f"{case_id}: {text}" for case_id, text in mismatches if text]
