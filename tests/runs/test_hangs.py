"""A server that hangs fails, a slow one does not; neither these nor a flood take a run too much."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.cases import REJECT, make_case, prepared
from support.responses import exchange_of, http
from support.runs import chosen, made, results, target_of
from support.servers import Peer, Script, always, served, serving, steps
from v2_conformance.cli.main import main
from v2_conformance.judging.verdict import Verdict
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.patience import Budget, Hangs, default_limit_s
from v2_conformance.runs.scheduling import engine as engine_module
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.verification import verify
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, Limits

SHORT_S = 0.3
FAILED = Verdict(Outcome.FAIL, kinds.ConnectionClosed(0, ""))


def hanging(mark: bytes) -> Script:
    """No answer to requests with this mark in them."""
    return always(lambda request: Peer.until_closed if mark in request else served(request))


def _rejecting_nothing(request: bytes) -> bytes | Script:
    answer = served(request)
    return answer if b" 200 " in answer[:20] else Peer.until_closed


rejecting_nothing = always(_rejecting_nothing)  # it leaves unanswered what it has to reject


@pytest.fixture
def whatever_its_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server counts as quick enough to tell a hang from a slow answer, however busy the machine
    is: a known-good request may take as long as it likes beside time-outs that are short."""
    monkeypatch.setattr("v2_conformance.judging.survival._SLOWER", 0)


@pytest.mark.usefixtures("whatever_its_pace")
@pytest.mark.parametrize(
    ("name", "hangs", "fails_r3"),
    [
        ("S6/", rejecting_nothing, True),
        ("H8/", rejecting_nothing, True),  # a SHOULD
        ("O6/", hanging(b'"binary_data_output":true'), True),  # and a MAY
        ("H1/honoured[medium,INT32]", hanging(b"\n    "), False),  # is valid
    ],
)
def test_a_hang_is_a_failure_and_of_r3_if_the_request_may_be_refused(
    name: str, hangs: Script, fails_r3: bool
) -> None:
    (first, *_) = chosen(name)
    with serving(hangs) as server:
        found = results(target_of(server.url, timeout=SHORT_S), [first, *chosen("R3/observed")])
    result = found[first.id]
    assert isinstance(result.cause, kinds.Hung)
    assert (result.outcome, result.cause.received) == (Outcome.FAIL, 0)
    assert result.cause.known_good_ms < 1000 * SHORT_S
    observed = found["R3/observed"]
    assert (observed.outcome is Outcome.FAIL) is fails_r3
    assert ("this request hung" in observed.message) is fails_r3


HUNG = Verdict(Outcome.FAIL, kinds.Hung(30.0, 0, 5))
SLOW = Verdict(Outcome.INCONCLUSIVE, kinds.TimedOut(30.0, 0, ""))
PASSED = Verdict(Outcome.PASS)
EARLY = Verdict(Outcome.INCONCLUSIVE, kinds.TimedOutEarly(1.0, 0))


def lasting(seconds: float, received: bytes, ending: Ending = Ending.COMPLETE) -> Exchange:
    return exchange_of(received, ending, duration_ms=seconds * 1000)


@pytest.mark.parametrize(
    ("noted", "known_good_s", "limit_s"),
    [
        ([(HUNG,)], 0.001, None),
        ([(HUNG,)] * 2, 0.001, 0.25),
        ([(HUNG,)] * 2, 0.3, 1.24),
        ([(HUNG,)] * 2, 8.0, None),
        ([(HUNG,)] * 2 + [(EARLY,), (PASSED,)], 0.001, 0.25),
        ([(HUNG,)] * 2 + [(EARLY,), (PASSED,)] * 24, 0.001, 0.25),
        ([(HUNG,)] * 2 + [(EARLY,), (PASSED,)] * 48, 0.001, 0.05),
        ([(HUNG,)] * 2 + [(PASSED,)] * 120, 0.001, None),
        # What ended without an answer after seconds counts as a hang.
        ([(FAILED, lasting(5, b"", Ending.CLOSED))] * 2, 0.001, 0.25),
        ([(FAILED, lasting(5, b"", Ending.RESET))] * 2, 0.001, 0.25),
        ([(FAILED, lasting(5, http(b"no", 504)))] * 2, 0.001, 0.25),
        ([(FAILED, lasting(0.5, b"", Ending.CLOSED))] * 2, 0.001, None),
        ([(FAILED, lasting(5, http(b"no", 400)))] * 2, 0.001, None),
        ([(FAILED, lasting(5, b"", Ending.TIMEOUT))] * 2, 0.001, 0.25),
        ([(SLOW, lasting(5, b"", Ending.TIMEOUT))] * 2, 0.001, None),
        ([()] * 2, 0.001, 0.25),  # a request before a case
    ],
)
def test_after_two_hangs_the_time_limit_of_their_kind_shrinks(
    noted: list[tuple[Any, ...]], known_good_s: float, limit_s: float | None
) -> None:
    hangs = Hangs(Limits(exchange_s=30))
    case = make_case(REJECT)
    usual = prepared(case).request
    for verdict, *exchanges in filter(None, noted):
        hangs.note(case, verdict, exchanges)
    for _ in range(noted.count(())):
        hangs.note_before()
    hurried = hangs.hurried(True, usual, known_good_s)
    assert hurried.limit_s == (None if limit_s is None else pytest.approx(limit_s, abs=0.05))
    assert hangs.hurried(False, usual, known_good_s) is usual


def test_a_request_before_a_case_gets_a_third_of_the_time_or_what_known_good_ones_need() -> None:
    hangs = Hangs(Limits(exchange_s=30))
    assert [hangs.before_s(known_good_s) for known_good_s in (0.001, 1.0, 8.0)] == [10, 20, 30]


@pytest.mark.usefixtures("whatever_its_pace")
def test_a_run_that_waits_no_longer_says_so_and_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("v2_conformance.runs.patience._FLOOR_S", 0.02)
    with serving(rejecting_nothing) as server:
        arguments = ["--timeout", "0.6", "--case", "S6", "--case", "S2", "--case", "R3/observed"]
        arguments += ["--require", "robust", "--report-dir", str(tmp_path)]
        assert main(["run", server.url, *arguments]) == 1
    report = load_report(tmp_path / REPORT)
    hung = [case for case in report.cases if isinstance(case.cause, kinds.Hung)]
    early = [case for case in report.cases if isinstance(case.cause, kinds.TimedOutEarly)]
    assert len(hung) == 2
    assert len(early) > 3
    assert {case.outcome for case in early} == {Outcome.INCONCLUSIVE}
    assert "of this kind got no answer" in early[0].message
    assert verify(tmp_path / REPORT, suite_cases()).exit_code == 0


GAVE_UP = {"closes": b"", "says so": http(b"no", 504), "hangs": None}


@pytest.mark.parametrize("gave_up", GAVE_UP.values(), ids=GAVE_UP)
def test_after_known_good_requests_in_vain_the_last_gets_little_time(
    gave_up: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("v2_conformance.judging.availability._NO_REFUSAL_MS", SHORT_S * 1000)
    monkeypatch.setattr("v2_conformance.runs.canary._HURRIED_S", 0.02)
    monkeypatch.setattr("v2_conformance.runs.patience._LONGEST_UNASKED_S", SHORT_S)

    def talk(peer: Peer) -> None:
        while True:
            request = peer.request()
            if b"/infer " not in request:
                peer.send(served(request))
            elif not peer.left(within_s=1.5 * SHORT_S) and gave_up is not None:
                peer.send(gave_up)
                return

    names = [f"P2/blob-follows-json[{name}]" for name in ("BOOL", "INT8", "INT16")]
    with serving(talk) as server:
        target = target_of(server.url, timeout=3 if gave_up is not None else SHORT_S)
        report = load_report(made(tmp_path / "report", target, chosen(*names)))
    sent = [e.shortened_ms is not None for one in report.calibration for e in one.exchanges]
    assert sent == [False] * 4 + [True] * 2
    assert {case.outcome for case in report.cases} == {Outcome.INCONCLUSIVE}
    assert verify(tmp_path / "report" / REPORT, suite_cases()).exit_code == 0


# The budget.


def test_what_failed_beside_others_is_not_run_once_the_time_is_spent() -> None:
    now = [0.0]

    def answers(request: bytes) -> bytes:
        if b"/infer " in request and b'"shape":[3]' not in request:
            now[0] = 11
        return wrong(request)

    cases = chosen("P2/blob-follows-json[INT32]", "P2/blob-follows-json[FP32]")
    with serving(always(answers)) as server:
        target = target_of(server.url)
        engine = Engine(target, discover(target), budget=Budget(10, clock=lambda: now[0]))
        found = [event.result for event in run(engine, cases, 2)]
    assert {type(result.cause) for result in found} == {kinds.OutOfTime}
    assert engine.out_of_time


def wrong(request: bytes) -> bytes:
    answer = served(request)
    if b"/infer " not in request or b'"shape":[3]' in request:
        return answer
    return answer[:-1] + bytes([answer[-1] ^ 1])


def test_the_usual_time_is_far_more_than_a_slow_server_needs() -> None:
    cases = len(suite_cases())
    usual = default_limit_s(cases, Limits.exchange_s)
    assert 3 * cases * 0.3 * 2 < usual < 3 * 3600
    assert default_limit_s(1, 0.1) == 600


# A server that floods every case; tests/hostile has other kinds.

MIB = 1 << 20


def memory(name: str) -> int:
    """A figure of this process's memory, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="no process learns its peak of memory here"
)
@pytest.mark.parametrize(
    "flood",
    [
        steps(b"HTTP/1.1 200 OK\r\n\r\n", lambda peer: peer.forever(bytes(1000))),
        steps(http(bytes(MIB))),
    ],
    ids=["endless", "whole"],
)
def test_a_server_that_floods_every_case_fills_no_disk(
    flood: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "MOST_SURPLUS", 20 * MIB)
    answers = always(lambda request: flood if b"/infer " in request else served(request))
    chosen = [
        argument for name in ("H1/*", "H2/*", "H6/*", "M7/*") for argument in ("--case", name)
    ]
    Path("/proc/self/clear_refs").write_text("5")  # from here on the peak is counted anew
    before = memory("VmRSS")
    with serving(answers) as server:
        arguments = [*chosen, "--timeout", "10", "--report-dir", str(tmp_path)]
        assert main(["run", server.url, *arguments]) == 1
    assert memory("VmHWM") - before < 500 * MIB
    cases = load_report(tmp_path / REPORT).cases
    flooded = [case for case in cases if isinstance(case.cause, kinds.Flooded)]
    assert {case.outcome for case in flooded} == {Outcome.INCONCLUSIVE}
    assert not any(case.exchanges for case in flooded)
    assert {case.outcome for case in cases if case not in flooded} == {Outcome.FAIL}
    assert 0 < len(cases) - len(flooded) < 20 < len(cases)  # an endless one counts as 8 MiB
    assert (tmp_path / REPORT).stat().st_size < 60 * MIB
    assert verify(tmp_path / REPORT, suite_cases()).exit_code == 0
