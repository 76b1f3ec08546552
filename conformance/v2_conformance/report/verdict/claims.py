"""The claims of a server, next to what the outcomes of its cases show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from v2_conformance.protocol.names import EXTENSION, SERVER_PROFILES
from v2_conformance.report.document import OUTDATED, CaseResult, Report
from v2_conformance.suite.causes.base import counted
from v2_conformance.suite.outcomes import Outcome

# Always claimed.
_BASE = "binary"
_BROKEN = frozenset({Outcome.FAIL, Outcome.FLAKY})
_SETTLED = frozenset({Outcome.PASS, Outcome.FAIL, Outcome.DISPUTED})


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


@dataclass(frozen=True)
class _Evidence:
    """MUST requirements of a profile by what became of their MUST cases, each in one group."""

    held: tuple[str, ...]
    failed: tuple[str, ...]
    open: tuple[str, ...]


def claims(report: Report) -> list[Claim]:
    """The claims of a report: the extension, each profile, datatypes, models; of a client, its
    profiles and its HTTP library. Nothing is said of a report that was not confirmed."""
    if report.verdict.standing == OUTDATED:
        return []
    if report.target.client is not None:
        library = library_share(report)
        found = [_profile(report, name) for name in ("client", "bf16")]
        return found if library is None else [*found, library]
    found = [_extension(report), *(_profile(report, name) for name in SERVER_PROFILES)]
    if report.target.unsupported:
        found.append(_datatypes(report))
    return [*found, _models(len(report.target.models), len(report.target.absent))]


def library_share(report: Report) -> Claim | None:
    """Return what the cases show of the HTTP library below a client; None if no
    case of what one usually does was run, and for an older report, which does not say what that is.
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
    if not report.verdict.implemented:
        return Claim(
            f"Extension {EXTENSION}",
            "not advertised in its server metadata",
            Outcome.NOT_RUN,
            "The server does not implement it.",
        )
    evidence = _evidence(report, _of_profile(report, _BASE))
    listed = EXTENSION in report.target.server.extensions
    outcome, words = _kept(evidence, listed=listed)
    subject = f"Extension {EXTENSION}"
    claimed = f"{'advertised' if listed else 'not advertised'} in its server metadata"
    if listed or outcome is not Outcome.PASS:
        return Claim(subject, claimed, outcome, words)
    return Claim(subject, claimed, Outcome.INCONCLUSIVE, words, _present(report, "P1"))


def _kept(evidence: _Evidence, *, listed: bool) -> tuple[Outcome, str]:
    """Return how the server keeps to the extension, as an outcome and in words."""
    if evidence.failed:
        if listed:
            return Outcome.FAIL, "The server advertises it and does not keep to it."
        return Outcome.FAIL, "The server does not advertise it, and does not keep to it."
    if evidence.open or not evidence.held:
        if listed:
            words = "The server advertises it; whether it keeps to it was not shown in full."
        else:
            words = "The server does not advertise it; whether it works was not shown in full."
        return Outcome.INCONCLUSIVE, words
    if listed:
        return Outcome.PASS, "The server does what it advertises."
    return Outcome.PASS, "It works, though a client that asks the server first would not use it."


def _profile(report: Report, name: str) -> Claim:
    subject = f"Profile {name}"
    cases = _of_profile(report, name)
    if name not in report.target.profiles:
        words = f"Not tested: {_cases(len(cases))} not sent." if cases else "Not tested."
        return Claim(subject, "not claimed", Outcome.UNSUPPORTED, words)
    if not report.verdict.implemented:
        words = "Not tested further: the server does not implement the extension."
        return Claim(subject, "claimed", Outcome.NOT_RUN, words)
    always = {_BASE: "every server claims it", "client": "every client claims it"}
    claimed = always.get(name, "claimed")
    evidence = _evidence(report, cases)
    total = len(evidence.held) + len(evidence.failed) + len(evidence.open)
    if evidence.failed:
        words = f"{len(evidence.failed)} of {counted(total, 'MUST requirement')} failed"
        words += f", {len(evidence.open)} more not shown to hold:" if evidence.open else ":"
        return Claim(subject, claimed, Outcome.FAIL, words, evidence.failed)
    if evidence.open:
        words = f"{len(evidence.open)} of {counted(total, 'MUST requirement')} not shown to hold:"
        return Claim(subject, claimed, Outcome.INCONCLUSIVE, words, evidence.open)
    if not total:
        return Claim(subject, claimed, Outcome.NOT_RUN, "No MUST case of it was run.")
    return Claim(
        subject,
        claimed,
        Outcome.PASS,
        f"{len(evidence.held)} of {counted(total, 'MUST requirement')} hold.",
    )


def _datatypes(report: Report) -> Claim:
    unsent = [
        case
        for case in report.of(Outcome.UNSUPPORTED)
        if case.profile in report.target.profiles and not case.exchanges
    ]
    words = f"Not tested: {_cases(len(unsent))} not sent."
    claimed = f"without {', '.join(report.target.unsupported)}"
    return Claim("Datatypes", claimed, Outcome.UNSUPPORTED, words)


def _models(present: int, absent: int) -> Claim:
    claimed = f"the contract has {present + absent} models"
    if absent:
        words = f"{present} present, {absent} absent (below)."
        return Claim("Models", claimed, Outcome.NOT_RUN, words)
    return Claim("Models", claimed, Outcome.PASS, "All are present.")


def _of_profile(report: Report, name: str) -> list[CaseResult]:
    return [case for case in report.cases if case.profile == name]


def _evidence(report: Report, cases: Iterable[CaseResult]) -> _Evidence:
    found: dict[str, set[Outcome]] = {row.id: set() for row in report.requirements}
    for case in cases:
        if case.level == "MUST" and case.outcome is not Outcome.UNSUPPORTED:
            found.setdefault(case.requirement, set()).add(case.outcome)
    tried = {name: outcomes for name, outcomes in found.items() if outcomes}
    failed = tuple(name for name, outcomes in tried.items() if outcomes & _BROKEN)
    still_open = tuple(
        name for name, outcomes in tried.items() if name not in failed and outcomes - _SETTLED
    )
    held = tuple(name for name in tried if name not in failed and name not in still_open)
    return _Evidence(held, failed, still_open)


def _present(report: Report, requirement: str) -> tuple[str, ...]:
    known = any(row.id == requirement for row in report.requirements)
    return (requirement,) if known else ()


def _cases(number: int) -> str:
    return f"{counted(number, 'case')} {'was' if number == 1 else 'were'}"
