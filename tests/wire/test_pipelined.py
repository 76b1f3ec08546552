"""Requests in one write: all answers are read, from whatever the server makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from support.cases import binding, make_case
from support.responses import http
from support.servers import Peer, same, serving
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.judge import judge
from v2_conformance.judging.verdict import Verdict
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.case_files import make_case as make_entry
from v2_conformance.suite.case_files import vary
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.causes.causes import SecondAnswerWrong
from v2_conformance.suite.causes.kinds import BodyTooLarge, NoResponse, WrongStatus
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.requests import Prepared, prepare
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending
from v2_conformance.wire.response_reader import read_again
from v2_mutants.servers import MutantServer

BINARY = [{"tensor": 0, "binary_data": True}]
CASE = vary(make_case(inputs=[{"shape": [3]}], outputs=BINARY), ["pipelined"])


BEHIND_AN_ERROR = make_entry(
    {
        "id": "V2/made-by-hand",
        "why": "For a test.",
        "model": "identity/INT32",
        "request": {"inputs": [{"shape": [3], "name": "NO_SUCH_INPUT"}]},
        "next": [
            {"request": {"inputs": [{"shape": [2]}], "outputs": BINARY}},
            {"request": {"inputs": [{"shape": [1], "form": "json"}]}},
        ],
        "variations": ["pipelined"],
        "expect": {"outcome": "reject"},
    }
)

BEFORE_A_LONG_ONE = make_entry(
    {
        "id": "V2/made-by-hand",
        "why": "For a test.",
        "model": "identity/INT32",
        "request": {"inputs": [{"shape": [3]}], "outputs": BINARY},
        "next": [{"request": {"inputs": [{"shape": [16500]}], "outputs": BINARY}}],
        "variations": ["pipelined"],
        "expect": {"outcome": "success", "outputs": {"0": "binary"}},
    }
)


def asked(url: str, case: Case = CASE) -> tuple[Prepared, Exchange]:
    assert isinstance(case, RequestCase)
    target = make_target(url, timeout=1)
    prepared = prepare(case, target.address, binding())
    connection = target.transport().connection()
    try:
        came = connection.exchange(prepared.request)
    finally:
        connection.close()
    again = read_again(bytes(came.received), came.ending, came.answers)
    assert again == came.partial or same(again) == same(came.partial)
    return prepared, came


def verdict(url: str, case: Case = CASE) -> Verdict:
    prepared, came = asked(url, case)
    assert isinstance(case, RequestCase)
    return judge(case, prepared, came)


def answers(*, number: int) -> list[bytes]:
    """The right answers to both requests, from the reference server."""
    with ReferenceServer() as server:
        _, came = asked(server.url)
    second = bytes(came.received).index(b"HTTP/1.1", 1)
    both = [bytes(came.received)[:second], bytes(came.received)[second:]]
    return both[:number]


def scripted(*pieces: bytes, close: bool = False, read: int = 2) -> Any:
    def script(peer: Peer) -> None:
        for _ in range(read):
            peer.request()
        for piece in pieces:
            peer.send(piece)
        if not close:
            peer.until_closed()

    return serving(script)


def test_a_server_that_answers_both_passes(server: ReferenceServer) -> None:
    prepared, came = asked(server.url)
    assert came.response is not None
    assert came.response.following is not None
    assert (came.response.excess, came.open, came.answers) == (0, True, 2)
    assert judge(CASE, prepared, came).outcome is Outcome.PASS


@pytest.mark.parametrize("read", [1, 2])
def test_a_server_may_close_after_the_first(read: int) -> None:
    with scripted(*answers(number=1), close=True, read=read) as server:
        prepared, came = asked(server.url)
    assert came.ending is Ending.COMPLETE
    assert judge(CASE, prepared, came).outcome is Outcome.PASS


def test_a_server_that_says_that_it_closes_is_not_waited_for() -> None:
    (first,) = answers(number=1)
    closing = first.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
    with scripted(closing) as server:
        prepared, came = asked(server.url)
    assert came.ending is Ending.COMPLETE
    assert not came.open
    assert judge(CASE, prepared, came).outcome is Outcome.PASS


def test_a_second_request_that_gets_lost_is_a_failure() -> None:
    with MutantServer(["pipelined-request-lost"]) as server:
        found = verdict(server.url)
    assert found.outcome is Outcome.FAIL
    assert found.cause == SecondAnswerWrong(NoResponse("timeout", "no complete response in time"))


def test_a_second_answer_that_is_cut_off_is_a_failure() -> None:
    first, second = answers(number=2)
    with scripted(first, second[:-1], close=True) as server:
        found = verdict(server.url)
    assert isinstance(found.cause, SecondAnswerWrong)
    assert found.outcome is Outcome.FAIL


@pytest.mark.parametrize("status", [500, 413])
def test_a_wrong_second_answer_is_a_failure(status: int) -> None:
    first, _ = answers(number=2)
    with scripted(first, http(b"{}", status)) as server:
        found = verdict(server.url)
    assert found.cause == SecondAnswerWrong(WrongStatus("200", status, "{}"))


def test_a_server_may_limit_the_size_of_a_request_behind_another() -> None:
    with MutantServer(variants=["decoded-bodies-limited"]) as server:
        found = verdict(server.url, BEFORE_A_LONG_ONE)
    assert (found.outcome, type(found.cause)) == (Outcome.UNSUPPORTED, BodyTooLarge)


def test_every_answer_behind_an_error_is_read_and_judged() -> None:
    with ReferenceServer() as server:
        prepared, came = asked(server.url, BEHIND_AN_ERROR)
        assert verdict(server.url, BEHIND_AN_ERROR).outcome is Outcome.PASS
    assert (prepared.request.answers, came.answers) == (3, 3)
    first = came.response
    assert first is not None
    assert first.following is not None
    assert [first.status, first.following.status] == [400, 200]
    assert first.following.following is not None
    received = bytes(came.received)
    third = received.rindex(b"HTTP/1.1")
    with scripted(received[:third], http(b"{}", 500), read=3) as server:
        found = verdict(server.url, BEHIND_AN_ERROR)
    assert found.cause == SecondAnswerWrong(WrongStatus("200", 500, "{}"))


def test_a_server_may_close_the_connection_behind_an_error_or_any_other_answer() -> None:
    with ReferenceServer() as server:
        received = bytes(asked(server.url, BEHIND_AN_ERROR)[1].received)
    second = received.index(b"HTTP/1.1", 1)
    for end in (second, received.rindex(b"HTTP/1.1")):
        with scripted(received[:end], close=True, read=3) as server:
            assert verdict(server.url, BEHIND_AN_ERROR).outcome is Outcome.PASS


def test_requests_behind_another_need_the_variation_that_sends_them() -> None:
    entry = {"id": "V2/made-by-hand", "why": "For a test.", "model": "identity/INT32"}
    with pytest.raises(CaseFileError, match="`next` requires the variation pipelined"):
        make_entry({**entry, "next": [{"request": {"inputs": [{"shape": [2]}]}}]})
