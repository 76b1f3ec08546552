"""A server that hangs fails, a slow one does not, and neither takes a run more than its time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.cases import REJECT, make_case, prepared
from support.responses import exchange_of, http
from support.runs import chosen, made, results, target_of
from support.servers import Peer, Scripted, served, serving
from v2_conformance.cli.main import main
from v2_conformance.judging.verdict import Verdict
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.patience import Budget, Hangs, default_limit_s
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.suite.causes.kinds import (
    ConnectionClosed,
    Hung,
    OutOfTime,
    TimedOut,
    TimedOutEarly,
)
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.verification import verify
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, Limits

SHORT_S = 0.3
FAILED = Verdict(Outcome.FAIL, ConnectionClosed(0, ""))
Answers = Callable[[bytes, Peer], bytes | None]
"""The answer to a request, None to leave it without one."""


@contextmanager
def answering(answers: Answers) -> Iterator[Scripted]:
    def talk(peer: Peer) -> None:
        while True:
            request = peer.request()
            answer = answers(request, peer)
            if answer is None:
                peer.until_closed()
                return
            peer.send(answer)

    with serving(talk) as server:
        yield server


def hanging(*marks: bytes) -> Answers:
    """No answer to requests with one of the marks in them."""
    return lambda request, _: None if any(mark in request for mark in marks) else served(request)


def rejecting_nothing(request: bytes, _: Peer) -> bytes | None:
    """No answer to what it has to reject."""
    answer = served(request)
    return answer if b" 200 " in answer[:20] else None


@pytest.fixture
def whatever_its_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server counts as quick enough to tell a hang from a slow answer, however busy the machine
    is: a known-good request may take as long as it likes beside time-outs that are short."""
    monkeypatch.setattr("v2_conformance.judging.survival._SLOWER", 0)


@pytest.mark.usefixtures("whatever_its_pace")
def test_a_negative_request_without_an_answer_is_a_hang_and_fails_r3(tmp_path: Path) -> None:
    cases = chosen("S6/", "R3/observed")
    with answering(rejecting_nothing) as server:
        found = results(target_of(server.url, timeout=SHORT_S), cases)
    first = next(iter(found.values()))
    assert first.outcome is Outcome.FAIL
    assert isinstance(first.cause, Hung)
    assert first.cause.received == 0
    assert first.cause.known_good_ms < 1000 * SHORT_S
    assert found["R3/observed"].outcome is Outcome.FAIL
    assert "this request hung" in found["R3/observed"].message


@pytest.mark.usefixtures("whatever_its_pace")
@pytest.mark.parametrize(
    ("prefix", "mark"),
    [
        ("H8/", b"Inference-Header-Content-Length: "),
        ("P14/no-content-type[", None),
        ("O6/", b'"binary_data_output":true'),
    ],
)
def test_a_hang_at_any_level_fails_r3(prefix: str, mark: bytes | None) -> None:
    (first, *_) = chosen(prefix)
    assert first.level != "MUST"

    def at_the_case(request: bytes, _: Peer) -> bytes | None:
        head = request.partition(b"\r\n\r\n")[0]
        if prefix == "H8/":  # its value is no number, which the usual server rejects
            answer = served(request)
            return answer if b"200" in answer[:13] else None
        met = (
            b"/infer " in head and b"Content-Type" not in head if mark is None else mark in request
        )
        return None if met else served(request)

    with answering(at_the_case) as server:
        found = results(target_of(server.url, timeout=SHORT_S), [first, *chosen("R3/observed")])
    assert (found[first.id].outcome, type(found[first.id].cause)) == (Outcome.FAIL, Hung)
    assert found["R3/observed"].outcome is Outcome.FAIL


@pytest.mark.usefixtures("whatever_its_pace")
def test_a_valid_request_without_an_answer_is_a_failure_of_its_own() -> None:
    with answering(hanging(b"\n    ")) as server:
        cases = chosen("H1/honoured[medium,INT32]", "R3/survives", "R3/observed")
        found = results(target_of(server.url, timeout=SHORT_S), cases)
    victim = found["H1/honoured[medium,INT32]"]
    assert (victim.outcome, type(victim.cause)) == (Outcome.FAIL, Hung)
    assert found["R3/observed"].outcome is Outcome.PASS


def test_a_server_whose_known_good_answers_take_long_does_not_hang() -> None:
    def slow(request: bytes, peer: Peer) -> bytes | None:
        if b"\n    " in request:
            return None
        if b"/infer " in request:
            peer.left(within_s=0.05)
        return served(request)

    with answering(slow) as server:
        found = results(target_of(server.url, timeout=0.5), chosen("H1/honoured[medium,INT32]"))
    (result,) = found.values()
    assert (result.outcome, type(result.cause)) == (Outcome.INCONCLUSIVE, TimedOut)


def test_after_two_hangs_the_time_limit_shrinks_until_many_cases_got_an_answer() -> None:
    hangs = Hangs(Limits(exchange_s=30))
    case = make_case(REJECT)
    usual = prepared(case).request
    for _ in range(2):
        assert hangs.hurried(True, usual, 0.001) is usual
        hangs.note(case, Verdict(Outcome.FAIL, Hung(30.0, 0, 5)))
    assert hangs.hurried(True, usual, 0.001).limit_s == 0.25
    slower = hangs.hurried(True, usual, 0.3).limit_s
    assert slower is not None
    assert 1.2 <= slower < 1.3
    assert hangs.hurried(True, usual, 8.0) is usual
    assert hangs.hurried(False, usual, 0.001) is usual  # it is of another kind
    hangs.note(case, Verdict(Outcome.INCONCLUSIVE, TimedOutEarly(1.0, 0)))
    hangs.note(case, Verdict(Outcome.PASS))
    assert hangs.hurried(True, usual, 0.001).limit_s == 0.25
    for _ in range(120):
        hangs.note(case, Verdict(Outcome.PASS))
    assert hangs.hurried(True, usual, 0.001) is usual


@pytest.mark.usefixtures("whatever_its_pace")
def test_a_run_that_waits_no_longer_says_so_and_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("v2_conformance.runs.patience._FLOOR_S", 0.02)
    with answering(rejecting_nothing) as server:
        arguments = ["--timeout", "1", "--case", "S6", "--case", "S2", "--case", "R3/observed"]
        arguments += ["--require", "robust", "--report-dir", str(tmp_path)]
        assert main(["run", server.url, *arguments]) == 1
    report = load_report(tmp_path / REPORT)
    hung = [case for case in report.cases if isinstance(case.cause, Hung)]
    early = [case for case in report.cases if isinstance(case.cause, TimedOutEarly)]
    assert len(hung) == 2
    assert len(early) > 3
    assert {case.outcome for case in early} == {Outcome.INCONCLUSIVE}
    assert "of this kind got no answer" in early[0].message
    assert verify(tmp_path / REPORT, suite_cases()).exit_code == 0


def test_after_unanswered_known_good_requests_the_last_gets_little_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("v2_conformance.runs.canary._HURRIED_S", 0.02)
    names = [f"P2/blob-follows-json[{name}]" for name in ("BOOL", "INT8", "INT16")]
    with answering(hanging(b"/infer ")) as server:
        target = target_of(server.url, timeout=SHORT_S)
        report = load_report(made(tmp_path / "report", target, chosen(*names)))
    asked = {one.role: one.exchanges for one in report.calibration}
    hurried = {role: [e.shortened_ms is not None for e in sent] for role, sent in asked.items()}
    assert hurried == {
        "identity/BOOL": [False, False, False],
        "identity/INT8": [False, True],
        "identity/INT16": [True],
    }
    assert verify(tmp_path / "report" / REPORT, suite_cases()).exit_code == 0


@pytest.mark.parametrize("gave_up", [b"", http(b"no", 504)], ids=["closes", "says so"])
def test_giving_up_first_keeps_a_run_no_longer_than_a_hang(
    gave_up: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("v2_conformance.judging.availability._NO_REFUSAL_MS", SHORT_S * 1000)
    monkeypatch.setattr("v2_conformance.runs.canary._HURRIED_S", 0.02)
    monkeypatch.setattr("v2_conformance.runs.patience._LONGEST_UNASKED_S", SHORT_S)

    def talk(peer: Peer) -> None:
        while True:
            request = peer.request()
            if b"/infer " not in request:
                peer.send(served(request))
            elif not peer.left(within_s=2 * SHORT_S):
                peer.send(gave_up)
                return

    names = [f"P2/blob-follows-json[{name}]" for name in ("BOOL", "INT8", "INT16")]
    with serving(talk) as server:
        report = load_report(made(tmp_path / "report", target_of(server.url), chosen(*names)))
    sent = [e.shortened_ms is not None for one in report.calibration for e in one.exchanges]
    assert sent == [False] * 4 + [True] * 2
    assert {case.outcome for case in report.cases} == {Outcome.INCONCLUSIVE}
    assert "after 0.6 s" in report.cases[0].message
    assert verify(tmp_path / "report" / REPORT, suite_cases()).exit_code == 0


@pytest.mark.parametrize(
    ("came", "counts"),
    [
        (exchange_of(b"", Ending.CLOSED), True),
        (exchange_of(b"", Ending.RESET), True),
        (exchange_of(http(b"no", 504)), True),
        (exchange_of(http(b"no", 400)), False),
        (exchange_of(b"", Ending.TIMEOUT), False),  # unless a known-good request is answered then
    ],
)
def test_what_ended_without_an_answer_after_seconds_counts_as_a_hang(
    came: Exchange, counts: bool
) -> None:
    hangs = Hangs(Limits(exchange_s=30))
    case = make_case(REJECT)
    usual = prepared(case).request
    for seconds, hurries in ((0.5, False), (5.0, counts)):
        for _ in range(2):
            hangs.note(case, FAILED, [replace(came, duration_ms=seconds * 1000)])
        assert (hangs.hurried(True, usual, 0.001) is not usual) is hurries


# The budget.


def test_a_run_ends_when_its_time_is_spent_and_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started = time.monotonic()
    with answering(hanging(b"/infer ")) as server:
        arguments = ["--timeout", "1", "--max-time", "0.5", "--report-dir", str(tmp_path)]
        code = main(["run", server.url, "--case", "H*", *arguments])
    assert code == 3
    assert time.monotonic() - started < 30
    assert "for at most 0.5 s (--max-time)" in " ".join(capsys.readouterr().err.split())
    report = load_report(tmp_path / REPORT)
    assert not report.complete
    left = [case for case in report.cases if isinstance(case.cause, OutOfTime)]
    assert {case.outcome for case in left} == {Outcome.NOT_RUN}
    assert len(left) > 50
    assert any("incomplete" in reason for reason in report.verdict.reasons)
    assert verify(tmp_path / REPORT, suite_cases()).exit_code == 0


def test_what_failed_beside_others_is_not_run_once_the_time_is_spent() -> None:
    now = [0.0]

    def answers(request: bytes, _: Peer) -> bytes:
        if b"/infer " in request and b'"shape":[3]' not in request:
            now[0] = 11
        return wrong(request)

    cases = chosen("P2/blob-follows-json[INT32]", "P2/blob-follows-json[FP32]")
    with answering(answers) as server:
        target = target_of(server.url)
        engine = Engine(target, discover(target), budget=Budget(10, clock=lambda: now[0]))
        found = [event.result for event in run(engine, cases, 2)]
    assert {type(result.cause) for result in found} == {OutOfTime}
    assert engine.out_of_time


def wrong(request: bytes) -> bytes:
    answer = served(request)
    if b"/infer " not in request or b'"shape":[3]' in request:
        return answer
    return answer[:-1] + bytes([answer[-1] ^ 1])


def test_the_usual_time_is_far_more_than_a_slow_server_needs() -> None:
    cases = len(suite_cases())
    exchanges = 3 * cases
    assert default_limit_s(cases, Limits.exchange_s) > exchanges * 0.3 * 2
    assert default_limit_s(cases, Limits.exchange_s) < 3 * 3600
    assert default_limit_s(1, 0.1) == 600


def test_a_request_before_a_case_that_gets_no_answer_counts_as_a_hang() -> None:
    hangs = Hangs(Limits(exchange_s=30))
    usual = prepared(make_case()).request
    for _ in range(2):
        assert hangs.hurried(True, usual, 0.001) is usual
        hangs.note_before()
    assert hangs.hurried(True, usual, 0.001).limit_s == 0.25
    assert hangs.hurried(False, usual, 0.001) is usual
