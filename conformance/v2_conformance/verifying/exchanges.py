"""Matches an exchange to a request of the suite, and judges the answer to a canary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from v2_conformance.errors import CaseFileError
from v2_conformance.judging.known_good import Form, known_good, problem_with
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.verifying.recorded.beliefs import Belief
from v2_conformance.verifying.recorded.transcripts import (
    ReadExchange,
    RecordedError,
    UnconfirmedError,
    ends_with_connection,
    first_unmasked_difference,
    sending_contradiction,
)
from v2_conformance.verifying.setting import Setting
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.encode.requests import LIVE, Prepared, get_request
from v2_conformance.wire.http1.request import asks_to_close
from v2_conformance.wire.transcript import Ending, Transcript

_BELIEVED = {
    Ending.TIMEOUT: Belief.NO_MORE,
    Ending.REFUSED: Belief.NO_CONNECTION,
    Ending.CLOSED: Belief.CUT_OFF,
    Ending.RESET: Belief.CUT_OFF,
}


def matching(
    candidates: Sequence[Prepared], exchange: ReadExchange, known: Setting, what: str
) -> Prepared:
    """Return the one of these requests that `exchange` records. Raises RecordedError.

    `what` names it in the message.
    """
    sent = bytes(exchange.transcript.request)
    differences = []
    for prepared in candidates:
        expected = b"".join(prepared.request.http1)
        at = first_unmasked_difference(sent, expected, known.mask, masks=known.masks)
        if at is None:
            problem = sending_contradiction(exchange.transcript, prepared.request)
            if problem is not None:
                raise RecordedError(f"{what} is not what the suite sends: {problem}")
            return prepared
        differences.append((at, len(expected)))
    at, length = max(differences)
    raise RecordedError(
        f"{what} is not what the suite sends: expected {length} bytes, got {len(sent)}, the first "
        f"that differs is byte {at}"
    )


def may_be_closed(own: ReadExchange, fresh: ReadExchange, known: Setting) -> bool:
    """Return True if the connection of `own` may have been closed before the canary: the record of
    the `fresh` one says so, or nobody can tell (after a request to close it, and under TLS).
    """
    request = own.transcript.request
    if known.address.scheme == "https" or asks_to_close(request):
        return True
    return fresh.recorded.closed_before_ms is not None


def problem_of_canary(
    role: str, canary: ReadExchange, known: Setting, *forms: Form
) -> Cause | None:
    """Return what is wrong with the answer to a canary in one of these forms, None if
    nothing is.
    """
    binding = known.claims.present.get(role)
    if binding is None:
        raise RecordedError(f"a canary is recorded for {role}, which is not there")
    if not known.same_suite:
        return _believed_problem(role, binding, canary, known, forms)
    first = {
        (form, answer.prepared): answer.expected
        for form in forms
        for answer in known.first.by_model.get((role, form), ())
    }
    if not first:
        raise RecordedError(f"how {role} answered its canary at first is not recorded")
    prepared = matching([one for _, one in first], canary, known, "a canary's request")
    stated, transcript = canary.recorded.expected, canary.transcript
    form, expected = next((form, had) for (form, one), had in first.items() if one == prepared)
    if stated is not None:
        answers = [one.expected for one in known.first.by_model[role, form]]
        if stated not in answers:
            was = "exactly" if expected is None else f"with {expected}"
            raise RecordedError(
                f"its canary is held to {printable(stated, 60)}, but at first it was answered {was}"
            )
    problem = problem_with(prepared, stated, transcript)
    if stated is None or problem is not None or (role, form) not in known.first.changed:
        return problem
    if problem_with(prepared, None, transcript) is not None:
        raise UnconfirmedError(
            f"{role} answered known-good requests exactly elsewhere in the run, and whether "
            "that was before or after this case cannot be shown"
        )
    return None


def _believed_problem(
    role: str, binding: DeployedModel, canary: ReadExchange, known: Setting, forms: Sequence[Form]
) -> Cause | None:
    """Return what is wrong with a canary in another suite's report, if its `expected`
    is believed.
    """
    try:
        made = [known_good(role, known.address, binding, form) for form in forms]
    except CaseFileError as error:
        raise RecordedError(f"its canary cannot be made again: {error}") from error
    candidates = list(dict.fromkeys(one for several in made for one in several))
    prepared = matching(candidates, canary, known, "a canary's request")
    return problem_with(prepared, canary.recorded.expected, canary.transcript)


def check_liveness(exchange: ReadExchange, known: Setting) -> None:
    """Raise RecordedError unless the request asks whether the server is alive."""
    asked = Prepared(get_request(known.address, LIVE))
    matching([asked], exchange, known, "the request whether the server is alive")


def _beliefs_of_whole(transcript: Transcript) -> Iterator[Belief]:
    """Yield what has to be believed about a whole response."""
    if transcript.sent < len(transcript.request):
        yield Belief.EARLY
    if not transcript.open and ends_with_connection(transcript):
        yield Belief.CUT_OFF


def beliefs_of(exchange: ReadExchange) -> list[Belief]:
    """Return what has to be believed about how an exchange ended."""
    ending = exchange.transcript.ending
    if ending is Ending.COMPLETE:
        return list(_beliefs_of_whole(exchange.transcript))
    return [_BELIEVED[ending]] if ending in _BELIEVED else []
