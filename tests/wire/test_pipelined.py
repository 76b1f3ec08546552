"""Requests in one write: all answers are read, from whatever the server makes of them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from support.cases import binding, make_case
from support.responses import http
from support.servers import Peer, serving, steps
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.judge import judge
from v2_conformance.judging.verdict import Verdict
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.case_files import make_case as make_entry
from v2_conformance.suite.case_files import vary
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.causes.causes import SecondAnswerWrong
from v2_conformance.suite.causes.kinds import NoResponse, TimedOutEarly, WrongStatus
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.requests import Prepared, prepare
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending
from v2_conformance.wire.response_reader import read_again

BINARY = [{"tensor": 0, "binary_data": True}]
CASE = vary(make_case(inputs=[{"shape": [3]}], outputs=BINARY), ["pipelined"])


def entry(request: Any, expect: Any, *following: Any) -> Case:
    """A case of an entry of a file, with more requests behind its own."""
    return make_entry(
        {
            "id": "V2/made-by-hand",
            "why": "For a test.",
            "model": "identity/INT32",
            "request": request,
            "next": [{"request": one} for one in following],
            "variations": ["pipelined"],
            "expect": expect,
        }
    )


BEHIND_AN_ERROR = entry(
    {"inputs": [{"shape": [3], "name": "NO_SUCH_INPUT"}]},
    {"outcome": "reject"},
    {"inputs": [{"shape": [2]}], "outputs": BINARY},
    {"inputs": [{"shape": [1], "form": "json"}]},
)


def asked(url: str, case: Case = CASE) -> tuple[Prepared, Exchange]:
    assert isinstance(case, RequestCase)
    target = make_target(url, timeout=1)
    prepared = prepare(case, target.address, binding())
    connection = target.connection()
    try:
        came = connection.exchange(prepared.request)
    finally:
        connection.close()
    assert read_again(bytes(came.received), came.ending, came.answers) == came.partial
    return prepared, came


def verdict(url: str, case: Case = CASE) -> Verdict:
    prepared, came = asked(url, case)
    assert isinstance(case, RequestCase)
    return judge(case, prepared, came)


@pytest.fixture(scope="module")
def right() -> list[bytes]:
    """The right answers to both requests of CASE, from the reference server."""
    return received_by(CASE)


def received_by(case: Case) -> list[bytes]:
    with ReferenceServer() as server:
        received = bytes(asked(server.url, case)[1].received)
    return [b"HTTP/1.1" + one for one in received.split(b"HTTP/1.1")[1:]]


def scripted(*pieces: bytes, close: bool = False, read: int = 2) -> Any:
    last = () if close else (Peer.until_closed,)
    return serving(steps(*[Peer.request] * read, *pieces, *last))


def test_a_server_that_answers_both_passes(server: ReferenceServer) -> None:
    prepared, came = asked(server.url)
    assert came.response is not None
    assert came.response.following is not None
    assert (came.response.excess, came.open, came.answers) == (0, True, 2)
    assert judge(CASE, prepared, came).outcome is Outcome.PASS


@pytest.mark.parametrize(("read", "says_so"), [(1, False), (2, False), (2, True)])
def test_a_server_may_close_after_the_first(read: int, says_so: bool, right: list[bytes]) -> None:
    first, _ = right
    if says_so:
        first = first.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
    with scripted(first, close=not says_so, read=read) as server:
        prepared, came = asked(server.url)
    assert (came.ending, came.open) == (Ending.COMPLETE, False)
    assert judge(CASE, prepared, came).outcome is Outcome.PASS


WRONG = [http(b"{}", 500), http(b"{}", 413)]


def test_a_second_answer_that_is_lost_cut_off_or_wrong_is_a_failure(right: list[bytes]) -> None:
    first, second = right
    lost = NoResponse("timeout", "no complete response in time")
    wrong = [WrongStatus("200", status, "{}") for status in (500, 413)]
    for answers, cause in zip([[], *([one] for one in WRONG)], [lost, *wrong], strict=True):
        with scripted(first, *answers) as server:
            found = verdict(server.url)
        assert (found.outcome, found.cause) == (Outcome.FAIL, SecondAnswerWrong(cause))
    with scripted(first) as server:
        prepared, came = asked(server.url)
    hurried = judge(CASE, prepared, replace(came, shortened_ms=100.0))
    assert isinstance(hurried.cause, TimedOutEarly)
    with scripted(first, second[:-1], close=True) as server:
        assert isinstance(verdict(server.url).cause, SecondAnswerWrong)


def test_every_answer_behind_an_error_is_read_and_judged_if_there_is_one() -> None:
    answers = received_by(BEHIND_AN_ERROR)
    assert [one[9:12] for one in answers] == [b"400", b"200", b"200"]
    for came in (1, 2, 3):
        with scripted(*answers[:came], close=came < 3, read=3) as server:
            assert verdict(server.url, BEHIND_AN_ERROR).outcome is Outcome.PASS
    with scripted(*answers[:2], http(b"{}", 500), read=3) as server:
        found = verdict(server.url, BEHIND_AN_ERROR)
    assert found.cause == SecondAnswerWrong(WrongStatus("200", 500, "{}"))


def test_requests_behind_another_need_the_variation_that_sends_them() -> None:
    entry = {"id": "V2/made-by-hand", "why": "For a test.", "model": "identity/INT32"}
    with pytest.raises(CaseFileError, match="`next` requires the variation pipelined"):
        make_entry({**entry, "next": [{"request": {"inputs": [{"shape": [2]}]}}]})
