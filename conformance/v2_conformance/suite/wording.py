"""Causes in words, for people: what was expected, and what the server sent instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from v2_conformance.suite import causes, circumstances, observations
from v2_conformance.suite.causes import Cause
from v2_conformance.suite.client_wording import CLIENT_WORDS
from v2_conformance.suite.finding_wording import FINDING_WORDS
from v2_conformance.suite.http_versions import FEATURE_WORDS
from v2_conformance.suite.phrases import body_words, counted
from v2_conformance.suite.relations import ROLE

_LONGEST = 2000


def describe(cause: Cause | None) -> str:
    """A cause as one sentence or clause without a full stop; "" for a pass that needs no words.

    Whatever the cause says, it is printable ASCII of bounded length, with "…" for what is left out.
    """
    if cause is None:
        return ""
    words = _WORDS[type(cause)](cause)
    if not (words.isascii() and words.isprintable()):
        words = "".join(_printable(c) for c in words[: _LONGEST + 1])
    return words if len(words) <= _LONGEST else words[:_LONGEST] + "…"


def _printable(character: str) -> str:
    shown = character == "…" or (character.isascii() and character.isprintable())
    return character if shown else ascii(character)[1:-1]


def _did_not_survive(cause: causes.DidNotSurvive) -> str:
    problems = []
    if cause.same_connection is not None:
        problems.append(f"on the same connection: {describe(cause.same_connection)}")
    if cause.fresh_connection is not None:
        problems.append(f"on a fresh connection: {describe(cause.fresh_connection)}")
    words = f"did not survive: a known-good request got a wrong answer {'; '.join(problems)}"
    if cause.beside:
        words += (
            f"; or one of the cases that ran beside it did this: {', '.join(cause.beside)} "
            "(a run with -n 1 or --restart-command finds out)"
        )
    own = describe(cause.case)
    if not own:
        return words
    return f"{words} (the case itself was {own})" if cause.case_passed else f"{own}; {words}"


def _failed_beside_others(cause: causes.FailedBesideOthers) -> str:
    own = describe(cause.alone)
    words = f"passed alone, but failed while other cases ran (see C6): {describe(cause.beside)}"
    return f"{own}; {words}" if own else words


def _failed_at_first(cause: causes.FailedAtFirst) -> str:
    own = describe(cause.again)
    words = f"passed when it was run again, but failed at first: {describe(cause.first)}"
    return f"{own}; {words}" if own else words


def _generated_failure(cause: causes.GeneratedFailure) -> str:
    where = f"; {cause.file} has it as a case" if cause.file else ""
    made = f"generated request {cause.number}"
    if cause.seed is not None:
        made = f"shrunk from {made}, {_generator(cause)}"
    return f"{describe(cause.request)} ({made}{where})"


def _generated_requests(cause: causes.GeneratedRequests) -> str:
    text = f"{cause.count} generated requests"
    return text if cause.seed is None else f"{text} ({_generator(cause)})"


def _generator(cause: causes.GeneratedFailure | causes.GeneratedRequests) -> str:
    return f"seed {cause.seed}, Hypothesis {cause.hypothesis}"


def _of(what: str, number: int | None) -> str:
    """What a finding is about, if a task has several of it."""
    return "" if number is None else f"{what} {number}: "


def _not_kept(cause: causes.NotKept) -> str:
    where = ", ".join(cause.cases)
    if cause.more:
        where += f" and {counted(cause.more, 'more case')}"
    return (
        f"{cause.wrong} of {counted(cause.judged, 'exchange')}, in {where}; the first: "
        f"{describe(cause.first)}"
    )


_BINDING_LACKS = {
    "content_type": "there, the Content-Type of a request carries the header length",
    "field_syntax": "the header length is a parameter, whose syntax is not that of a field",
    "huge_tensor": "its platform takes no tensor over 2 GiB",
    "metadata": "its endpoint does not answer for the server's metadata",
    "model_path": "its URL does not name the model in this way",
    "repeated_length": "a media type has a parameter only once",
}
_BROKEN_RULES = {
    "chunk": "a chunk is not framed as RFC 9112, section 7.1, says",
    "content_length": "the Content-Length is not one decimal number",
    "content_length_not_allowed": "a message with a transfer coding, or without a body, has a "
    "Content-Length, or a trailer frames the message",
    "field_name": "the name of a header field has characters that no name can have",
    "field_value": "the value of a header field has control characters",
    "folded_line": "a header field goes on in the next line",
    "interim_response": "an interim response has a body, frames one, or is one that the client did "
    "not allow",
    "line_end": "a line ends with LF alone instead of CRLF",
    "repeated_field": "a header field that can be there only once is there twice",
    "space_before_colon": "there is white space between the name of a header field and its colon",
    "status_line": "the response does not begin with HTTP/1.1 or HTTP/1.0, a space, a status from "
    "100 to 599, a space and a reason, which may be empty",
    "transfer_coding": "the Transfer-Encoding is not one that HTTP/1.1 allows here",
}


_WORDS: dict[type, Callable[[Any], str]] = {
    circumstances.ChangedAnswer: lambda c: f"expected {c.expected} as before, got {c.got}",
    circumstances.Hung: lambda c: (
        f"no complete response in {c.seconds:.1f} s ({counted(c.received, 'byte')} received), but "
        f"a known-good request after it was answered in {c.known_good_ms} ms: the server hangs"
    ),
    circumstances.TimedOutEarly: lambda c: (
        f"no complete response in {c.seconds:.1f} s ({counted(c.received, 'byte')} received); the "
        "run waits no longer, because several requests of this kind in a row got no answer"
    ),
    circumstances.OutOfTime: lambda c: (
        f"not sent: the run had taken all of its {c.limit_s:g} s (--max-time)"
    ),
    circumstances.NoResponse: lambda c: f"no complete response: {c.ending} ({c.detail})",
    circumstances.Unavailable: lambda c: (
        f"answered with {c.status}: the server asks to wait"
        + (f" (Retry-After: {c.retry_after})" if c.retry_after is not None else "")
        + f", and did so for as long as the run waits: {body_words(c.body)}"
    ),
    circumstances.WasDown: lambda c: (
        "answered at last, but before that the server was down: GET /v2/health/live got "
        f"{c.liveness}"
    ),
    causes.DidNotSurvive: _did_not_survive,
    causes.SeveralWrong: lambda c: (
        f"{c.wrong} of {c.total} answers were wrong, the first: {describe(c.first)}"
    ),
    causes.NotKept: _not_kept,
    observations.InvalidHttp: lambda c: (
        f"the response breaks the syntax of HTTP/1.1: {_BROKEN_RULES[c.rule]}: "
        f"{body_words(c.shown)}"
    ),
    observations.StrayBytes: lambda c: (
        f"{counted(c.count, 'byte')} came on the connection before, after its response, although "
        "no request asked for them"
    ),
    observations.UnannouncedClose: lambda c: (
        f"expected the response before to say Connection: close, got none, and the server closed "
        f"the connection within {c.after_ms} ms"
    ),
    observations.NotContinued: lambda c: (
        "expected 100 Continue or a final status, got nothing, and so the client sent the body "
        f"after {c.waited_ms} ms"
    ),
    observations.NothingObserved: lambda c: (
        f"none of {counted(c.answers, 'answer')} shows whether the server does this"
    ),
    observations.AllKept: lambda c: f"kept in all of {counted(c.judged, 'exchange')}",
    observations.NoErrorToJudge: lambda c: (
        f"the server accepted the request with {c.status}, so there is no error to judge"
    ),
    causes.FailedBesideOthers: _failed_beside_others,
    causes.FailedAtFirst: _failed_at_first,
    causes.SecondAnswerWrong: lambda c: (
        "the answer to the request that was pipelined behind the case's own is wrong: "
        f"{describe(c.second)}"
    ),
    circumstances.KilledBy: lambda c: f"needs what {c.case} killed ({c.role or 'the server'})",
    circumstances.RoleAbsent: lambda c: f"the role {c.role} is absent: {c.reason}",
    circumstances.AnswersDiffer: lambda c: (
        f"the model {c.role.removeprefix(ROLE)} does not repeat its answers: the same request was "
        f"answered in more than one way ({c.output}); --rtol and --atol allow floats to differ"
    ),
    circumstances.ModelVersionUnknown: lambda c: (
        f"the server lists no single version of the model for {c.role}"
    ),
    circumstances.NotInBinding: lambda c: (
        f"does not apply to the binding {c.binding}: {_BINDING_LACKS[c.lacks]}"
    ),
    circumstances.NotOverHttp2: lambda c: (
        f"not applicable over HTTP/2: the case is about {FEATURE_WORDS[c.feature]}, which only "
        + ("HTTP/1.1 has" if c.feature != "streamed_tensor" else "HTTP/1.1 carries in this suite")
    ),
    circumstances.ProfileNotClaimed: lambda c: f"the profile {c.profile} is not claimed",
    circumstances.DatatypesUnsupported: lambda c: (
        f"the target declares {', '.join(c.datatypes)} unsupported"
    ),
    circumstances.CodingsUnsupported: lambda c: (
        f"the target declares {', '.join(c.codings)} unsupported"
    ),
    circumstances.Flooded: lambda c: (
        f"not sent: the server has sent {c.limit >> 20} MiB more than its answers can need"
    ),
    circumstances.NoKnownGoodAnswer: lambda c: (
        f"not sent: {c.role} answers no known-good request: {c.detail}"
    ),
    circumstances.NoUsableModel: lambda c: (
        "the server has no model that generated requests can go to"
    ),
    causes.Rejected: lambda c: f"rejected with status {c.status}",
    causes.Accepted: lambda c: "accepted",
    causes.AnsweredInJson: lambda c: "answered in strict JSON",
    causes.NotDone: lambda c: f"optional, not done here: {describe(c.finding)}",
    causes.AnsweredInForm: lambda c: f"the server answered in {' and '.join(c.forms)} form",
    causes.GeneratedRequests: _generated_requests,
    causes.GeneratedFailure: _generated_failure,
    causes.WrongRequest: lambda c: f"{_of('request', c.number)}{describe(c.finding)}",
    causes.WrongReading: lambda c: f"{_of('the reading of answer', c.number)}{describe(c.finding)}",
    circumstances.InvalidCase: lambda c: c.problem,
    circumstances.SuiteError: lambda c: f"error of the suite: {c.error} at {c.where}",
    **FINDING_WORDS,
    **CLIENT_WORDS,
}
