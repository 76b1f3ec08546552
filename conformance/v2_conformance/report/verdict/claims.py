"""The claims of a server, next to what the outcomes of its cases show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from v2_conformance.protocol.names import EXTENSION, SERVER_PROFILES
from v2_conformance.report.document import OUTDATED, Report
from v2_conformance.suite.causes.base import counted
from v2_conformance.suite.outcomes import Outcome

# Always claimed.
_BASE = "binary"
_BROKEN = frozenset({Outcome.FAIL, Outcome.FLAKY})
_SETTLED = frozenset({Outcome.PASS, Outcome.FAIL, Outcome.DISPUTED})
_ADVERTISED = {
    Outcome.PASS: "The server does what it advertises.",
    Outcome.FAIL: "The server advertises it and does not keep to it.",
    Outcome.INCONCLUSIVE: "The server advertises it; whether it keeps to it was not shown in full.",
}
_NOT_ADVERTISED = {
    Outcome.PASS: "It works, though a client that asks the server first would not use it.",
    Outcome.FAIL: "The server does not advertise it, and does not keep to it.",
    Outcome.INCONCLUSIVE: "The server does not advertise it; whether it works was not shown in "
    "full.",
}


@dataclass(frozen=True)
class Claim:
    """One line: a subject, what is claimed of it, and in words what the cases show.

    `outcome` gives its sign and color; `requirements` are those that contradict the claim.
    """

    subject: str
    claimed: str
    outcome: Outcome
    shown: str
    requirements: Sequence[str] = ()


def claims(report: Report) -> list[Claim]:
    """Return the claims of a report: the extension, each profile, datatypes, models; of a client,
    its profiles and its HTTP library. Nothing is said of a report that was not confirmed."""
    target = report.target
    if report.verdict.standing == OUTDATED:
        return []
    if target.client is not None:
        library = library_share(report)
        shown = [_profile(report, name) for name in ("client", "bf16")]
        return shown if library is None else [*shown, library]
    shown = [_extension(report), *(_profile(report, name) for name in SERVER_PROFILES)]
    if target.unsupported:
        unsent = [
            case
            for case in report.of(Outcome.UNSUPPORTED)
            if case.profile in target.profiles and not case.exchanges
        ]
        claimed = f"without {', '.join(target.unsupported)}"
        shown.append(Claim("Datatypes", claimed, Outcome.UNSUPPORTED, _not_sent(len(unsent))))
    present, absent = len(target.models), len(target.absent)
    words = f"{present} present, {absent} absent (below)." if absent else "All are present."
    outcome = Outcome.NOT_RUN if absent else Outcome.PASS
    return [*shown, Claim("Models", f"the contract has {present + absent} models", outcome, words)]


def library_share(report: Report) -> Claim | None:
    """Return what the cases show of the HTTP library below a client; None if no case of what one
    usually does was run.
    """
    names = {row.id for row in report.requirements if row.layer == "http"}
    run = [
        case
        for case in report.cases
        if case.requirement in names and case.outcome not in (Outcome.NOT_RUN, Outcome.UNSUPPORTED)
    ]
    if not run:
        return None
    total = counted(len({case.requirement for case in run}), "requirement")
    failed = tuple(dict.fromkeys(case.requirement for case in run if case.outcome in _BROKEN))
    subject, claimed = "HTTP library below the client", "usually does this for the client"
    if failed:
        return Claim(subject, claimed, Outcome.FAIL, f"{len(failed)} of {total} failed:", failed)
    return Claim(subject, claimed, Outcome.PASS, f"None of {total} failed.")


def _extension(report: Report) -> Claim:
    subject = f"Extension {EXTENSION}"
    listed = EXTENSION in report.target.server.extensions
    claimed = f"{'advertised' if listed else 'not advertised'} in its server metadata"
    if not report.verdict.implemented:
        return Claim(subject, claimed, Outcome.NOT_RUN, "The server does not implement it.")
    outcome = _profile(report, _BASE).outcome
    if outcome is Outcome.NOT_RUN:
        outcome = Outcome.INCONCLUSIVE
    words = (_ADVERTISED if listed else _NOT_ADVERTISED)[outcome]
    if listed or outcome is not Outcome.PASS:
        return Claim(subject, claimed, outcome, words)
    return Claim(subject, claimed, Outcome.INCONCLUSIVE, words, ("P1",))


def _profile(report: Report, name: str) -> Claim:
    subject = f"Profile {name}"
    cases = [case for case in report.cases if case.profile == name]
    if name not in report.target.profiles:
        words = _not_sent(len(cases)) if cases else "Not tested."
        return Claim(subject, "not claimed", Outcome.UNSUPPORTED, words)
    if not report.verdict.implemented:
        words = "Not tested further: the server does not implement the extension."
        return Claim(subject, "claimed", Outcome.NOT_RUN, words)
    always = {_BASE: "every server claims it", "client": "every client claims it"}
    claimed = always.get(name, "claimed")
    outcomes: dict[str, set[Outcome]] = {row.id: set() for row in report.requirements}
    for case in cases:
        if case.level == "MUST" and case.outcome is not Outcome.UNSUPPORTED:
            outcomes.setdefault(case.requirement, set()).add(case.outcome)
    tried = {requirement: results for requirement, results in outcomes.items() if results}
    failed = tuple(name for name, results in tried.items() if results & _BROKEN)
    unclear = tuple(n for n, results in tried.items() if n not in failed and results - _SETTLED)
    total = counted(len(tried), "MUST requirement")
    if failed:
        words = f"{len(failed)} of {total} failed"
        words += f", {len(unclear)} more not shown to hold:" if unclear else ":"
        return Claim(subject, claimed, Outcome.FAIL, words, failed)
    if unclear:
        words = f"{len(unclear)} of {total} not shown to hold:"
        return Claim(subject, claimed, Outcome.INCONCLUSIVE, words, unclear)
    if not tried:
        return Claim(subject, claimed, Outcome.NOT_RUN, "No MUST case of it was run.")
    return Claim(subject, claimed, Outcome.PASS, f"{len(tried)} of {total} hold.")


def _not_sent(number: int) -> str:
    return f"Not tested: {counted(number, 'case')} {'was' if number == 1 else 'were'} not sent."
