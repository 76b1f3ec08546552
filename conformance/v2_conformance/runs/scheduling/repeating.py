"""Checks that an arbitrary model repeats its answers before it blames a wrong value.

Noise, dropout and random sampling change few of a model's answers, so it may seem to repeat them
while it is learned. A value that is wrong only once is then not the server's fault.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from v2_conformance.runs.canary import Canary
from v2_conformance.runs.result import Result
from v2_conformance.suite.cases import RelationCase
from v2_conformance.suite.causes.causes import Cause, wrong_output
from v2_conformance.suite.causes.circumstances import AnswersDiffer
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.transport import Connection

TIMES = 8
"""How often what got a wrong answer is sent again: a model that answers half of all requests in
another way does so nine times in a row in one of 500 cases."""

_PLAIN = 200  # one wrong answer in fifty is seen among so many in 98 of 100 runs
_PAUSE_S = 0.01  # between them if none was right: in all, more than a clock's second
_ENOUGH = 8  # cases whose values stayed wrong; the next ones will as well


class Repeats:
    """Knowledge about each such model in a run; for one thread."""

    def __init__(self, canary: Canary) -> None:
        self._canary = canary
        self._differing: dict[str, str] = {}
        self._asked: set[str] = set()
        self._stayed: Counter[str] = Counter()

    def checked(
        self,
        result: Result,
        alone: Callable[[RelationCase], Result],
        connection: Callable[[], Connection],
    ) -> Result:
        """Return `result`, or a result that blames nobody if its model does not repeat its answers.

        `alone` runs a case while nothing else runs; `connection` is a fresh one.
        """
        case, output = result.case, wrong_output(result.cause)
        if not isinstance(case, RelationCase) or result.outcome is not Outcome.FAIL:
            return result
        if output is None:
            return result
        asked = case.roles if _at_once(case) else (case.model,)
        role = next((one for one in asked if one in self._differing), None)
        if role is None and self._stayed[case.model] < _ENOUGH:
            role = self._differs(asked, case, alone, connection)
        if role is None:
            self._stayed[case.model] += 1
            return result
        cause = AnswersDiffer(role, self._differing.setdefault(role, output))
        verdict = msgspec.structs.replace(result.verdict, outcome=Outcome.INCONCLUSIVE, cause=cause)
        return msgspec.structs.replace(result, verdict=verdict)

    def _differs(
        self,
        roles: Sequence[str],
        case: RelationCase,
        alone: Callable[[RelationCase], Result],
        connection: Callable[[], Connection],
    ) -> str | None:
        """Return which of the models `roles` does not repeat its answers, None if each does.

        If a server mixes up concurrent requests, some answers are wrong each time. Only sending the
        same requests one by one shows whether the model is the cause.
        """
        if not _at_once(case):
            if any(alone(case).outcome.harmless for _ in range(TIMES)):
                return case.model
        else:
            for one in (case, *case.members):
                single = replace(one, together=1, members=(), canary=None)
                assert isinstance(single, RelationCase)
                right = [alone(single).outcome.harmless for _ in range(TIMES)]
                if any(right) and not all(right):
                    return single.model
        for role in roles:
            if role not in self._asked:
                self._asked.add(role)
                if self._plain_differs(role, connection()):
                    return role
        return None

    def _plain_differs(self, role: str, connection: Connection) -> bool:
        """Return True if the plain request gets two answers that differ: its right one and another,
        or, from a model that changes slowly (a clock, a counter), two others."""
        if self._canary.expected(role) is not None:
            return False
        first: list[Cause | None] = []  # the first answer that has values
        for number in range(_PLAIN):
            problem = self._canary.send(role, connection).problem
            if problem is None or wrong_output(problem) is not None:
                if first and problem != first[0]:
                    return True
                first = [problem]
            if first != [None] and number >= TIMES:
                if not first or wrong_output(problem) is None:
                    return False  # it does not answer: each try may take the time limit
                time.sleep(_PAUSE_S)
        return False


def _at_once(case: RelationCase) -> bool:
    return case.together > 1 or bool(case.members)
