"""(scenario, exchanges, what the client said) → verdict. Pure.

Only a scenario's own requirement fails it, except for wrong numbers: a request that a server takes
for other tensors than the caller passed, and tensors for the user that are not the answer's.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from v2_clients.bench.answers import Answer, answer_to, make_answer
from v2_clients.bench.features import needed
from v2_clients.bench.messages import more_lines_than
from v2_clients.bench.requests import ClientRequest, UnreadableRequestError, read_client_request
from v2_clients.bench.tasks import MOST_OUTPUT, Asked, asked_of
from v2_clients.bench.turns import Turns
from v2_clients.findings import (
    ChangedHeaders,
    ClientDied,
    ClientFlooded,
    ClientGarbage,
    ClientLacks,
    ClientLate,
    ClientSaidLess,
    ClientTimedOut,
    ErrorForAnswer,
    ErrorLacks,
    ExactForError,
    IncompleteRequest,
    NoRequest,
    NumbersForError,
    ReportedError,
    RequestSent,
    TooManyRequests,
    UnreadableRequest,
    WrongMemberRead,
    WrongOutputsRead,
    WrongTarget,
)
from v2_clients.judging.callers import infer_path, shown
from v2_clients.judging.requests import check_request, is_exact
from v2_clients.judging.sent import Sent
from v2_clients.judging.tensors import narrow
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.compare import compare_tensors
from v2_conformance.judging.messages.response import ReadOutput
from v2_conformance.judging.verdict import Finding, Verdict
from v2_conformance.protocol.datatypes import DATATYPES, HALVES, ElementError, check_blob
from v2_conformance.protocol.message import Tensor
from v2_conformance.suite.cases import Case, ClientCase
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.causes import Cause, WrongReading, WrongRequest
from v2_conformance.suite.causes.kinds import InvalidTensor, ProfileNotClaimed, WrongDatatype
from v2_conformance.suite.client_lines import ClientResult, Line, ReportedTensor
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.inputs import declared_part

LATE_S = 2.0
"""Seconds that a client has to end, besides its caller's time limit."""

_SHOWN = 200


@dataclass(frozen=True)
class Step:
    """Everything received for one request of a task: each try, and the answer scripted for it.

    `label` is its number in the task, None if it is the only one. `expect` and `script` are what
    the scenario expects of it and its first answer.
    """

    label: int | None
    asked: Asked
    expect: Mapping[str, Any]
    script: Mapping[str, Any]
    tries: tuple[Sent, ...]
    answers: tuple[Answer, ...]

    @property
    def checks(self) -> Sequence[str]:
        """The names of what to check of its requests."""
        names: Sequence[str] = self.expect.get("request", ())
        return names


@dataclass(frozen=True)
class Arrived:
    """Everything received in a scenario: `of` has it by the request of the task.

    `unreadable` says why the first unreadable message is not a request. `elsewhere` is the first
    inference request to a model that the task does not have.
    """

    of: tuple[Step, ...]
    unreadable: str | None
    elsewhere: str | None


def judge_client(case: ClientCase, received: Sequence[bytes], reported: ClientResult) -> Verdict:
    """Return the verdict on a scenario in which these requests came, each as its raw bytes, in
    order.

    Raises CaseFileError for a mistake of the scenario's author.
    """
    arrived = arrange(case, asked_of(case), received)
    try:
        _check_process(reported, len(arrived.of))
    except Finding as finding:
        return Verdict(Outcome.FAIL, finding.cause)
    if reported.ended == "unsaid":
        return _of_requests(arrived.of)
    cause: Cause | None = None
    for step, line in zip(arrived.of, reported.lines, strict=True):
        if line.unsupported is not None:
            # Messages for later requests were taken for this one, which was never sent.
            what = printable(line.unsupported, _SHOWN)
            return Verdict(Outcome.UNSUPPORTED, ClientLacks(what, basic=_is_basic(step.asked)))
        try:
            _check_sent(step, arrived, line)
        except Finding as finding:
            return Verdict(Outcome.FAIL, WrongRequest(step.label, finding.cause))
        try:
            _check_reading(step, line)
        except Finding as finding:
            return Verdict(Outcome.FAIL, WrongReading(step.label, finding.cause))
        if line.error is not None and step.expect.get("reading") in ("error", "refused"):
            cause = ReportedError(printable(line.error, _SHOWN), _status(line))
        waited, limit = reported.waited_s or 0.0, case.timeout_s or math.inf
        if step.expect.get("in_time") and waited > limit + LATE_S:
            return Verdict(Outcome.FAIL, ClientLate(round(waited, 1), limit))
    return Verdict(Outcome.PASS, cause)


def _is_basic(asked: Asked) -> bool:
    """Return True if a caller wants nothing but tensors in binary form, in both directions."""
    wanted = asked.request
    options = (
        wanted.version, wanted.parameters, wanted.headers, wanted.request_compression,
        wanted.response_compression,
    )  # fmt: skip
    return (
        not any(options)
        and wanted.binary_data_output is None
        and all(
            (one.form, one.layout, one.of) == ("binary", "row-major", None) and not one.parameters
            for one in wanted.inputs
        )
        and all(one.form == "binary" and not one.parameters for one in wanted.outputs or ())
    )


def _of_requests(of: Sequence[Step]) -> Verdict:
    """Return the verdict on a scenario of which only the requests are known."""
    for step in of:
        for sent in step.tries:
            try:
                check_request(sent, step.checks)
            except Finding as finding:
                return Verdict(Outcome.FAIL, WrongRequest(step.label, finding.cause))
    return Verdict(Outcome.INCONCLUSIVE, ClientSaidLess(len(of), 0, ""))


def skipped_scenario(
    case: Case, profiles: Collection[str], lacks: Collection[str] = ()
) -> Verdict | None:
    """Return the verdict on a scenario of a profile that a client does not claim, or that needs
    what it lacks; None for any other, and for one with a mistake, which its run will say.
    """
    if case.profile not in profiles:
        return Verdict(Outcome.UNSUPPORTED, ProfileNotClaimed(case.profile))
    if not lacks or not isinstance(case, ClientCase):
        return None
    with suppress(CaseFileError):
        for asked in asked_of(case):
            if names := needed(asked.request, lacks):
                lacking = ClientLacks(", ".join(names), basic=_is_basic(asked))
                return Verdict(Outcome.UNSUPPORTED, lacking)
    return None


def arrange(case: ClientCase, asked: Sequence[Asked], received: Sequence[bytes]) -> Arrived:
    """Return the received requests by request of the task, with the script's answer to each try."""
    tries: list[list[ClientRequest]] = [[] for _ in asked]
    answers: list[list[Answer]] = [[] for _ in asked]
    unreadable: str | None = None
    elsewhere: str | None = None
    turns = Turns(asked)
    for data in received:
        try:
            request = read_client_request(data)
        except UnreadableRequestError as error:
            unreadable = unreadable or printable(str(error), _SHOWN)
            continue
        if request is None:
            unreadable = unreadable or "its head does not end"
            continue
        turn = turns.next(request)
        if turn is None:
            shown = printable(f"{request.method} {request.path}", _SHOWN)
            elsewhere = elsewhere or shown
            continue
        number, attempt = turn
        tries[number].append(request)
        script = case.answer(number, attempt)
        answers[number].append(answer_to(asked[number], script, request))
    of = []
    for number, one in enumerate(asked):
        before, earlier = tuple(asked[:number]), tuple(map(tuple, tries[:number]))
        script = case.answer(number, 0)
        came = tries[number]
        sent = tuple(Sent(one, request, came[0], before, earlier, script) for request in came)
        label = number + 1 if len(asked) > 1 else None
        expect = case.expected(number)
        of.append(Step(label, one, expect, script, sent, tuple(answers[number])))
    return Arrived(tuple(of), unreadable, elsewhere)


def _check_process(reported: ClientResult, requests: int) -> None:
    """Raise Finding for a client that hung, died or printed unreadable output."""
    if reported.ended == "timeout":
        raise Finding(ClientTimedOut(reported.seconds))
    if reported.ended == "flood":
        raise Finding(ClientFlooded(MOST_OUTPUT))
    tail = printable(reported.stderr[-_SHOWN:], _SHOWN)
    if reported.exit:
        raise Finding(ClientDied(reported.exit, tail))
    if reported.garbage is not None:
        raise Finding(ClientGarbage(printable(reported.garbage, 2 * _SHOWN)))
    if len(reported.lines) > requests:  # functions and forgers say what no output is read for
        raise Finding(ClientGarbage(more_lines_than(requests)))
    if len(reported.lines) < requests and reported.ended != "unsaid":
        raise Finding(ClientSaidLess(requests, len(reported.lines), tail))


def _check_sent(step: Step, arrived: Arrived, line: Line) -> None:
    """Raise Finding unless what came is what the caller wants sent."""
    expect = step.expect
    if expect.get("reading") == "refused":
        # The same tensors in another form are no less than an error.
        if not all(sent.request.whole and is_exact(sent) for sent in step.tries):
            raise Finding(RequestSent())
        return
    if not step.tries:
        if arrived.unreadable is not None:
            raise Finding(UnreadableRequest(arrived.unreadable))
        if expect.get("reading") == "error_or_exact" and line.error is not None:
            return
        if arrived.elsewhere is not None:
            path = f"POST {infer_path(step.asked.request)}"
            raise Finding(WrongTarget(path, arrived.elsewhere))
        raise Finding(NoRequest(None if line.error is None else printable(line.error, _SHOWN)))
    for sent in step.tries:
        early = step.answers[0].when == "head" or step.answers[0].status >= 400
        if sent.request.whole:
            check_request(sent, step.checks)
        elif not early:
            raise Finding(IncompleteRequest(sent.request.end))
    most = expect.get("most_requests", math.inf)
    if len(step.tries) > most:
        raise Finding(TooManyRequests(int(most), len(step.tries)))
    if "unchanged_headers" in step.checks and line.headers is not None:
        before, after = step.asked.request.headers, line.headers
        for name in sorted({**before, **after}):  # a report has them in this order
            old, new = before.get(name), after.get(name)
            if old != new:
                value = None if new is None else printable(new, _SHOWN)
                raise Finding(ChangedHeaders(printable(name, 60), old, value))


def _check_reading(step: Step, line: Line) -> None:
    """Raise Finding unless the user got what the scenario expects of the answer."""
    expect = step.expect
    reading = expect.get("reading", "any")
    if line.error is not None:
        if reading == "exact":
            raise Finding(ErrorForAnswer(printable(line.error, _SHOWN), _status(line)))
        _check_error(expect.get("error", {}), line)
        return
    outputs = line.outputs or ()
    answer = step.answers[-1] if step.answers else make_answer(step.asked, step.script)
    if reading == "error" or (reading == "refused" and not step.tries):
        names = shown(o.name for o in outputs)
        exact = "exact" in expect and _are_exact(answer, outputs)
        raise Finding(ExactForError(names) if exact else NumbersForError(names))
    _check_outputs(answer, outputs, strictly=reading != "any")
    for name, value in expect.get("members", {}).items():
        got = getattr(line, name)
        if got != value:
            member = None if got is None else printable(got, _SHOWN)
            raise Finding(WrongMemberRead(name, value, member))


def _check_error(expect: Mapping[str, Any], line: Line) -> None:
    """Raise Finding unless the error has what the scenario asks for."""
    error, status = line.error or "", line.status
    words, code = expect.get("says"), expect.get("status")
    shown = printable(error, _SHOWN), _status(line)
    if words is not None and words not in error:
        raise Finding(ErrorLacks(f"the server's words '{printable(words, _SHOWN)}'", *shown))
    if code is not None and status != code and str(code) not in error:
        raise Finding(ErrorLacks(f"the status {code}", *shown))


def _are_exact(answer: Answer, outputs: Sequence[ReportedTensor]) -> bool:
    declared = tuple(part for part in map(declared_part, answer.outputs) if part is not None)
    if len(declared) < len(answer.outputs):
        return False
    try:
        _check_outputs(replace(answer, outputs=declared), outputs, strictly=True)
    except Finding:
        return False
    return True


def _check_outputs(answer: Answer, outputs: Sequence[ReportedTensor], *, strictly: bool) -> None:
    expected = {tensor.name: tensor for tensor in answer.outputs}
    got = {output.name: output for output in outputs}
    if strictly and (set(expected) != set(got) or len(got) != len(outputs)):
        raise Finding(WrongOutputsRead(shown(expected), shown(o.name for o in outputs)))
    for name, tensor in expected.items():
        if name in got:
            _check_tensor(tensor, got[name], strictly=strictly)


def _check_tensor(expected: Tensor, got: ReportedTensor, *, strictly: bool) -> None:
    label = printable(got.name, 60)
    datatype, data = got.datatype, got.data
    if datatype == "FP32" and expected.datatype in HALVES and len(data) % 4 == 0:
        # FP32 loses nothing for a user without a type for halves.
        narrowed = narrow(expected.datatype, data)
        if narrowed is not None:
            datatype, data = expected.datatype, narrowed
    if datatype != expected.datatype:
        if strictly:
            raise Finding(WrongDatatype(label, expected.datatype, printable(datatype, 20)))
        return
    try:
        if datatype in DATATYPES:
            check_blob(datatype, got.shape, data)
    except ElementError as error:
        shape = str(list(got.shape))[:60]
        raise Finding(InvalidTensor(label, datatype, shape, printable(str(error)))) from error
    # Of bytes that are neither true nor false a user may get the byte, or true.
    truth = datatype == "BOOL" and any(byte > 1 for byte in expected.blob)
    tensor = Tensor(got.name, datatype, got.shape, data)
    compare_tensors(expected, ReadOutput(tensor, "json", 0), compare="truth" if truth else "bits")


def _status(line: Line) -> int | None:
    return line.status if line.status is None or 0 <= line.status < 1000 else None
