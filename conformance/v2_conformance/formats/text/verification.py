"""The findings of `verify`, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from v2_conformance.report.tested import SuiteInfo, this_suite
from v2_conformance.report.verdict.standing import server_name
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.causes import NotKept
from v2_conformance.suite.causes.kinds import AllKept, NothingObserved
from v2_conformance.terminal_safe_text import wrapped
from v2_conformance.verifying.verification import GOOD, Verification

_WHOSE = (
    "the bytes give this verdict; that they are this {}'s is the word of whoever published them"
)
_SHOWN = 20
_LONGEST = 300


def verification_lines(result: Verification) -> list[str]:
    """Return lines that fit the terminal; a report's own words are printable ASCII in them."""
    report, suite = result.report, result.report.suite
    tested = report.target.url
    if report.target.client is not None:
        tested = f"the client {printable(server_name(report), 80)}"
    title = f"{result.path.name}: {tested}, {report.started}, made by {suite.in_words}"
    lines = wrapped(title[:_LONGEST], "  ")
    if result.foreign:
        lines += wrapped(
            f"its catalogue asks or expects something different from this one, "
            f"{this_suite().in_words}: nothing is judged again",
            "  ",
        )
    elif result.other_build:
        lines += wrapped(_other_build(suite), "  ")
    if not report.complete:
        lines.append("the run is incomplete: it was stopped before its last case")
    if result.unsealed:
        lines.append("a record has no digest, so changes that no judgment depends on go unnoticed")
    lines += _counts(result)
    unjudged = [("the report", words) for words in result.unconfirmed]
    unjudged += [(case.id, case.unjudged) for case in result.cases if case.unjudged]
    lines += _named("not judged again", unjudged)
    others = [(case.id, case.other_cause) for case in result.cases if case.other_cause]
    lines += _named("same outcome, but for another cause", others)
    for case in result.cases:
        if case.problem:
            text = f"DIFFERS {case.id}: recorded as {case.recorded.words}; {case.problem}"
            lines += wrapped(text[:_LONGEST], "        ")
    for edit in result.edits:
        lines += wrapped(f"EDITED  {edit}", "        ")
    lines += ["", *wrapped(_conclusion(result), "  ")]
    whose = _WHOSE.format(report.target.what)
    return [*lines, *wrapped(whose, "  ")] if result.exit_code == 0 else lines


def _other_build(suite: SuiteInfo) -> str:
    here = this_suite()
    note = f"another build made it; this is {here.in_words}"
    if suite.judging != here.judging:
        code = printable(suite.judging, 40) or "an unknown build"
        note += f"; its judging code is {code}, this one's is {here.judging}"
    return f"{note}: everything is judged again, words are not compared"


def _counts(result: Verification) -> list[str]:
    observed = AllKept | NotKept | NothingObserved
    cases = result.report.cases
    judged = [
        bool(recorded.exchanges) or isinstance(recorded.cause, observed)
        for recorded, case in zip(cases, result.cases, strict=False)
        if case.unjudged is None
    ]
    text = f"{len(cases)} cases: {sum(judged)} judged again from their recorded bytes"
    if not all(judged):
        text += f", {len(judged) - sum(judged)} not sent"
    if len(judged) < len(result.cases):
        text += f", {len(result.cases) - len(judged)} not judged again"
    return wrapped(text, "  ")


def _named(title: str, entries: Sequence[tuple[str, str]]) -> list[str]:
    lines = [f"{title}:"] if entries else []
    for name, words in entries[:_SHOWN]:
        lines += wrapped(f"{name}: {words}"[:_LONGEST], "    ", first="  ")
    left = len(entries) - _SHOWN
    return [*lines, f"  … and {left} more"] if left > 0 else lines


def _conclusion(result: Verification) -> str:
    stated, now = result.stated.upper(), result.now.upper()
    suite = printable(result.report.suite.in_words, 160)
    if result.exit_code == 0:
        return f"the verdict holds: {stated}"
    if result.exit_code == 2 and result.foreign:
        return (
            f"{stated} cannot be confirmed here, because its catalogue may have other cases; "
            f"verify it with {suite}"
        )
    if result.exit_code == 2:
        return f"{stated} cannot be confirmed: see what could not be shown again above"
    if result.now in GOOD:  # what was edited or left out says nothing good of a server
        words = f"the report does NOT hold: with the problems above it cannot be {stated}"
    elif stated != now:
        words = f"the verdict does NOT hold: {stated} was reported, but the cases amount to {now}"
    else:
        words = f"the report does NOT hold; its cases still amount to {now}, as reported"
    if result.other_build:
        words += f"; another build made it, so compare with what {suite} says"
    return words
