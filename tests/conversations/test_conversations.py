"""A case is a conversation: which steps it takes, driven by a list of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from support.cases import ADDRESS, REJECT, binding, make_case
from support.responses import answer as document
from support.responses import exchange_of, http, sized, v2
from v2_conformance.conversations.case import conversation
from v2_conformance.conversations.discovery import calibration
from v2_conformance.conversations.generated import generated
from v2_conformance.conversations.steps import (
    Answer,
    Ask,
    AskApart,
    AskTogether,
    CanaryAnswer,
    Known,
    KnownGood,
    Result,
    Step,
    play,
)
from v2_conformance.judging.claims import Claims
from v2_conformance.judging.known_good import known_good
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import GetCase, RequestCase
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.causes import DidNotSurvive, GeneratedFailure
from v2_conformance.suite.library import generated_case
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.wire.encode.requests import Prepared
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending

ROLE = "identity/INT32"
KNOWN = Known(ADDRESS, Claims(("binary",), frozenset(), {ROLE: binding(ROLE)}, {}))


def sent(received: bytes, ending: Ending = Ending.COMPLETE) -> Exchange:
    return exchange_of(received, ending, request=b"x")


RIGHT = sent(v2(document(sized()), bytes([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0])))
REFUSED = sent(http(b'{"error":"no"}', 400))
SILENT = sent(b"", Ending.TIMEOUT)
AWAY = exchange_of(b"", Ending.REFUSED)
WELL = CanaryAnswer(RIGHT.for_purpose(Purpose.CANARY_SAME), None)
ILL = CanaryAnswer(SILENT.for_purpose(Purpose.CANARY_SAME), kinds.NoResponse("timeout", ""))


def had(case: RequestCase | GetCase, answers: Sequence[Answer]) -> tuple[list[str], Result]:
    """The steps of a case in short, each of which gets the next of `answers`, and its end."""
    left = list(answers)
    steps: list[str] = []

    def answer(step: Step) -> Answer:
        steps.append(_short(step))
        return left.pop(0)

    came = play(conversation(case, KNOWN), answer)
    assert not left
    return steps, came


def _short(step: Step) -> str:
    if isinstance(step, Ask):
        where = f"fresh x{step.times}" if step.fresh else "kept"
        return f"{step.purpose.value} {where}"
    if isinstance(step, KnownGood):
        return f"known-good {'fresh' if step.fresh else '/'.join(step.forms)}"
    if isinstance(step, AskTogether):
        return f"together {len(step.prepared)}"
    return f"calibrate {step.form}"


def own(answered: Exchange) -> Answer:
    return answered.for_purpose(Purpose.CASE)


NOT_LAST = replace(make_case(REJECT), last_negative=False)
BEHIND_ANOTHER = replace(make_case(), first=make_case())
TWO = replace(make_case(), together=2, canary="binary")
CALIBRATED, CASE = "calibrate binary", "case kept"
SAME, FRESH = "known-good binary/binary", "known-good fresh"


@pytest.mark.parametrize(
    ("case", "answers", "steps", "outcome"),
    [
        # What passes and asks for nothing more is one exchange.
        (make_case(), [own(RIGHT)], [CASE], Outcome.PASS),
        # A wrong answer: does the server live, on this connection and on another one?
        (make_case(), [own(REFUSED), WELL, WELL], [CASE, SAME, FRESH], Outcome.FAIL),
        # An ordinary rejection that the next request survives on the same connection.
        (NOT_LAST, [own(REFUSED), WELL], [CASE, SAME], Outcome.PASS),
        # The last of its requirement: a fresh connection, too.
        (make_case(REJECT), [own(REFUSED), WELL, WELL], [CASE, SAME, FRESH], Outcome.PASS),
        # The kept connection is closed: a fresh one alone says what is left.
        (make_case(REJECT), [own(REFUSED), None, ILL], [CASE, SAME, FRESH], Outcome.FAIL),
        # A request of another kind comes first, whatever comes of it.
        (BEHIND_ANOTHER, [own(SILENT), own(RIGHT)], ["before kept", CASE], Outcome.PASS),
        # Many at once: nothing on the kept connection, which is closed before.
        (TWO, [[(0, RIGHT), (1, RIGHT)], WELL], ["together 2", FRESH], Outcome.PASS),
        # What was not sent met a server that was away, and asks nothing more.
        (make_case(REJECT), [own(AWAY)], [CASE], Outcome.INCONCLUSIVE),
    ],
    ids=lambda value: "" if not isinstance(value, Outcome) else value.value,
)
def test_what_belongs_to_a_case(
    case: RequestCase, answers: list[Answer], steps: list[str], outcome: Outcome
) -> None:
    taken, came = had(case, ["", *answers])
    assert taken == [CALIBRATED, *steps]
    assert came.verdict.outcome is outcome


def test_a_conversation_tells_all_that_shows_its_verdict_in_order() -> None:
    _, came = had(make_case(REJECT), ["", own(REFUSED), WELL, ILL])
    purposes = [exchange.purpose for exchange in came.exchanges]
    assert purposes == [Purpose.CASE, Purpose.CANARY_SAME, Purpose.CANARY_SAME]
    assert isinstance(came.verdict.cause, DidNotSurvive)
    assert came.verdict.cause.fresh_connection == ILL.problem
    assert came.verdict.message.startswith("did not recover")
    assert came.verdict.message.endswith(f" (sent to {ROLE}: [3] binary, 12 blob bytes)")


def test_a_model_that_answers_no_known_good_request_says_why() -> None:
    _, came = had(make_case(), ["no answer in time"])
    assert came.verdict.cause == kinds.NoKnownGoodAnswer(ROLE, "no answer in time")
    assert came.exchanges == ()


BUSY = exchange_of(http(b"loading", 503))
ONES = exchange_of(v2(document(sized()), bytes([1, 0, 0, 0] * 3)))
ZEROS = exchange_of(v2(document(sized()), bytes(12)))


@pytest.mark.parametrize(
    ("answers", "asked", "chosen", "expected", "wrong"),
    [
        # It ends with the first exact answer, or takes the clearest.
        ([SILENT, ONES], (0, 1), 1, None, False),
        ([SILENT, REFUSED, SILENT], (0, 1, 2), 1, "status 400", False),
        # Tensors that are wrong only at first are kept as what was wrong.
        ([ZEROS, ONES, ONES], (0, 1, 0), 0, None, True),
        ([ZEROS, ZEROS, ZEROS, ONES], (0, 1, 2, 0), 0, None, True),
        ([ZEROS, SILENT, ONES, ONES], (0, 1, 2, 0), 0, None, True),
        # A form that is always refused is not about the first answer.
        ([REFUSED, ONES], (0, 1), 1, None, False),
        ([BUSY, ONES], (0, 1), 1, None, False),
        ([ZEROS, ONES, ZEROS], (0, 1, 0), 1, None, False),
    ],
)
def test_calibration_finds_the_form_whose_answer_is_exact(
    answers: list[Exchange], asked: tuple[int, ...], chosen: int, expected: str | None, wrong: bool
) -> None:
    ways = known_good(ROLE, ADDRESS, binding(ROLE))
    left, sent = list(answers), []

    def answer(way: Prepared) -> Exchange:
        sent.append(ways.index(way))
        return left.pop(0)

    first = play(calibration(ways), answer)
    assert (first.prepared, first.expected) == (ways[chosen], expected)
    assert isinstance(first.wrong, kinds.WrongValue) is wrong
    assert tuple(sent) == asked


FAILS = Result(
    make_case(), Verdict(Outcome.FAIL, kinds.NoResponse("closed", "")), exchanges=(WELL.exchange,)
)
PASSES = Result(make_case(), Verdict(Outcome.PASS), exchanges=(WELL.exchange,))


@pytest.mark.parametrize(
    ("answers", "failed"),
    [
        ([PASSES, FAILS, PASSES], 2),
        ([PASSES, PASSES, PASSES], None),
        ([FAILS, None], 1),  # which killed the model
    ],
)
def test_of_generated_requests_the_smallest_failure_counts(
    answers: list[Result | None], failed: int | None
) -> None:
    requests = [AskApart(make_case(), entry) for entry in generated_case().requests[:3]]
    left = list(answers)
    came = play(generated(generated_case(), requests), lambda asked: left.pop(0))
    assert not left
    if failed is None:
        assert came.verdict == Verdict(Outcome.PASS, kinds.GeneratedRequests(3, None, None))
        return
    assert came.verdict.outcome is Outcome.FAIL
    assert isinstance(came.verdict.cause, GeneratedFailure)
    assert came.verdict.cause.number == failed
    assert [exchange.entry for exchange in came.exchanges] == [requests[failed - 1].entry]
