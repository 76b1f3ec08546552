"""From what happened around a case to its outcome: what is skipped, which canary, who survived.

Pure, because `runner` finds outcomes with it and `rejudge` finds them again from recorded bytes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from v2_conformance.judging.judge import (
    FAIL,
    INCONCLUSIVE,
    NOT_RUN,
    PASS,
    UNSUPPORTED,
    Verdict,
    canary_verdict,
)
from v2_conformance.suite.cases import Case
from v2_conformance.suite.models import contract
from v2_conformance.wire.encode import Address, Binding, Prepared, prepare
from v2_conformance.wire.http1 import CLOSED, JSON_FACTOR, Transcript

JSON = "json"  # the canary of a case that wants one without blobs
# What an exchange was for, as its note says.
REPEATED = "repeated: the kept connection had been closed"
CANARY = "canary "
SAME = f"{CANARY}on the same connection"
FRESH = f"{CANARY}on a fresh connection"
NOT_SURVIVED = "did not survive: a known-good request got a wrong answer"
_NOT_SENT = "not sent: "
_WORDS = 64 * 1024  # more than any message takes, even one with a stack trace
# How many bytes beyond need (`surplus`) a server may send in a run, whose report has them all.
MOST_SURPLUS = 128 * 1024 * 1024
FLOODED = Verdict(
    INCONCLUSIVE,
    f"{_NOT_SENT}the server has sent {MOST_SURPLUS >> 20} MiB more than its answers can need",
)
NO_ROLES = Verdict(NOT_RUN, "the server has no model that generated requests can go to")

# What a server may know: the extension both ways, binary inputs only, plain JSON.
_FORMS = (("binary", True), ("binary", False), ("json", False))
_KILLED = re.compile(r"needs what (.+) killed \(.*\)")
_WRONG = re.compile(r"[0-9]+ of [0-9]+ answers were wrong, the first: ")


@dataclass(frozen=True)
class Claims:
    """What a target claims and which roles it was found to have; `absent` has the reasons."""

    profiles: Collection[str]
    unsupported: frozenset[str]
    present: Mapping[str, Binding]
    absent: Mapping[str, str]


def skipped(case: Case, claims: Claims) -> Verdict | None:
    """Why `case` is not sent to this target, None where it is."""
    if case.profile not in claims.profiles or case.profile in claims.unsupported:
        return Verdict(UNSUPPORTED, f"the profile {case.profile} is not claimed")
    unsupported = sorted(case.datatypes & claims.unsupported)
    if unsupported:
        return Verdict(UNSUPPORTED, f"the target declares {', '.join(unsupported)} unsupported")
    if case.model and case.model not in claims.present:
        reason = claims.absent.get(case.model, "no such model")
        return Verdict(NOT_RUN, f"the role {case.model} is absent: {reason}")
    return None


def orphaned(case: Case, culprit: str) -> Verdict:
    """The verdict on a case that needs what the case `culprit` killed."""
    return Verdict(NOT_RUN, f"needs what {culprit} killed ({case.model or 'the server'})")


def culprit_in(message: str) -> str | None:
    """The case that the message of an `orphaned` case blames."""
    found = _KILLED.fullmatch(message)
    return found[1] if found else None


def unsent(case: Case, silence: str) -> Verdict:
    """The verdict on a case whose model answers no known-good request."""
    words = f"{_NOT_SENT}{case.model} answers no known-good request: {silence}"
    return Verdict(INCONCLUSIVE, words)


def is_unsent(outcome: str, message: str) -> bool:
    """Whether a case was given the verdict `unsent`."""
    return outcome == INCONCLUSIVE and message.startswith(_NOT_SENT)


def surplus(transcript: Transcript) -> int:
    """Bytes of a response beyond what any server needs for that request and some words."""
    return max(0, len(transcript.received) - JSON_FACTOR * len(transcript.request) - _WORDS)


def stale(transcript: Transcript) -> bool:
    """Whether the kept connection had been closed before, so that this is no answer.

    A server may close an idle connection at any time (RFC 9112 9.5).
    """
    return transcript.reused and transcript.ending == CLOSED and not transcript.received


def of_several(verdict: Verdict, wrong: int, total: int) -> Verdict:
    """The verdict on `total` exchanges of a case, of which `verdict` is on the one that counts."""
    if not wrong:
        return verdict
    message = f"{wrong} of {total} answers were wrong, the first: {verdict.message}"
    return replace(verdict, message=message)


def without_count(message: str) -> str:
    """`message` without what `of_several` put before it."""
    return _WRONG.sub("", message, count=1) if _WRONG.match(message) else message


def needs_canary(case: Case, outcome: str) -> bool:
    """Whether the server has to be seen to survive `case`, which had `outcome`."""
    if not case.model:
        return False
    return case.negative or bool(case.canary) or outcome in (FAIL, INCONCLUSIVE)


def survived(verdict: Verdict, same: str, fresh: str) -> Verdict:
    """`verdict`, or a failure where a canary says that the server did not survive.

    `same` and `fresh` are what was wrong with the canary on each connection, "" for nothing.
    """
    problems = [f"on the same connection: {same}"] if same else []
    problems += [f"on a fresh connection: {fresh}"] if fresh else []
    if not problems:
        return verdict
    words = f"{NOT_SURVIVED} {'; '.join(problems)}"
    if verdict.outcome != PASS:
        words = f"{verdict.message}; {words}"
    elif verdict.message:
        words = f"{words} (the case itself was {verdict.message})"
    return Verdict(FAIL, words, verdict.difference)


@lru_cache(maxsize=128)
def known_good(
    role: str, address: Address, binding: Binding, *, json: bool = False
) -> Sequence[Prepared]:
    """The forms of the canary for `role`, the most demanding first; `json` only without blobs."""
    forms = _FORMS[-1:] if json else _FORMS
    return [_known_good(role, address, binding, form, binary) for form, binary in forms]


def _known_good(role: str, address: Address, binding: Binding, form: str, binary: bool) -> Prepared:
    model = contract()[role]
    inputs: list[dict[str, Any]] = [
        {"shape": [3 if n == -1 else n for n in spec.dims], "values": "ones", "form": form}
        for spec in model.inputs
    ]
    outputs = range(len(model.outputs))
    request: dict[str, Any] = {"inputs": inputs}
    if binary:
        request["outputs"] = [{"tensor": i, "binary_data": True} for i in outputs]
    expect = {"outcome": "success", "outputs": {str(i): "any" for i in outputs}}
    case = Case(f"canary {role}", "", "", "", "", role, "", request, expect, False, "", 1)
    return prepare(case, address, binding)


def canary_problem(prepared: Prepared, wanted: str, transcript: Transcript) -> str:
    """What is wrong with a canary's answer, "" where nothing is.

    `wanted` is "" for a server that answers the canary exactly. Of any other, the same answer as at
    first (see `answer`) is survival.
    """
    if not wanted:
        return canary_verdict(prepared.expected, transcript)
    now = answer(transcript)
    return "" if now == wanted else f"{wanted} as before wanted, {now} came"


def answer(transcript: Transcript) -> str:
    """What came of an exchange, in short."""
    response = transcript.response
    return transcript.ending if response is None else f"status {response.status}"
