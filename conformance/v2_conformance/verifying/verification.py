"""`v2-conformance verify REPORT`: does a report's verdict hold, judged again from its own bytes?"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from v2_conformance import __version__
from v2_conformance.errors import UsageError
from v2_conformance.report.digest import is_intact
from v2_conformance.report.recorder import concluded, is_record, load_report
from v2_conformance.report.summary import verdict_words
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.requirements import digest
from v2_conformance.terminal_safe_text import wrapped
from v2_conformance.verifying.rejudge import Rejudged, rejudge, setting

_ROW = ("id", "level", "basis", "outcome", "cases")
_SHOWN = 20
_LONGEST = 300


@dataclass(frozen=True)
class Verification:
    """What became of judging a report again.

    `edits` are what cannot be true of an untouched report whatever its cases show. `verdict` is the
    one that the cases amount to now. `foreign` says whether another suite made the report,
    `derived` whether its verdict could be derived with this one's requirements, and `unsealed`
    whether it is the record of a run, which has no digest.
    """

    report: Mapping[str, Any]
    cases: tuple[Rejudged, ...]
    edits: tuple[str, ...]
    verdict: Mapping[str, Any]
    foreign: bool
    derived: bool
    unsealed: bool

    @property
    def exit_code(self) -> int:
        """0 it holds, 1 it does not, 2 it cannot be confirmed here."""
        if self.edits or any(case.problem for case in self.cases):
            return 1
        return 0 if self.derived and not any(case.unjudged for case in self.cases) else 2


def verify_command(options: argparse.Namespace) -> int:
    """Verify one report and print what was found; the exit code."""
    path: Path = options.report
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name the report.json in it")
    found = verify(path, suite_cases(large=True))
    for line in lines(path, found):
        print(line)
    return found.exit_code


def verify(path: Path, cases: Sequence[Case]) -> Verification:
    """Judge a report.json, or the record of a run, again; `cases` are all of this installation.

    Raises ReportFileError for whatever is neither.
    """
    report = load_report(path)
    suite = report["suite"]
    foreign = (suite["version"], suite["catalogue"]) != (__version__, digest())
    known = setting(report, cases, same_suite=not foreign)
    judged = tuple(rejudge(record, known) for record in report["cases"])
    outcomes = [
        {**record, "outcome": case.outcome}
        for record, case in zip(report["cases"], judged, strict=True)
    ]
    again = concluded({**report, "planned": report.get("planned", {}), "cases": outcomes})
    edits = []
    unsealed = is_record(path)
    if not unsealed and not is_intact(report):
        edits.append("the report was edited: its digest is not that of its content")
    derived = True
    if foreign:
        derived = _core(report) == _core(again)
    else:
        edits += _edits(report, again, cases)
    return Verification(report, judged, tuple(edits), again["verdict"], foreign, derived, unsealed)


def _edits(
    report: Mapping[str, Any], again: Mapping[str, Any], cases: Sequence[Case]
) -> Iterator[str]:
    """What in a report of this very suite does not follow from its cases."""
    planned = report.get("planned", {})
    whole = Counter(case.requirement for case in cases if not case.large)
    fewer = [name for name, count in whole.items() if planned.get(name, 0) < count]
    if fewer:
        yield f"fewer cases are said to be planned than there are, of {' '.join(fewer)}"
    stated, follows = ({row["id"]: row for row in r["requirements"]} for r in (report, again))
    names = dict.fromkeys((*stated, *follows))
    other = [name for name in names if stated.get(name) != follows.get(name)]
    if other:
        yield f"the rows of these requirements do not follow from the cases: {' '.join(other)}"
    if report["verdict"] != again["verdict"]:
        yield "the verdict with its reasons and warnings does not follow from the cases"


def _core(report: Mapping[str, Any]) -> tuple[object, ...]:
    """What a verdict amounts to, without words that change from version to version."""
    verdict = report["verdict"]
    rows = [[row[key] for key in _ROW] for row in report["requirements"]]
    return verdict["conformant"], verdict["robust"], rows


def lines(path: Path, found: Verification) -> list[str]:
    """What a person reads, no line over 80 columns; a report's own words are printable ASCII."""
    report, suite = found.report, found.report["suite"]
    said = wrapped(
        f"{path.name}: {report['target']['url']}, {report['started']}, made by v2-conformance "
        f"{suite['version']}, catalogue {suite['catalogue']}"[:_LONGEST],
        "  ",
    )
    if found.foreign:
        said += wrapped(
            f"another suite made it: here are v2-conformance {__version__}, catalogue {digest()}; "
            "cases that send and expect the same are judged again",
            "  ",
        )
    if not report["complete"]:
        said.append("the run is incomplete: it was stopped before its last case")
    if found.unsealed:
        said.append("a record has no digest: a change that no judgement touches is not seen")
    said += _counts(found)
    said += _beliefs(found.cases)
    said += _named("not judged again", [(c.id, c.unjudged) for c in found.cases if c.unjudged])
    words = [(c.id, c.other_words) for c in found.cases if c.other_words]
    said += _named("same outcome in other words", words)
    for case in found.cases:
        if case.problem:
            text = f"DIFFERS {case.id}: recorded as {case.recorded}; {case.problem}"
            said += wrapped(text[:_LONGEST], "        ")
    for edit in found.edits:
        said += wrapped(f"EDITED  {edit}", "        ")
    return [*said, "", *wrapped(_conclusion(found), "  ")]


def _counts(found: Verification) -> list[str]:
    sent = [bool(record["exchanges"]) for record in found.report["cases"]]
    judged = [not case.unjudged for case in found.cases]
    again = sum(a and b for a, b in zip(sent, judged, strict=True))
    text = f"{len(sent)} cases: {again} judged again from their recorded bytes"
    if again < sum(judged):
        text += f", {sum(judged) - again} without any, which were not sent"
    if sum(judged) < len(judged):
        text += f", {len(judged) - sum(judged)} not judged again"
    return wrapped(text, "  ")


def _beliefs(cases: Sequence[Rejudged]) -> list[str]:
    """What had to be believed, with the number of cases for each."""
    counts = Counter(belief for case in cases for belief in case.believed)
    said = ["believed, as bytes cannot show it:"] if counts else []
    for belief, count in counts.most_common():
        said += wrapped(f"  {'1 case' if count == 1 else f'{count} cases'}: {belief}", "    ")
    return said


def _named(title: str, entries: Sequence[tuple[str, str]]) -> list[str]:
    said = [f"{title}:"] if entries else []
    for name, words in entries[:_SHOWN]:
        said += wrapped(f"  {name}: {words}"[:_LONGEST], "    ")
    left = len(entries) - _SHOWN
    return [*said, f"  … and {left} more"] if left > 0 else said


def _conclusion(found: Verification) -> str:
    stated, now = (verdict_words(v).upper() for v in (found.report["verdict"], found.verdict))
    if found.exit_code == 0:
        return f"the verdict holds: {stated}"
    if found.exit_code == 1:
        if stated != now:
            return f"the verdict does NOT hold: {stated} was reported, the cases amount to {now}"
        return f"the report does NOT hold; its cases still amount to {now}, as reported"
    if not found.foreign:
        return f"{stated} cannot be confirmed: the cases above could not be judged again"
    return (
        f"{stated} cannot be confirmed here: not everything could be judged again with this "
        f"catalogue; verify it with v2-conformance {found.report['suite']['version']}"
    )
