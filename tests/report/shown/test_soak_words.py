"""A soak in sentences: each says what was measured, and none what was not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from v2_conformance.report.document import Soak
from v2_conformance.report.shown.soak_words import KIND_WORDS, leak_rate, lines
from v2_conformance.suite.soaking import Kind, KindCount, KindGrowth, Trend

SENT = KindCount(kind="known_good", cases=1, requests=7)
GOOD = Soak(
    seconds=1.0,
    duration_s=2.0,
    connections=4,
    ended="time",
    survived=True,
    watched=True,
    kinds=(SENT,),
    phases=(),
    samples=(),
    trends=(),
    wrong={},
    kept=(),
)
DECLINED = (replace(SENT, declined=2), replace(SENT, kind="other", requests=5, unanswered=3))


@pytest.mark.parametrize(
    ("soak", "said"),
    [
        (replace(GOOD, watched=False), "not watched"),
        (replace(GOOD, kinds=DECLINED), "2 requests were declined with 429, 502, 503 or 504, 3 "),
        (replace(GOOD, survived=False), "did not get its right answer"),
        (replace(GOOD, wrong={"P2/a": 3, "P3/b": 1}), "4 answers that were right alone were wrong"),
        (replace(GOOD, ended="hung"), "no request got an answer any more"),
    ],
)
def test_a_soak_says_what_went_wrong(soak: Soak, said: str) -> None:
    assert said in "\n".join(lines(soak))
    assert said not in "\n".join(lines(GOOD))


def test_a_soak_that_sent_nothing_says_nothing_of_answers_and_memory() -> None:
    (line,) = lines(replace(GOOD, kinds=(), watched=False, ended="nothing_to_send"))
    assert line.startswith("soak: 0 requests in 2 s on 4 connections, 0 per second; sent nothing")


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ((), "no single kind of request was seen to cause it"),
        (("known_good",), "per request of any kind, known-good ones too"),
        (("other", "known_good"), "per request of any kind, known-good ones too"),
        (("other",), f"per {KIND_WORDS['other'][0]}"),
    ],
)
def test_a_leak_is_said_with_the_requests_that_cause_it(kinds: tuple[Kind, ...], said: str) -> None:
    growths = tuple(KindGrowth(kind=kind, per_request=500.0) for kind in kinds)
    trend = Trend(
        quantity="memory",
        movement="leaks",
        first=1_000_000,
        last=9_000_000,
        most=9_000_000,
        per_second=1000.0,
        per_request=500.0,
        kinds=growths,
    )
    assert said in leak_rate(trend)
    assert ("of any kind" in leak_rate(trend)) is ("known_good" in kinds)
