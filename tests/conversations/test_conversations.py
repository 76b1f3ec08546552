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
    Calibrate,
    CanaryAnswer,
    Known,
    KnownGood,
    Result,
    Step,
    play,
)
from v2_conformance.judging.known_good import known_good
from v2_conformance.judging.survival import Claims
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import GetCase, RequestCase
from v2_conformance.suite.causes.causes import DidNotSurvive, GeneratedFailure
from v2_conformance.suite.causes.kinds import (
    GeneratedRequests,
    NoKnownGoodAnswer,
    NoResponse,
    WrongValue,
)
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
WELL = CanaryAnswer(RIGHT.for_purpose(Purpose.CANARY_SAME), None)
ILL = CanaryAnswer(SILENT.for_purpose(Purpose.CANARY_SAME), NoResponse("timeout", ""))


def had(
    case: RequestCase | GetCase, answers: Sequence[Answer], known: Known = KNOWN
) -> tuple[list[str], Result]:
    """The steps of a case in short, each of which gets the next of `answers`, and its end."""
    left = list(answers)
    steps: list[str] = []

    def answer(step: Step) -> Answer:
        steps.append(_short(step))
        return "" if isinstance(step, Calibrate) and not left else left.pop(0)

    came = play(conversation(case, known), answer)
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


@pytest.mark.parametrize(
    ("case", "answers", "steps", "outcome"),
    [
        # What passes and asks for nothing more is one exchange.
        (make_case(), ["", own(RIGHT)], ["calibrate binary", "case kept"], Outcome.PASS),
        # A wrong answer: does the server live, on this connection and on another one?
        (
            make_case(),
            ["", own(REFUSED), WELL, WELL],
            ["calibrate binary", "case kept", "known-good binary/binary", "known-good fresh"],
            Outcome.FAIL,
        ),
        # An ordinary rejection that the next request survives on the same connection.
        (
            replace(make_case(REJECT), last_negative=False),
            ["", own(REFUSED), WELL],
            ["calibrate binary", "case kept", "known-good binary/binary"],
            Outcome.PASS,
        ),
        # The last of its requirement: a fresh connection, too.
        (
            make_case(REJECT),
            ["", own(REFUSED), WELL, WELL],
            ["calibrate binary", "case kept", "known-good binary/binary", "known-good fresh"],
            Outcome.PASS,
        ),
        # The kept connection is closed: a fresh one alone says what is left.
        (
            make_case(REJECT),
            ["", own(REFUSED), None, ILL],
            ["calibrate binary", "case kept", "known-good binary/binary", "known-good fresh"],
            Outcome.FAIL,
        ),
        # A request of another kind comes first, whatever comes of it.
        (
            replace(make_case(), first=make_case()),
            ["", own(SILENT), own(RIGHT)],
            ["calibrate binary", "before kept", "case kept"],
            Outcome.PASS,
        ),
        # Many at once: nothing on the kept connection, which is closed before.
        (
            replace(make_case(), together=2, canary="binary"),
            ["", [(0, RIGHT), (1, RIGHT)], WELL],
            ["calibrate binary", "together 2", "known-good fresh"],
            Outcome.PASS,
        ),
        # A model that answers nothing is not sent the case.
        (make_case(), ["no answer"], ["calibrate binary"], Outcome.INCONCLUSIVE),
    ],
    ids=lambda value: "" if not isinstance(value, Outcome) else value.value,
)
def test_what_belongs_to_a_case(
    case: RequestCase, answers: list[Answer], steps: list[str], outcome: Outcome
) -> None:
    taken, came = had(case, answers)
    assert taken == steps
    assert came.verdict.outcome is outcome


def test_a_conversation_tells_all_that_shows_its_verdict_in_order() -> None:
    _, came = had(make_case(REJECT), ["", own(REFUSED), WELL, ILL])
    purposes = [exchange.purpose for exchange in came.exchanges]
    assert purposes == [Purpose.CASE, Purpose.CANARY_SAME, Purpose.CANARY_SAME]
    assert isinstance(came.verdict.cause, DidNotSurvive)
    assert came.verdict.cause.fresh_connection == ILL.problem
    assert came.verdict.message.startswith("did not survive")
    assert came.verdict.message.endswith(f" (sent to {ROLE}: [3] binary, 12 blob bytes)")


def test_what_was_not_sent_met_a_server_that_was_away_and_asks_nothing_more() -> None:
    away = exchange_of(b"", Ending.REFUSED)
    steps, came = had(make_case(REJECT), ["", own(away)])
    assert steps[-1] == "case kept"
    assert came.verdict.outcome is not Outcome.PASS


def test_a_model_that_answers_no_known_good_request_says_why() -> None:
    _, came = had(make_case(), ["no answer in time"])
    assert came.verdict.cause == NoKnownGoodAnswer(ROLE, "no answer in time")
    assert came.exchanges == ()


def test_calibration_ends_with_the_first_exact_answer_or_takes_the_clearest() -> None:
    ways = known_good(ROLE, ADDRESS, binding(ROLE))
    ones = exchange_of(v2(document(sized()), bytes([1, 0, 0, 0] * 3)))
    answers = [SILENT, ones]
    first = play(calibration(ways), lambda way: answers.pop(0))
    assert (first.prepared, first.expected) == (ways[1], None)
    answers = [SILENT, REFUSED, SILENT]
    first = play(calibration(ways), lambda way: answers.pop(0))
    assert (first.prepared, first.expected) == (ways[1], "status 400")


def test_tensors_that_are_wrong_only_at_first_are_kept_as_what_was_wrong() -> None:
    ways = known_good(ROLE, ADDRESS, binding(ROLE))
    ones = exchange_of(v2(document(sized()), bytes([1, 0, 0, 0] * 3)))
    zeros = exchange_of(v2(document(sized()), bytes(12)))
    for answers, sent in (
        ([zeros, ones, ones], (0, 1, 0)),
        ([zeros, zeros, zeros, ones], (0, 1, 2, 0)),
        ([zeros, SILENT, ones, ones], (0, 1, 2, 0)),
    ):
        asked: list[int] = []

        def answer(
            way: Prepared, answers: list[Exchange] = answers, asked: list[int] = asked
        ) -> Exchange:
            asked.append(list(ways).index(way))
            return answers.pop(0)

        first = play(calibration(ways), answer)
        assert (first.prepared, first.expected) == (ways[0], None)
        assert isinstance(first.wrong, WrongValue)
        assert tuple(asked) == sent


def test_a_form_that_is_always_refused_is_not_about_the_first_answer() -> None:
    ways = known_good(ROLE, ADDRESS, binding(ROLE))
    ones = exchange_of(v2(document(sized()), bytes([1, 0, 0, 0] * 3)))
    zeros = exchange_of(v2(document(sized()), bytes(12)))
    busy = exchange_of(http(b"loading", 503))
    for answers in ([REFUSED, ones], [busy, ones], [zeros, ones, zeros]):
        left = iter(answers)
        first = play(calibration(ways), lambda way: next(left))  # noqa: B023
        assert (first.prepared, first.expected, first.wrong) == (ways[1], None, None)


def _apart(count: int) -> list[AskApart]:
    entries = generated_case().requests[:count]
    return [AskApart(make_case(), entry) for entry in entries]


CLOSED = Verdict(Outcome.FAIL, NoResponse("closed", ""))


def test_of_generated_requests_the_smallest_failure_counts() -> None:
    requests = _apart(3)
    fails = Result(
        make_case(), Verdict(Outcome.FAIL, NoResponse("closed", "")), exchanges=(WELL.exchange,)
    )
    passes = Result(make_case(), Verdict(Outcome.PASS), exchanges=(WELL.exchange,))
    answers = [passes, fails, passes]
    came = play(generated(generated_case(), requests), lambda asked: answers.pop(0))
    assert came.verdict.outcome is Outcome.FAIL
    assert isinstance(came.verdict.cause, GeneratedFailure)
    assert came.verdict.cause.number == 2
    assert [exchange.entry for exchange in came.exchanges] == [requests[1].entry]
    came = play(generated(generated_case(), requests), lambda asked: passes)
    assert came.verdict == Verdict(Outcome.PASS, GeneratedRequests(3, None, None))


def test_generated_requests_end_with_the_one_that_killed_the_model() -> None:
    requests = _apart(3)
    kills = Result(
        make_case(), Verdict(Outcome.FAIL, NoResponse("closed", "")), exchanges=(WELL.exchange,)
    )
    answers = [kills, None]
    came = play(generated(generated_case(), requests), lambda asked: answers.pop(0))
    assert isinstance(came.verdict.cause, GeneratedFailure)
    assert came.verdict.cause.number == 1
