"""(case, request, exchange) → verdict. Pure: no I/O, so recorded bytes can be judged again.

A response is judged in the order in which a client reads it: whether a whole one came, whether it
asks to wait or declines what it may decline, its content coding, its status, the V2 message in its
body (header length, JSON, schema, sizes), the value of each output, bit for bit, and last what the
case asks for by name. The first thing that is wrong is raised as a `Finding`, whose cause is that
of the verdict: whatever is wrong after it may only follow from it.

Two findings are not failures: a response that leaves out what the case is about, as a server may
(`Untested`), and one that shows nothing, such as a timeout (`Unread`).

Rules that every exchange must keep are not judged here, but in `observed`: one breach that shows
everywhere would fail every case, and hide what each of them is about.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from v2_conformance.judging.availability import asks_to_wait, plea
from v2_conformance.judging.checks import apply_checks
from v2_conformance.judging.compare import compare_readings, compare_tensors, values_shown
from v2_conformance.judging.messages.response import (
    ReadMessage,
    decode_answer,
    decode_body,
    read_document,
    read_message,
)
from v2_conformance.judging.messages.response_json import is_error, parse_noting
from v2_conformance.judging.request_words import describe_request
from v2_conformance.judging.verdict import Finding, Unread, Untested, Verdict
from v2_conformance.protocol.message import MessageError
from v2_conformance.suite.cases import GetCase, RelationCase, RequestCase
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import excerpt, printable
from v2_conformance.suite.causes.causes import Cause, NotDone, SecondAnswerWrong
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.requests import Expected, Prepared
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, Limits, Response

_SHOWN = 20
_REFUSED_FROM = {413: 64 * 1024, 400: 1024 * 1024}
"""The size of a body beyond which a status refuses it. Less is taken by every server."""


def judge(case: RequestCase | GetCase, prepared: Prepared, exchange: Exchange) -> Verdict:
    """Return the verdict on one exchange, from nothing but its bytes."""
    response = exchange.response or exchange.refusal
    try:
        if case.expects == "survives" and exchange.ending is not Ending.REFUSED:
            if response is not None:  # it passes if it passes the checks of the case
                apply_checks(case, prepared, response, None)
            return Verdict(Outcome.PASS, None, *describe_request(case, prepared))
        if response is None:
            raise _of_ending(prepared, exchange)
        _check_answered(case, prepared, response)
        if prepared.to_old_client and response.framing == "chunked":
            raise Finding(kinds.ChunksToOldClient())
        decoded = _decoded(prepared, response)
        if isinstance(case, GetCase):
            if decoded.status != 200:
                raise Finding(kinds.WrongStatus("200", decoded.status, excerpt(decoded.body)))
            apply_checks(case, prepared, decoded, None)
            return Verdict(Outcome.PASS)
        verdict = _judge_request(case, prepared, decoded)
        following, answer = prepared.following, response.following
        while following is not None and answer is not None:
            _check_answered(case, following, answer)
            try:
                judge_success(following.expected, _decoded(following, answer))
            except Finding as finding:
                raise type(finding)(SecondAnswerWrong(finding.cause)) from finding
            following, answer = following.following, answer.following
        return verdict
    except Finding as finding:
        return Verdict(finding.outcome, finding.cause, *describe_request(case, prepared))


def judge_success(
    expected: tuple[Expected, ...],
    response: Response,
    compare: str = "bits",
    one_of: Sequence[Sequence[object]] = (),
) -> ReadMessage:
    """Raise Finding unless the response has the expected outputs (`compare_tensors` has the ways to
    `compare`, and `one_of` is that of cases)."""
    if response.status != 200:
        raise Finding(kinds.WrongStatus("200", response.status, excerpt(response.body)))
    message = read_message(response)
    for item in expected:
        _judge_output(item, message, compare, one_of)
    return message


def _decoded(prepared: Prepared, response: Response) -> Response:
    if not response.whole:  # half of a coding decodes to nothing that the server said
        return response
    return decode_body(response, prepared.codings, limit=Limits().response_to(prepared.body_size))


def canary_problem(expected: tuple[Expected, ...], exchange: Exchange) -> Cause | None:
    """Return what is wrong with the answer to a known-good request, None if it is exact."""
    response = exchange.response
    if response is None:
        return kinds.NoResponse(exchange.ending, printable(exchange.detail))
    try:
        exact = tuple(replace(item, form="any") for item in expected)
        judge_success(exact, decode_answer(response, bytes(exchange.request)))
    except Finding as finding:
        return finding.cause
    return None


def _check_answered(case: RequestCase | GetCase, prepared: Prepared, response: Response) -> None:
    """Raise Unread if the server asks to wait, and Untested for what it may decline whatever the
    case is about.

    411 to a body without Content-Length: RFC 9112, section 6.3. 413, or 400 to what is larger than
    any body that a MUST needs: RFC 9110, section 15.5.14; a case that is about size says so, and is
    judged.
    """
    if asks_to_wait(response):
        raise Unread(plea(response))
    body = excerpt(response.body)
    if response.status == 411 and prepared.chunked:
        raise Untested(kinds.LengthRequired(body))
    variation = dict(prepared.declined_by).get(response.status)
    if variation is not None:
        raise Untested(kinds.VariationDeclined(variation, response.status, body))
    size, limit = prepared.body_size, _REFUSED_FROM.get(response.status)
    if limit is not None and size > limit and not case.expect.get("about_size"):
        raise Untested(kinds.BodyTooLarge(size, limit, body, response.status))


def _judge_request(case: RequestCase, prepared: Prepared, response: Response) -> Verdict:
    settled = Outcome.DISPUTED if case.level == "DISPUTED" else Outcome.PASS
    rejected = is_error(response)
    if case.expects == "either" and rejected:
        return Verdict(settled, kinds.Rejected(response.status))
    if case.expects == "reject":
        if not rejected:
            raise _accepted(case, prepared, response)
        apply_checks(case, prepared, response, None)
        return Verdict(settled, kinds.Rejected(response.status))
    if case.expect.get("compare") == "nothing" and response.status == 200:
        _check_json(case, response)
        apply_checks(case, prepared, response, None)
        return Verdict(Outcome.PASS, kinds.AnsweredInJson())
    usual = "computed" if isinstance(case, RelationCase) else "bits"
    compare, one_of = case.expect.get("compare", usual), case.expect.get("one_of", ())
    message = judge_success(prepared.expected, response, compare, one_of)
    try:
        apply_checks(case, prepared, response, message)
    except Finding as finding:
        if case.level != "MAY":
            raise
        return Verdict(Outcome.PASS, NotDone(finding.cause))
    if not _all_known(prepared.expected):
        return Verdict(Outcome.INCONCLUSIVE, kinds.NothingToCompare(case.model))
    if one_of:
        return Verdict(settled, kinds.AnsweredWith("; ".join(map(values_shown, message.outputs))))
    if case.expects == "disputed":
        forms = {output.form for output in message.outputs}
        return Verdict(Outcome.DISPUTED, kinds.AnsweredInForm(tuple(sorted(forms))))
    return Verdict(settled, kinds.Accepted() if case.expects == "either" else None)


def _check_json(case: RequestCase, response: Response) -> None:
    try:
        read_document(response)
    except Finding as finding:
        no_json = isinstance(
            finding.cause, kinds.BodyNotJson | kinds.BodyNotUtf8 | kinds.HeaderLengthNotJson
        )
        if no_json and case.expect.get("not_json") == "unsupported":
            raise Untested(finding.cause) from finding
        raise


def _accepted(case: RequestCase, prepared: Prepared, response: Response) -> Finding:
    if case.expect.get("accepted") == "unsupported":
        return Untested(kinds.NoErrorToJudge(response.status))
    if "exact" in case.expect and not _all_known(prepared.expected):
        return Unread(kinds.NothingToCompare(case.model))
    if "exact" in case.expect and _is_exact(prepared.expected, response):
        return Finding(kinds.AnsweredExactly(response.status))
    return Finding(kinds.AcceptedInvalidRequest(response.status, excerpt(response.body)))


def _all_known(expected: tuple[Expected, ...]) -> bool:
    return all(item.known for item in expected)


def _is_exact(expected: tuple[Expected, ...], response: Response) -> bool:
    try:
        judge_success(expected, response)
    except Finding:
        return False
    return bool(expected)


def _judge_output(
    item: Expected, message: ReadMessage, compare: str, one_of: Sequence[Sequence[object]]
) -> None:
    results = [output for output in message.outputs if output.tensor.name == item.tensor.name]
    label = printable(item.tensor.name)
    if not results:
        names = [printable(output.tensor.name, 60) for output in message.outputs[:_SHOWN]]
        raise Finding(kinds.MissingOutput(label, tuple(names)))
    for output in results:
        if item.form not in ("any", output.form):
            raise Finding(kinds.WrongForm(label, item.form, output.form))
        if not item.known:
            continue
        if one_of:
            compare_readings(item.tensor, output, one_of, tolerance=item.tolerance)
        else:
            compare_tensors(item.tensor, output, compare=compare, tolerance=item.tolerance)


def _of_ending(prepared: Prepared, exchange: Exchange) -> Finding:
    ending, partial = exchange.ending, exchange.partial
    received, detail = len(exchange.received), printable(exchange.detail)
    if ending is Ending.REFUSED:
        return Unread(kinds.ConnectionRefused(detail))
    early = ending is Ending.TIMEOUT and exchange.shortened_ms is not None
    seconds = round(exchange.duration_ms / 1000, 1)
    if prepared.following is not None and partial is not None and partial.whole:
        if early:
            return Unread(kinds.TimedOutEarly(seconds, received))
        return Finding(SecondAnswerWrong(kinds.NoResponse(ending, detail)))
    broke_off = ending in (Ending.TIMEOUT, Ending.CLOSED, Ending.RESET)
    if broke_off and partial is not None and _whole(prepared, partial):
        promised = printable(partial.value("content-length"), 60)
        return Finding(kinds.ContentLengthTooLong(len(partial.body), promised))
    if early:
        return Unread(kinds.TimedOutEarly(seconds, received))
    if ending is Ending.TIMEOUT:
        return Unread(kinds.TimedOut(seconds, received, detail))
    if ending in (Ending.CLOSED, Ending.RESET):
        return Finding(kinds.ConnectionClosed(received, detail))
    malformed = ending is Ending.MALFORMED
    return Finding(kinds.NotHttp(detail) if malformed else kinds.ResponseTooLarge(detail))


def _whole(prepared: Prepared, partial: Response) -> bool:
    """Return True if the part of a response that arrived is a whole message or error already."""
    if partial.framing != "content-length":
        return False
    try:
        response = _decoded(prepared, partial)
        if is_error(response):
            parse_noting(response.body)
        else:
            read_message(response)
    except (Finding, MessageError):
        return False
    return True
