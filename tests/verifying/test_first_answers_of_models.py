"""First answers are held against a server, unless the model does not repeat its answers."""

from __future__ import annotations

from v2_conformance.conversations.calibration import FirstAnswer
from v2_conformance.suite.causes.output_findings import WrongShape
from v2_conformance.verifying.calibrated import FirstAnswers
from v2_conformance.wire.encode.deployment import Address
from v2_conformance.wire.encode.requests import Prepared, get_request

WRONG = WrongShape("OUTPUT0", (2,), (3,))


def test_a_first_answer_of_a_model_that_does_not_repeat_its_answers_shows_nothing() -> None:
    answer = FirstAnswer(Prepared(get_request(Address("host"), "/v2")), None, wrong=WRONG)
    by_model = {("model/noisy", "binary"): [answer], ("model/steady", "binary"): [answer]}
    found = FirstAnswers(by_model, differing=frozenset({"model/noisy"}))
    assert [one.first for one in found.seen()] == [WRONG]
