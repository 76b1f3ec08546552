"""The engine runs all kinds of cases: what it sends, what it keeps of it, and what it makes of it.

Who is blamed for a death is in test_deaths, the order of a run in test_running, and generated
requests are in test_engine_generated.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from unittest.mock import ANY

import pytest

from support.cases import make_case, make_get
from support.responses import GOOD
from support.runs import chosen, engine_for, outcomes, results, target_of
from support.servers import Peer, Start, served, serving
from v2_conformance.conversations import case as conversations
from v2_conformance.conversations.steps import Result
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.causes import SeveralWrong
from v2_conformance.suite.causes.kinds import SuiteError, WrongStatus
from v2_conformance.suite.outcomes import Outcome, Purpose

ONE_MODEL = "identity/INT32"


REQUEST = make_case(outputs=[{"tensor": 0, "binary_data": True}], id="mine")


def purposes(result: Result) -> list[Purpose]:
    return [exchange.purpose for exchange in result.exchanges]


class TestKindsOfCases:
    def test_a_request_is_sent_and_a_canary_follows_where_it_is_asked_for(self) -> None:
        with ReferenceServer() as server, engine_for(server.url) as engine:
            plain = engine.run(REQUEST)
            watched = engine.run(replace(REQUEST, canary="json"))
        assert (plain.outcome, plain.cause, plain.message) == (Outcome.PASS, None, "")
        assert purposes(plain) == [Purpose.CASE]
        assert plain.duration_s > 0
        assert purposes(watched) == [Purpose.CASE, Purpose.CANARY_SAME, Purpose.CANARY_FRESH]
        assert [exchange.expected for exchange in watched.exchanges] == [None] * 3
        same = bytes(watched.exchanges[1].request)
        assert b"Inference-Header-Content-Length" not in same

    def test_requests_sent_together_keep_one_as_a_sample(self) -> None:
        with ReferenceServer() as server, engine_for(server.url) as engine:
            result = engine.run(replace(REQUEST, together=3))
        assert (result.outcome, result.cause) == (Outcome.PASS, None)
        assert purposes(result) == [Purpose.SAMPLE]
        assert result.exchanges[0].note == "one of 15, 3 at a time"

    def test_the_first_wrong_answer_of_several_counts_and_the_number_is_told(
        self, start: Start
    ) -> None:
        class WrongTwice(Behaviour):
            numbers = itertools.count(1)

            def handle(self, request: Request) -> Response:
                mine = b'"id":"mine"' in bytes(request.body)
                if mine and next(self.numbers) in (2, 3):
                    return self.error(500, "busy")
                return super().handle(request)

        with engine_for(start(WrongTwice).url) as engine:
            result = engine.run(replace(REQUEST, together=2))
        assert result.outcome is Outcome.FAIL
        wrong = WrongStatus("200", 500, '{"error":"busy"}')
        assert result.cause == SeveralWrong(2, 10, wrong)
        assert purposes(result) == [Purpose.SAMPLE, Purpose.CANARY_FRESH]

    def test_a_get_is_judged_like_any_case_and_no_canary_follows(self) -> None:
        metadata = {"outcome": "success", "checks": ["lists_extension"]}
        with ReferenceServer() as server, engine_for(server.url) as engine:
            listed = engine.run(make_get("/v2", metadata))
            missing = engine.run(make_get("/v2/nowhere"))
        assert (listed.outcome, listed.cause) == (Outcome.PASS, None)
        assert purposes(listed) == [Purpose.CASE]
        assert bytes(listed.exchanges[0].request).startswith(b"GET /v2 HTTP/1.1\r\n")
        assert missing.outcome is Outcome.FAIL
        assert missing.cause == WrongStatus("200", 404, ANY)
        assert missing.message.startswith("expected status 200, got 404: ")
        assert missing.message.endswith(" (sent GET /v2/nowhere)")
        assert purposes(missing) == [Purpose.CASE]


class TestConnections:
    def test_a_stale_kept_connection_is_repeated_and_no_failure(self) -> None:
        def one_answer_each(peer: Peer) -> None:
            peer.send(served(peer.request()))
            peer.request()  # and closes without an answer, as an idle server may

        with serving(one_answer_each) as server, engine_for(server.url) as engine:
            found = [engine.run(case) for case in chosen("P2/blob-follows-json", "R3/survives")]
        assert {result.outcome for result in found} == {Outcome.PASS}
        assert any(purposes(result)[0] is Purpose.REPEATED for result in found)

    def test_bytes_that_nobody_asked_for_are_not_the_next_cases(self) -> None:
        answered, sent = threading.Event(), threading.Event()

        def more_than_asked(peer: Peer) -> None:
            peer.send(served(peer.request()))
            answered.wait(5)
            peer.send(GOOD)
            sent.set()
            peer.until_closed()

        def answers(peer: Peer) -> None:
            while True:
                peer.send(served(peer.request()))

        # The calibration closes its connection; the first case has the next.
        with serving(answers, more_than_asked, answers) as server:
            present = {ONE_MODEL: Target(server.url).binding(ONE_MODEL)}
            with engine_for(server.url, server=Server("s", "1", (), present)) as engine:
                first = engine.run(REQUEST)
                answered.set()
                sent.wait(5)
                second = engine.run(REQUEST)
        assert first.outcome is second.outcome is Outcome.PASS
        assert not second.exchanges[0].reused

    def test_known_good_requests_in_vain_are_not_repeated_for_each_case(self, start: Start) -> None:
        asked: list[Request] = []

        class Broken(Behaviour):
            def handle(self, request: Request) -> Response:
                if not request.target.endswith("/infer"):
                    return super().handle(request)
                asked.append(request)
                return Response(500, body=(b"{}",))

        counts: list[int] = []
        for workers in (1, 3):
            results(target_of(start(Broken).url), chosen("S2/", "H1/", "O"), workers=workers)
            counts.append(len(asked) - sum(counts))
        assert counts[1] <= 2.2 * counts[0], counts


@pytest.mark.parametrize("broken", ["judge", "prepare"])
def test_a_mistake_of_the_suite_is_an_error_and_ends_no_run(
    broken: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("at the wrong moment")  # as a mistake of an author may look

    monkeypatch.setattr(conversations, broken, fails)
    found = results(target_of(url), chosen("R3/survives"))
    assert set(outcomes(found).values()) == {Outcome.ERROR}
    for result in found.values():
        assert isinstance(result.cause, SuiteError)
        assert result.cause.error == "KeyError('at the wrong moment')"
        assert result.cause.where.startswith("test_engine.py:")
