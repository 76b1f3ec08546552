"""Updates an expectation file from a report: which entries stay, which are new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import yaml

from v2_conformance.report.cause_patterns import lasting, pattern_of
from v2_conformance.report.document import CaseResult
from v2_conformance.report.expectations import (
    UNWRITTEN,
    Expectation,
    Expectations,
    judge_expectations,
)
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.kinds import ExtensionLeftOut
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.terminal_safe_text import plain

_NEVER = date.min  # before every expiry date: here it does not matter whether an entry has expired
_LONGEST = 200
_MANY = 3
_EXPECTABLE = (Outcome.FAIL, Outcome.FLAKY, Outcome.INCONCLUSIVE, Outcome.NOT_RUN)

_HEADER = """\
# Known failures of {server}.
#
# Replace each reason that begins with TODO with why the server fails. If you track the failure
# somewhere, add a `link` to it. If it must be fixed by a certain day, add that day as `expires`.
"""


@dataclass(frozen=True)
class Update:
    """Update of an expectation file: `dropped` entries do not hold, each with its reason."""

    kept: tuple[Expectation, ...]
    added: tuple[Expectation, ...]
    dropped: tuple[tuple[Expectation, str], ...]


def updated(old: Expectations, cases: Sequence[CaseResult], known: Mapping[str, str]) -> Update:
    """Return entries for every MUST and SHOULD case that fails: those of `old` that hold, and new
    ones, with the old reason for what fails as it did. `known` maps ids to requirements."""
    current, dropped = old, []
    while True:
        judged = judge_expectations(current, cases, known, _NEVER, Gate())
        why = dict(reversed(judged.problems))
        why |= dict.fromkeys(judged.retired, "matches none of the suite's cases")
        if not why:
            break
        dropped += [(entry, why[entry]) for entry in current.entries if entry in why]
        current = replace(current, entries=tuple(e for e in current.entries if e not in why))
    missing = [
        _entry(case, old)
        for case in cases
        if case.outcome in _EXPECTABLE
        and case.level in ("MUST", "SHOULD")
        and not isinstance(case.cause, ExtensionLeftOut)
        and current.excuse(case, _NEVER) is None
    ]
    return Update(current.entries, tuple(_grouped(missing, cases, known)), tuple(dropped))


def file_text(server: str, update: Update, before: str = "", seed: int | None = None) -> str:
    """Return the text of the file after `update`, for a run with this `seed`. It begins with the
    comments above the first entry of the old text, `before`, or with one for a new file."""
    lines = before.splitlines(keepends=True)
    first = next((n for n, line in enumerate(lines) if line[:1] not in "#\n"), len(lines))
    header = "".join(lines[:first]) if before else _HEADER.format(server=plain(server))
    drawn = "" if seed is None else f"seed: {seed}\n"
    return header + drawn + as_yaml((*update.kept, *update.added))


def as_yaml(entries: Sequence[Expectation]) -> str:
    """The entries as an expectation file has them."""
    if not entries:
        return "expected: []\n"
    items = (yaml.safe_dump([_members(e)], sort_keys=False, width=100) for e in entries)
    return "expected:\n" + "\n".join(items)


def _entry(case: CaseResult, old: Expectations) -> Expectation:
    before = old.entry_for(case.requirement, case.id, case)
    if before is not None and not before.mismatch(case):
        return replace(before, line=0, requirements=(), case=case.id)
    text = plain(lasting(describe(case.cause)))
    was = f" (before, for another failure: {before.reason})" if before else ""
    return Expectation(
        case=case.id,
        outcome=case.outcome,
        cause=None if case.cause is None else pattern_of(case.cause),
        reason=f"{UNWRITTEN}: {text[:_LONGEST]}{'…' * (len(text) > _LONGEST)}{was}",
    )


def _grouped(
    missing: Sequence[Expectation], cases: Sequence[CaseResult], known: Mapping[str, str]
) -> Iterator[Expectation]:
    """Yield an entry for all that fail alike if they are of many slugs, else `_of_slugs`."""
    requirement = {case.id: case.requirement for case in cases}
    groups: dict[object, list[Expectation]] = {}
    for entry in missing:
        groups.setdefault(_kind(entry), []).append(entry)
    single: list[Expectation] = []
    for entries in groups.values():
        names = tuple(dict.fromkeys(requirement[entry.case] for entry in entries))
        slugs = {_slug(entry.case) for entry in entries}
        if len(slugs) > _MANY and len(names) > 1 and entries[0].cause is not None:
            yield replace(entries[0], requirements=names, case="")
        else:
            single += entries
    yield from _of_slugs([one for one in missing if one in single], cases, known)


def _of_slugs(
    missing: Sequence[Expectation], cases: Iterable[CaseResult], known: Mapping[str, str]
) -> Iterator[Expectation]:
    groups: dict[str, list[Expectation]] = {}
    for entry in missing:
        groups.setdefault(_slug(entry.case), []).append(entry)
    here = {case.id for case in cases if case.outcome is not Outcome.UNSUPPORTED}
    ran = {case.id for case in cases}
    for slug, entries in groups.items():
        every = {case_id for case_id in known.keys() | ran if _slug(case_id) == slug}
        failing = {entry.case for entry in entries}
        alike = len({_kind(entry) for entry in entries}) == 1
        if len(failing) > 1 and alike and every <= ran and every & here == failing:
            yield replace(entries[0], case=slug)
        else:
            yield from entries


def _slug(case_id: str) -> str:
    """Return the id with `*` for its labels, of which several cases differ in nothing else."""
    entry, bracket, rest = case_id.partition("[")
    return f"{entry}[*]{rest.rpartition(']')[2]}" if bracket else case_id


def _kind(entry: Expectation) -> tuple[object, ...]:
    reason = "" if entry.reason.startswith(UNWRITTEN) else entry.reason
    return entry.outcome, entry.cause, reason, entry.link, entry.expires, entry.flaky


def _members(entry: Expectation) -> dict[str, Any]:
    members = {
        "requirement": list(entry.requirements) if entry.by_cause else "".join(entry.requirements),
        "case": entry.case,
        "outcome": "" if entry.outcome is Outcome.FAIL else entry.outcome.value,
        "cause": entry.cause and entry.cause.document,
        "reason": entry.reason,
        "link": entry.link,
        "expires": str(entry.expires or ""),
        "flaky": entry.flaky,
    }
    return {name: value for name, value in members.items() if value}
