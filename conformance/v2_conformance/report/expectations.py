"""Known failures: the entries of an expectation file, and what came of a run beside them. Pure,
but for reading the file.

An expected failure stays a failure, in the report and in the verdict. It only keeps CI green, and
only as long as it is exactly what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from v2_conformance.errors import ExpectFileError
from v2_conformance.terminal_safe_text import matches, normalised, plain
from v2_conformance.yaml_files import check_yaml, read_yaml

# What a report calls an outcome that needs no excuse; `unsupported` is not tried at all.
HARMLESS = ("pass", "disputed", "unsupported")
_UNTRIED = "unsupported"
UNWRITTEN = "TODO"  # how a reason begins that nobody wrote yet


@dataclass(frozen=True)
class Expectation:
    """One entry. Either `requirement` or `case`, a pattern of ids, is not empty.

    `outcome` is what it expects, `message` what has to be in the failure's message ("" for
    anything), `expires` the last day on which it holds.
    """

    line: int
    requirement: str
    case: str
    outcome: str
    message: str
    reason: str
    link: str
    expires: date | None

    @property
    def what(self) -> str:
        """The requirement or the pattern."""
        return self.requirement or self.case

    def covers(self, requirement: str, case_id: str) -> bool:
        """Whether it means the case."""
        if self.requirement:
            return self.requirement == requirement
        return matches(case_id, self.case)

    def difference(self, case: Mapping[str, Any]) -> str:
        """How a case of report.json failed or passed other than expected; "" for as expected."""
        if case["outcome"] != self.outcome:
            return f"expected {self.outcome}, came {case['outcome']}"
        if self.message and not _pattern(self.message).search(_comparable(case["message"])):
            return f"fails differently: {case['message'][:160]}"
        return ""

    def expired(self, today: date) -> bool:
        """Whether its last day is over."""
        return self.expires is not None and today > self.expires


@cache
def _pattern(message: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, _comparable(message).split("*"))))


def _comparable(message: str) -> str:
    # As messages are shown, so that one copied from a terminal or written by `expect` is found.
    return plain(normalised(message))


@dataclass(frozen=True)
class Problem:
    """An entry that does not hold, and why."""

    entry: Expectation
    text: str


@dataclass(frozen=True)
class Judgement:
    """A run beside its expectations.

    `expected` are the ids of cases that failed as expected, `unexpected` the cases of report.json
    that count, failed, and are in no entry; `tolerated` those that do not count. `untried` are
    entries none of whose cases was selected and claimed.
    """

    entries: tuple[Expectation, ...]
    expected: tuple[str, ...]
    unexpected: tuple[Mapping[str, Any], ...]
    tolerated: tuple[Mapping[str, Any], ...]
    problems: tuple[Problem, ...]
    untried: tuple[Expectation, ...]

    @property
    def good(self) -> bool:
        """Whether everything came as expected."""
        return not self.problems and not self.unexpected


@dataclass(frozen=True)
class Expectations:
    """The entries of the file `name`, in its order: the first that means a case counts for it."""

    name: str
    entries: tuple[Expectation, ...] = field(default=())

    def entry_for(self, requirement: str, case_id: str) -> Expectation | None:
        """The entry that counts for a case."""
        return next((e for e in self.entries if e.covers(requirement, case_id)), None)

    def excuse(self, case: Mapping[str, Any], today: date) -> Expectation | None:
        """The entry that a case of report.json fails as expected by, None for any other case."""
        entry = self.entry_for(case["requirement"], case["id"])
        if entry is None or entry.expired(today) or entry.difference(case):
            return None
        return entry

    def complaint(self, case: Mapping[str, Any]) -> str:
        """What is wrong with one case alone: it is expected to fail, and does not, or does
        otherwise. "" for every other case, and where only all cases of an entry can tell."""
        entry = self.entry_for(case["requirement"], case["id"])
        if entry is None or case["outcome"] == _UNTRIED:
            return ""
        if entry.requirement and case["outcome"] in HARMLESS:
            return ""
        return entry.difference(case)

    def noted(self, case: Mapping[str, Any], today: date) -> Mapping[str, Any]:
        """A case of report.json, with `expected` where it fails as expected."""
        entry = self.excuse(case, today)
        if entry is None:
            return case
        link = {"link": entry.link} if entry.link else {}
        return {**case, "expected": {"reason": entry.reason, **link}}


def load_expectations(path: Path) -> Expectations:
    """Read an expectation file. Raises ExpectFileError with its line for whatever is wrong."""
    file = read_yaml(path, ExpectFileError)
    check_yaml(file, "expect", ExpectFileError)
    entries = []
    for index, entry in enumerate(file.document["expected"] or ()):
        line = file.line(("expected", index))
        try:
            expires = date.fromisoformat(entry["expires"]) if "expires" in entry else None
        except ValueError as error:
            place = file.line(("expected", index, "expires"))
            raise ExpectFileError(f"{file.name}:{place}: expires: {error}") from error
        entries.append(
            Expectation(
                line,
                entry.get("requirement", ""),
                entry.get("case", ""),
                entry.get("outcome", "fail"),
                entry.get("message", ""),
                " ".join(entry["reason"].split()),
                entry.get("link", ""),
                expires,
            )
        )
    return Expectations(file.name, tuple(entries))


def counts(case: Mapping[str, Any], *, strict: bool) -> bool:
    """Whether a failure of this case changes the exit code of `run`."""
    if case["level"] == "MUST":
        return strict or case["basis"] != "derived"
    return strict and case["level"] == "SHOULD"


def judge_expectations(
    expectations: Expectations,
    cases: Sequence[Mapping[str, Any]],
    known: Mapping[str, str],
    today: date,
    *,
    strict: bool = False,
) -> Judgement:
    """What came (`cases` as in report.json) beside what was expected.

    `known` maps the id of every case of the suite to its requirement: an entry whose cases were
    not selected is not an entry that matches nothing.
    """
    known = {**known, **{case["id"]: case["requirement"] for case in cases}}
    belongs = {i: expectations.entry_for(requirement, i) for i, requirement in known.items()}
    problems: list[Problem] = []
    untried: list[Expectation] = []
    for entry in expectations.entries:
        own = {case_id for case_id, chosen in belongs.items() if chosen is entry}
        found = _problems(entry, own, known, cases, today)
        if found is None:
            untried.append(entry)
        else:
            problems += [Problem(entry, text) for text in found]
    bad = [case for case in cases if case["outcome"] not in HARMLESS]
    uncovered = [case for case in bad if belongs[case["id"]] is None]
    return Judgement(
        expectations.entries,
        tuple(case["id"] for case in bad if expectations.excuse(case, today)),
        tuple(case for case in uncovered if counts(case, strict=strict)),
        tuple(case for case in uncovered if _warns(case, strict=strict)),
        tuple(problems),
        tuple(untried),
    )


def _warns(case: Mapping[str, Any], *, strict: bool) -> bool:
    return counts(case, strict=True) and not counts(case, strict=strict)


def _problems(
    entry: Expectation,
    own: set[str],
    known: Mapping[str, str],
    cases: Iterable[Mapping[str, Any]],
    today: date,
) -> list[str] | None:
    """What is wrong with an entry whose cases are `own`; None where nothing of it was tried."""
    tried = [case for case in cases if case["id"] in own and case["outcome"] != _UNTRIED]
    failing = [case for case in tried if case["outcome"] not in HARMLESS]
    if entry.expired(today):
        rest = f"; {len(failing)} of its cases did not pass" if failing else ""
        return [f"expired on {entry.expires}{rest}"]
    if not own:
        if any(entry.covers(requirement, case_id) for case_id, requirement in known.items()):
            return ["means only cases that entries above it have already"]
        return ["matches no case of the suite"]
    if not tried:
        return None
    if entry.case:
        failing = tried  # every case of a pattern has to fail
    elif not failing:
        every = own <= {case["id"] for case in tried} | _skipped(cases)
        return ["no case of this requirement fails any more"] if every else None
    differences = [(case["id"], entry.difference(case)) for case in failing]
    return [f"{case_id}: {text}" for case_id, text in differences if text]


def _skipped(cases: Iterable[Mapping[str, Any]]) -> set[str]:
    return {case["id"] for case in cases if case["outcome"] == _UNTRIED}
