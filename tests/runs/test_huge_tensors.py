"""L2: tensors longer than memory, here with fewer bits, against servers good and bad."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.runs import results, target_of
from support.servers import Peer, Script, connected, serving, steps
from v2_conformance.cli.main import main
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.judge import judge
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import JsonObject
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import load_report
from v2_conformance.runs.budget import usual_limit_s
from v2_conformance.runs.result import Result
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.causes.findings import (
    HeaderLengthMissing,
    LeftoverBytes,
    UnrequestedCoding,
)
from v2_conformance.suite.causes.output_findings import (
    BlobPastBody,
    WrongForm,
    WrongShape,
    WrongValue,
)
from v2_conformance.suite.causes.passes import Rejected as RejectedCause
from v2_conformance.suite.causes.transport_findings import (
    BodyNotTaken,
    BodyTooLarge,
    ConnectionClosed,
)
from v2_conformance.suite.choosing.shrunk import shrunk
from v2_conformance.suite.choosing.sizes import huge_sizes
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.models import ModelContract
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.values.offset_pattern import pattern_digest
from v2_conformance.wire.encode.deployment import Address, DeployedModel
from v2_conformance.wire.encode.requests import prepare
from v2_conformance.wire.transcript import Limits
from v2_mutants.faults import FAULTS
from v2_mutants.servers import MutantServer

FEWER = 14
LONGER = next(case for case in suite_cases(huge=True) if case.huge)
HUGE = [case for case in shrunk(suite_cases(huge=True), FEWER) if case.huge]
FOUR = "L2/tensor-over-four-gibibytes"
LONG = 2**17


def run(server: ReferenceServer, cases: Sequence[Case] = HUGE) -> dict[str, Result]:
    with server:
        return results(target_of(server.url, timeout=20), cases)


@pytest.mark.parametrize("variant", [None, "chunked-responses", "length-by-close", "tiny-chunks"])
def test_a_server_that_carries_them_passes_however_it_frames_them(variant: str | None) -> None:
    found = run(MutantServer(variants=[variant] if variant else []))
    assert {result.outcome for result in found.values()} == {Outcome.PASS}
    for result in found.values():
        own, *canaries = result.exchanges
        streamed = own.transcript.streamed
        assert streamed is not None
        assert streamed.tensor == streamed.size > LONG
        assert len(own.transcript.request) + len(own.transcript.received) < LONG
        assert canaries


@pytest.mark.parametrize("fault", [f.name for f in FAULTS.values() if f.requirement == "L2"])
def test_lengths_in_words_of_32_bits_are_noticed(fault: str) -> None:
    found = run(MutantServer([fault], word_bits=32 - FEWER))
    assert found[FOUR].outcome is Outcome.FAIL
    assert found[FOUR].message
    assert ("31" in fault or "2-gib" in fault) is all(
        result.outcome is Outcome.FAIL for result in found.values()
    )


class _Changed(Behaviour):
    """Changes what comes back of a long tensor."""

    def change(self, blob: Buffer) -> Sequence[Buffer]:
        return [blob]

    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        changed = [p for b in blobs for p in (self.change(b) if len(b) > LONG else [b])]
        return super().response_body(text, changed)


class _Short(_Changed):
    def change(self, blob: Buffer) -> Sequence[Buffer]:
        return [blob[:-1]]


class _Longer(_Changed):
    def change(self, blob: Buffer) -> Sequence[Buffer]:
        return [blob, b"x"]


class _Endless(_Changed):
    def change(self, blob: Buffer) -> Sequence[Buffer]:
        return [blob, bytes(2 << 20)]


class _Shifted(_Changed):
    def change(self, blob: Buffer) -> Sequence[Buffer]:
        return [blob[8:], blob[:8]]


class _OtherShape(Behaviour):
    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        return entry | ({"shape": [1, *tensor.shape]} if len(tensor.blob) > LONG else {})


class _NoHeaderLength(Behaviour):
    def response_header_length(self, text: bytes, blobs: Sequence[Buffer]) -> str | None:
        long = any(len(blob) > LONG for blob in blobs)
        return None if long else super().response_header_length(text, blobs)


class _Json(Behaviour):
    def infer(self, model: ModelContract, request: Request) -> Response:
        response = super().infer(model, request)
        if len(request.body) <= LONG:
            return response
        name = model.outputs[0].name
        document = {"outputs": [{"name": name, "shape": [1], "datatype": "INT64", "data": [1]}]}
        return self.json_response(document)


class _Coded(Behaviour):
    def finish(self, request: Request, response: Response) -> Response:
        if len(request.body) <= LONG:
            return response
        fields = (*response.headers, ("Content-Encoding", "gzip"))
        return Response(response.status, fields, response.body, response.keep_open)


@pytest.mark.parametrize(
    ("behaviour", "cause"),
    [
        (_Short, BlobPastBody),
        (_Longer, LeftoverBytes),
        (_Shifted, WrongValue),
        (_OtherShape, WrongShape),
        (_NoHeaderLength, HeaderLengthMissing),
        (_Json, WrongForm),
        (_Coded, UnrequestedCoding),
    ],
)
def test_each_wrong_answer_fails_for_its_own_reason(
    behaviour: type[Behaviour], cause: type, start: Callable[[type[Behaviour]], ReferenceServer]
) -> None:
    server = start(behaviour)
    found = results(target_of(server.url, timeout=20), HUGE)
    assert {result.outcome for result in found.values()} == {Outcome.FAIL}
    assert {type(result.cause) for result in found.values()} == {cause}


def test_an_answer_without_end_fails(
    start: Callable[[type[Behaviour]], ReferenceServer],
) -> None:
    found = results(target_of(start(_Endless).url, timeout=20), HUGE[:1])
    (result,) = found.values()
    assert result.outcome is Outcome.FAIL
    assert "too large" in result.message


class _Refuses(Behaviour):
    def check_head(self, request: Request) -> None:
        if int((request.values("content-length") or ["0"])[0]) > LONG:
            raise Rejected("too much", 413)


class _RefusesLate(Behaviour):
    def infer(self, model: ModelContract, request: Request) -> Response:
        if len(request.body) > LONG:
            raise Rejected("too much", 400)
        return super().infer(model, request)


def test_a_server_may_reject_them(
    start: Callable[[type[Behaviour]], ReferenceServer],
) -> None:
    (late, *_) = results(target_of(start(_RefusesLate).url, timeout=20), HUGE[:1]).values()
    assert (late.outcome, late.cause) == (Outcome.PASS, RejectedCause(400))
    (early, *_) = results(target_of(start(_Refuses).url, timeout=20), HUGE[:1]).values()
    assert early.outcome is Outcome.UNSUPPORTED
    assert isinstance(early.cause, BodyTooLarge)


def sent_to(script: Script) -> Verdict:
    """The verdict on a case whose tensor is longer than what sockets hold, by its own exchange."""
    (longer,) = shrunk([LONGER], 6)
    assert isinstance(longer, RequestCase)
    made = prepare(longer, Address("h"), DeployedModel("identity/INT64", "m", ("IN",), ("OUT",)))
    with serving(script) as server, connected(server) as connection:
        came = connection.exchange(made.request)
    assert came.streamed is not None
    assert came.sent < came.asked
    left = max(0, came.sent - len(came.request))
    assert came.streamed.sha256 == pattern_digest(left)
    return judge(longer, made, came)


def test_closing_in_the_middle_declines_them() -> None:
    closes = steps(lambda peer: peer.exactly(LONG))

    def resets(peer: Peer) -> None:
        closes(peer)
        peer.reset()

    for script in (closes, resets):
        verdict = sent_to(script)
        assert verdict.outcome is Outcome.UNSUPPORTED
        assert isinstance(verdict.cause, BodyNotTaken)


def test_an_early_answer_ends_the_sending() -> None:
    refuses = steps(
        Peer.head,
        b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n{}",
        Peer.until_closed,
    )
    verdict = sent_to(refuses)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert isinstance(verdict.cause, BodyTooLarge)


def test_closing_in_the_middle_of_an_answer_fails() -> None:
    verdict = sent_to(steps(Peer.head, b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n{"))
    assert verdict.outcome is Outcome.FAIL
    assert isinstance(verdict.cause, ConnectionClosed)


def test_datatypes_that_a_server_lacks_decline_them(server: ReferenceServer) -> None:
    lacking = replace(target_of(server.url), unsupported=frozenset({"INT64", "UINT8"}))
    found = results(lacking, HUGE)
    assert {result.outcome for result in found.values()} == {Outcome.UNSUPPORTED}


def test_more_time_for_more_bytes() -> None:
    limits = Limits(exchange_s=30)
    assert limits.exchange_with(0) == 30
    assert 240 < limits.exchange_with(2**31) < limits.exchange_with(2**32) < 600
    few = [case for case in suite_cases(huge=True) if case.huge]
    assert usual_limit_s(few, limits, None) > sum(map(limits.exchange_with, huge_sizes(few)))


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [-1], "values": "offsets"},
        {"shape": [8], "values": "counting"},
        {"shape": [8], "values": "offsets", "form": "json"},
        {"shape": [2**41], "values": "offsets"},
    ],
)
def test_a_huge_case_of_another_form_is_a_mistake_of_its_author(change: dict[str, Any]) -> None:
    assert isinstance(LONGER, RequestCase)
    case = replace(LONGER, request={"inputs": [change]})
    with pytest.raises(CaseFileError, match=re.escape(f"{case.id}: ")):
        prepare(case, Address("h"), DeployedModel("identity/INT64", "m", ("IN",), ("OUT",)))


@pytest.mark.skipif(not os.environ.get("V2_HUGE"), reason="it takes minutes and 5 GB: tox -e huge")
def test_tensors_over_two_and_four_gibibytes_go_both_ways(tmp_path: Path) -> None:
    assert main(["run", "--huge", "--case", "L2", "--report-dir", str(tmp_path)]) == 0
    report = tmp_path / "report.json"
    assert {case.outcome for case in load_report(report).cases} == {Outcome.PASS}
    assert main(["verify", str(report)]) == 0
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 10**6


@pytest.mark.skipif(not os.environ.get("V2_HUGE"), reason="it takes minutes and 5 GB: tox -e huge")
@pytest.mark.parametrize("fault", ["offsets-in-32-bits", "declared-sizes-in-32-bits"])
def test_words_of_32_bits_are_noticed_as_they_are(fault: str) -> None:
    huge = [case for case in suite_cases(huge=True) if case.id == FOUR]
    (result,) = run(MutantServer([fault]), huge).values()
    assert result.outcome is Outcome.FAIL
