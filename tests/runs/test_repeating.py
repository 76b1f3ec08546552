"""How often an arbitrary model is asked again before a wrong value is blamed on its server."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from v2_conformance.runs.canary import TIMES
from v2_conformance.runs.repeating import Repeats
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import WrongShape, WrongStatus

SILENT = WrongStatus("200", 503, "")
WRONG, OTHER = (WrongShape("OUTPUT0", (2,), (size,)) for size in (3, 4))


class Answers:
    """A canary that gets these answers in turn, and the last one for ever."""

    def __init__(self, answers: Sequence[Cause | None]) -> None:
        self.sent = 0
        self._answers = answers

    def expected(self, role: str) -> None:
        return None

    def send(self, role: str, connection: Any) -> Any:
        self.sent += 1
        return SimpleNamespace(problem=self._answers[min(self.sent, len(self._answers)) - 1])


@pytest.mark.parametrize(
    ("answers", "differs"),
    [
        ([None, None, WRONG], True),
        ([WRONG, WRONG, None], True),
        ([WRONG] * 3 + [OTHER], True),
        ([WRONG] * 2 * TIMES + [OTHER], True),
        ([SILENT] * 3 + [WRONG, OTHER], True),
        ([None], False),
    ],
)
def test_two_answers_with_values_differ(answers: list[Cause | None], differs: bool) -> None:
    canary: Any = Answers(answers)
    assert Repeats(canary)._plain_differs("role", canary) is differs


@pytest.mark.parametrize("before", [[], [WRONG]])
def test_what_does_not_answer_is_not_asked_many_times(before: list[Cause | None]) -> None:
    canary: Any = Answers([*before, SILENT])
    assert not Repeats(canary)._plain_differs("role", canary)
    assert canary.sent == TIMES + 1
