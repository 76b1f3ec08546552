"""Decides whether the server survived a case.

A server may answer a malformed request with an error, but must go on serving: correct requests to
other clients, and the next ones on the same connection. No response shows that. So known-good
requests (*canaries*) follow a case that may do harm: one on the case's own connection, which shows
that server and client agree on where the next message begins, and one on a fresh connection, which
shows that the server accepts others. What a canary has to get was found before any case
(calibration), because a server that never answers a form exactly has not died of a case.

If a canary gets a wrong answer, the verdict is `DidNotSurvive`, whatever the case's own was. A
server that asks to wait has not died, and a gateway that reaches no server says nothing about the
connection. If the case got no answer in time, but the canary on a fresh connection was answered
at once, the server hung in that request (`Hung`), which is a failure; otherwise nothing is known.

Pure: conversations decide outcomes with it, in a run and again from recorded bytes.
"""

from __future__ import annotations

from msgspec.structs import replace

from v2_conformance.judging.availability import GATEWAY_STATUSES, down
from v2_conformance.judging.known_good import answer
from v2_conformance.judging.messages.response import unpacked_size
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, tensors_as_json
from v2_conformance.wire.transport import BYTES_A_SECOND

_MOST_WORDS = 64 * 1024  # more than any error message needs, even with a stack trace
_IDLE_TOO_LONG = 408
MOST_SURPLUS = 128 * 1024 * 1024
"""The most unneeded bytes (`surplus`) that a server may send in a run: its report has them all."""
_WITHOUT_END = MOST_SURPLUS // 16  # what an answer counts that was cut off as too large

# A server may take this much longer for a case than for a known-good request, or for its bytes.
_SLOWER = 20

# Causes that a right answer to a disputed case has.
_RIGHT = (kinds.Accepted, kinds.AnsweredInForm, kinds.AnsweredWith, kinds.Rejected)

FLOODED = Verdict(Outcome.INCONCLUSIVE, kinds.Flooded(MOST_SURPLUS))


def time_needed_s(size: int, pauses_s: float, known_good_s: float) -> float:
    """Return how long a request of `size` bytes may take on a server, given the time of its
    known-good ones.
    """
    return _SLOWER * known_good_s + size / BYTES_A_SECOND + pauses_s


def hang_of(case: RequestCase, own: Exchange, canary: Exchange) -> kinds.Hung | None:
    """Return the hang in the case's `own` exchange, if the `canary` after it, on a fresh
    connection, was answered at once.

    Concurrent requests may wait for each other, so they never count, nor does a server that had
    less time than it may need.
    """
    if own.ending is not Ending.TIMEOUT or not own.sent or own.shortened_ms is not None:
        return None
    if case.together > 1 or canary.response is None:
        return None
    pauses_s = own.pause_ms / 1000 * len(own.pieces)
    took_s = own.duration_ms / 1000
    if took_s < time_needed_s(len(own.request), pauses_s, canary.duration_ms / 1000):
        return None
    return kinds.Hung(round(took_s, 1), len(own.received), round(canary.duration_ms))


def surplus(exchange: Exchange, answer: int = 0) -> int:
    """Return how many of a response's bytes, packed or not, no server needs for that request,
    tensors of `answer` bytes and some words. What was cut off as too large may have had no end.
    """
    if exchange.ending is Ending.TOO_LARGE:
        return max(len(exchange.received), _WITHOUT_END)
    tensors = tensors_as_json(len(exchange.request) + answer)
    response, size = exchange.response, len(exchange.received)
    if response is not None:
        size += unpacked_size(response, bytes(exchange.request))
    return max(0, size - tensors - _MOST_WORDS)


def stale(exchange: Exchange) -> bool:
    """Return True if the kept connection had been closed before, so that this is not an answer.

    A server may close an idle connection at any time (RFC 9112 9.5), and say so with a 408 that
    crosses the next request (RFC 9110 15.5.9).
    """
    if not exchange.reused:
        return False
    if exchange.response is not None:
        return exchange.response.status == _IDLE_TOO_LONG
    return exchange.ending in (Ending.CLOSED, Ending.RESET) and not exchange.received


def is_of_path(cause: Cause | None) -> bool:
    """Return True if the only evidence is that answers did not come whole, or that a gateway
    answered a correct request: what is between the server and the suite may have lost them."""
    if isinstance(cause, DidNotSurvive):
        right = cause.case_passed or isinstance(cause.case, _RIGHT)
        own = None if right else cause.case
        parts = (cause.same_connection, cause.fresh_connection, own)
        return all(map(is_of_path, filter(None, parts)))
    root = None if cause is None else cause.root
    if isinstance(root, kinds.WrongStatus):
        return root.expected == "200" and root.got in GATEWAY_STATUSES
    return root is not None and root.of_path


def needs_canary(case: Case, outcome: Outcome) -> bool:
    """Return True if the server must be seen to survive `case`, which had `outcome`."""
    if isinstance(case, RequestCase):
        answered = outcome in (Outcome.PASS, Outcome.DISPUTED)
        return case.negative or case.canary is not None or not answered
    return False


def survived(
    verdict: Verdict, same: Cause | None, fresh: Cause | None, liveness: Exchange | None = None
) -> Verdict:
    """Return `verdict`, or a failure if a canary shows that the server did not survive.

    `same` and `fresh` are what was wrong with the canary on each connection, None if nothing was.
    `liveness` is the answer while a gateway could not reach the server, None if it could: a server
    that was down in between was restarted.
    """
    if fresh is None and liveness is not None and down(liveness):
        fresh = kinds.WasDown(answer(liveness))
    if same is None and fresh is None:
        return verdict
    if same is None and isinstance(fresh, kinds.Unavailable):
        unclear = verdict.outcome.harmless
        return replace(verdict, outcome=Outcome.INCONCLUSIVE, cause=fresh) if unclear else verdict
    passed = verdict.outcome is Outcome.PASS
    return replace(
        verdict,
        outcome=Outcome.FAIL,
        cause=DidNotSurvive(same, fresh, verdict.cause, case_passed=passed),
    )
