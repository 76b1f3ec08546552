"""What a server claims, beside what the outcomes of its cases show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from v2_conformance.judging.judge import (
    DISPUTED,
    EXTENSION,
    FAIL,
    INCONCLUSIVE,
    NOT_RUN,
    PASS,
    UNSUPPORTED,
)
from v2_conformance.suite.requirements import PROFILES

# The base profile is always claimed; the suite tests servers, not clients.
_BASE = "binary"
_OF_SERVERS = tuple(name for name in PROFILES if name != "client")
_SETTLED = (PASS, FAIL, DISPUTED)


@dataclass(frozen=True)
class Claim:
    """One line: `subject`, what is `claimed` of it, and in words what the cases show.

    `outcome` gives its sign and colour; `requirements` are those that contradict the claim.
    """

    subject: str
    claimed: str
    outcome: str
    shown: str
    requirements: Sequence[str] = ()


@dataclass(frozen=True)
class _Evidence:
    """MUST requirements of a profile by what became of their MUST cases, each in one group."""

    held: tuple[str, ...]
    failed: tuple[str, ...]
    open: tuple[str, ...]


def claims(report: Mapping[str, Any]) -> list[Claim]:
    """The claims of a report: the extension, each profile, datatypes, models."""
    target = report["target"]
    found = [_extension(report), *(_profile(report, name) for name in _OF_SERVERS)]
    if names := target.get("unsupported"):
        found.append(_datatypes(report, names))
    if "models" in target and "absent" in target:
        found.append(_models(len(target["models"]), len(target["absent"])))
    return found


def _extension(report: Mapping[str, Any]) -> Claim:
    subject = f"Extension {EXTENSION}"
    evidence = _evidence(report, _of_profile(report, _BASE))
    if EXTENSION in report["target"]["server"]["extensions"]:
        said = "advertised in its server metadata"
        if evidence.failed:
            return Claim(subject, said, FAIL, "The server advertises it and does not keep to it.")
        if evidence.open or not evidence.held:
            words = "The server advertises it; whether it keeps to it was not shown in full."
            return Claim(subject, said, INCONCLUSIVE, words)
        return Claim(subject, said, PASS, "The server does what it advertises.")
    said = "not advertised in its server metadata"
    if evidence.failed:
        words = "The server does not advertise it, and does not keep to it."
        return Claim(subject, said, FAIL, words)
    if evidence.open or not evidence.held:
        words = "The server does not advertise it; whether it works was not shown in full."
        return Claim(subject, said, INCONCLUSIVE, words)
    words = "It works, though a client that asks the server first would not use it."
    return Claim(subject, said, INCONCLUSIVE, words, _present(report, "P1"))


def _profile(report: Mapping[str, Any], name: str) -> Claim:
    subject = f"Profile {name}"
    cases = _of_profile(report, name)
    if name not in report["target"]["profiles"]:
        words = f"Not tested: {_cases(len(cases))} not sent." if cases else "Not tested."
        return Claim(subject, "not claimed", UNSUPPORTED, words)
    claimed = "every server claims it" if name == _BASE else "claimed"
    evidence = _evidence(report, cases)
    total = len(evidence.held) + len(evidence.failed) + len(evidence.open)
    if evidence.failed:
        words = f"{len(evidence.failed)} of {_musts(total)} failed"
        words += f", {len(evidence.open)} more not shown to hold:" if evidence.open else ":"
        return Claim(subject, claimed, FAIL, words, evidence.failed)
    if evidence.open:
        words = f"{len(evidence.open)} of {_musts(total)} not shown to hold:"
        return Claim(subject, claimed, INCONCLUSIVE, words, evidence.open)
    if not total:
        return Claim(subject, claimed, NOT_RUN, "No MUST case of it was run.")
    return Claim(subject, claimed, PASS, f"{len(evidence.held)} of {_musts(total)} hold.")


def _datatypes(report: Mapping[str, Any], names: Sequence[str]) -> Claim:
    profiles = report["target"]["profiles"]
    unsent = [
        case
        for case in report["cases"]
        if case["outcome"] == UNSUPPORTED and case.get("profile", _BASE) in profiles
    ]
    words = f"Not tested: {_cases(len(unsent))} not sent."
    return Claim("Datatypes", f"without {', '.join(names)}", UNSUPPORTED, words)


def _models(present: int, absent: int) -> Claim:
    total = present + absent
    claimed = f"{total} models of the contract are wanted"
    if absent:
        return Claim("Models", claimed, NOT_RUN, f"{present} are there, {absent} absent (below).")
    return Claim("Models", claimed, PASS, "All are there.")


def _of_profile(report: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [case for case in report["cases"] if case.get("profile", _BASE) == name]


def _evidence(report: Mapping[str, Any], cases: Iterable[Mapping[str, Any]]) -> _Evidence:
    found: dict[str, set[str]] = {entry["id"]: set() for entry in report["requirements"]}
    for case in cases:
        if case["level"] == "MUST" and case["outcome"] != UNSUPPORTED:
            found.setdefault(case["requirement"], set()).add(case["outcome"])
    outcomes = {name: those for name, those in found.items() if those}
    failed = tuple(name for name, those in outcomes.items() if FAIL in those)
    still_open = tuple(
        name for name, those in outcomes.items() if FAIL not in those and those - set(_SETTLED)
    )
    held = tuple(name for name in outcomes if name not in failed and name not in still_open)
    return _Evidence(held, failed, still_open)


def _present(report: Mapping[str, Any], requirement: str) -> tuple[str, ...]:
    known = any(entry["id"] == requirement for entry in report["requirements"])
    return (requirement,) if known else ()


def _cases(number: int) -> str:
    return "1 case was" if number == 1 else f"{number} cases were"


def _musts(number: int) -> str:
    return "1 MUST requirement" if number == 1 else f"{number} MUST requirements"
