"""The command `expect`: a report judged by an expectation file, or the file made of a report."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import yaml

from v2_conformance.cli.run import beside_expectations
from v2_conformance.report.expectations import (
    UNWRITTEN,
    Expectation,
    Expectations,
    judge_expectations,
    load_expectations,
)
from v2_conformance.report.recorder import load_report, write_atomically
from v2_conformance.suite.library import suite_cases
from v2_conformance.terminal_safe_text import finding, normalised, plain

_STANDARD_OUTPUT = Path("-")
_NEVER = date.min  # before every expiry: whether an entry still holds is another question
_LONGEST = 100
# Failures as the suite words them, to what stays the same of each from run to run and from case to
# case; without a pattern of its own, what matched. What a server says of itself is left out: it is
# free to say it in other words tomorrow.
_KINDS = (
    (re.compile(r"did not survive"), ""),
    (re.compile(r"needs what .* killed"), "needs what * killed"),
    (re.compile(r"an error status wanted, but the server accepted it with \d+"), ""),
    (re.compile(r"status 200 wanted, \d+ came"), ""),
    (re.compile(r"rejected with status \d+, but the body is not"), ""),
    (re.compile(r": element \d+ of \d+.* is .*, wanted "), ": element * is *, wanted "),
    (re.compile(r"BYTES: element \d+ of \d+.* has .*, wanted "), "BYTES: element * has *, wanted "),
)
_HEADER = """\
# Known failures of {server}.
#
# A reason is for a human to write: replace each that begins with TODO by why the server fails, and
# add a `link` to where that is tracked and the day on which it `expires`, where there are such.
"""


def expect_command(options: argparse.Namespace) -> int:
    """Judge the report by the file, or (--write) bring the file up to date; the exit code."""
    report = load_report(options.report)
    if options.write:
        _write(report, options.file)
        return 0
    cases = suite_cases(large=True)
    today = datetime.now(timezone.utc).date()
    known = load_expectations(options.file)
    return beside_expectations(report, known, cases, today, strict=options.strict)


def _write(report: Mapping[str, Any], file: Path) -> None:
    printed = file == _STANDARD_OUTPUT
    old = load_expectations(file) if not printed and file.exists() else Expectations(str(file))
    known = {case.id: case.requirement for case in suite_cases(large=True)}
    update = updated(old, report["cases"], known)
    server = report["target"]["server"]
    header = _HEADER.format(server=plain(f"{server['name']} {server['version']}"))
    if old.entries:
        header = _comments(file.read_text(encoding="utf-8"))
    text = header + as_yaml((*update.kept, *update.added))
    if printed:
        sys.stdout.write(text)
        return
    write_atomically(file, text)
    print(
        f"{file}: {len(update.kept)} entries kept, {len(update.added)} added, "
        f"{len(update.dropped)} dropped"
    )
    for entry, why in update.dropped:
        print(plain(f"dropped {entry.what} ({entry.reason}): {why}"))


@dataclass(frozen=True)
class Update:
    """What becomes of an expectation file: `dropped` entries do not hold, each with why."""

    kept: tuple[Expectation, ...]
    added: tuple[Expectation, ...]
    dropped: tuple[tuple[Expectation, str], ...]


def updated(
    old: Expectations, cases: Sequence[Mapping[str, Any]], known: Mapping[str, str]
) -> Update:
    """Entries for every failing MUST and SHOULD among `cases` (as in report.json).

    Entries of `old` that hold stay as they are; of the others, whatever still fails as it did
    keeps its reason. `known` maps the id of every case of the suite to its requirement.
    """
    kept, dropped = old, []
    while True:
        problems = judge_expectations(kept, cases, known, _NEVER).problems
        if not problems:
            break
        why = {problem.entry: problem.text for problem in reversed(problems)}
        dropped += [(entry, why[entry]) for entry in kept.entries if entry in why]
        kept = replace(kept, entries=tuple(e for e in kept.entries if e not in why))
    missing = [
        (case, _entry(case, old))
        for case in cases
        if case["outcome"] in ("fail", "inconclusive", "not_run")
        and case["level"] in ("MUST", "SHOULD")
        and kept.excuse(case, _NEVER) is None
    ]
    return Update(kept.entries, tuple(_grouped(missing, cases, known)), tuple(dropped))


def _entry(case: Mapping[str, Any], old: Expectations) -> Expectation:
    """The entry for one case, with what `old` says of it."""
    message = essence(case["message"])
    entry = Expectation(0, "", case["id"], case["outcome"], message, "", "", None)
    before = old.entry_for(case["requirement"], case["id"])
    if before is not None and not before.difference(case):
        return replace(before, line=0, requirement="", case=case["id"])
    was = f" (before, for another failure: {before.reason})" if before else ""
    shown = plain(finding(case["message"]))[: _LONGEST * 2]
    return replace(entry, reason=f"{UNWRITTEN}: {shown}{was}")


def essence(message: str) -> str:
    """What a failure of the same kind has in its message, as a pattern for `message`."""
    text = plain(normalised(message))
    for pattern, words in _KINDS:
        found = pattern.search(text)
        if found:
            return words or found.group()
    return finding(text)[:_LONGEST].strip()


def _grouped(
    missing: Sequence[tuple[Mapping[str, Any], Expectation]],
    cases: Iterable[Mapping[str, Any]],
    known: Mapping[str, str],
) -> Iterator[Expectation]:
    """One entry for all cases of a slug where they fail alike, else one for each."""
    groups: dict[str, list[Expectation]] = {}
    for _, entry in missing:
        groups.setdefault(_slug(entry.case), []).append(entry)
    here = {case["id"] for case in cases if case["outcome"] != "unsupported"}
    ran = {case["id"] for case in cases}
    for slug, entries in groups.items():
        every = {case_id for case_id in known.keys() | ran if _slug(case_id) == slug}
        failing = {entry.case for entry in entries}
        alike = len({_kind(entry) for entry in entries}) == 1
        if len(failing) > 1 and alike and every <= ran and every & here == failing:
            yield replace(entries[0], case=f"{slug}[*]")
        else:
            yield from entries


def _slug(case_id: str) -> str:
    return case_id.partition("[")[0]


def _kind(entry: Expectation) -> tuple[object, ...]:
    reason = "" if entry.reason.startswith(UNWRITTEN) else entry.reason
    return entry.outcome, entry.message, reason, entry.link, entry.expires


def as_yaml(entries: Sequence[Expectation]) -> str:
    """The entries as an expectation file has them."""
    if not entries:
        return "expected: []\n"
    items = (yaml.safe_dump([_members(e)], sort_keys=False, width=100) for e in entries)
    return "expected:\n" + "\n".join(items)


def _members(entry: Expectation) -> dict[str, str]:
    members = {
        "requirement": entry.requirement,
        "case": entry.case,
        "outcome": "" if entry.outcome == "fail" else entry.outcome,
        "message": entry.message,
        "reason": entry.reason,
        "link": entry.link,
        "expires": str(entry.expires or ""),
    }
    return {name: value for name, value in members.items() if value}


def _comments(text: str) -> str:
    """The lines above the entries, which people wrote for people."""
    lines = text.splitlines(keepends=True)
    return "".join(lines[: next((i for i, x in enumerate(lines) if x[:1] not in "#\n"), 0)])
