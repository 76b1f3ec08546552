"""Whether a model that nobody knows repeats its answers, asked before a wrong value is blamed.

Noise, dropout and random sampling change few of a model's answers, so that it can pass for one that
repeats them when it is learned. What is wrong then only once is no server's doing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from v2_conformance.engine.canary import Canary
from v2_conformance.engine.result import Result
from v2_conformance.suite.cases import RelationCase
from v2_conformance.suite.causes import AnswersDiffer, wrong_output
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.transport import Connection

TIMES = 8
"""How often what got a wrong answer is sent again: a model that answers half of all requests in
another way does so nine times in a row in one of 500 cases."""

_PLAIN = 200  # one wrong answer in fifty is seen among so many in 98 of 100 runs
_ENOUGH = 8  # cases whose values stayed wrong; the next ones will, too


class Repeats:
    """What is known of each such model in a run; for one thread."""

    def __init__(self, canary: Canary) -> None:
        self._canary = canary
        self._differing: dict[str, str] = {}
        self._asked: set[str] = set()
        self._stayed: Counter[str] = Counter()

    def checked(
        self, result: Result, again: Callable[[], Result], connection: Callable[[], Connection]
    ) -> Result:
        """`result`, or that its model does not repeat its answers, which blames nobody.

        `again` runs the case once more; `connection` is a fresh one.
        """
        case, output = result.case, wrong_output(result.cause)
        if not isinstance(case, RelationCase) or result.outcome is not Outcome.FAIL:
            return result
        if output is None:
            return result
        role = case.model
        if role not in self._differing and self._differs(role, case, again, connection):
            self._differing[role] = output
        if role not in self._differing:
            self._stayed[role] += 1
            return result
        cause = AnswersDiffer(role, self._differing[role])
        verdict = replace(result.verdict, outcome=Outcome.INCONCLUSIVE, cause=cause)
        return replace(result, verdict=verdict)

    def _differs(
        self,
        role: str,
        case: RelationCase,
        again: Callable[[], Result],
        connection: Callable[[], Connection],
    ) -> bool:
        if self._stayed[role] >= _ENOUGH:
            return False
        # Of many requests at once one is wrong each time, be it the server's doing or the model's.
        alone = case.together == 1 and not case.members
        if alone and any(again().outcome.harmless for _ in range(TIMES)):
            return True
        if role in self._asked:
            return False
        self._asked.add(role)
        return self._plain_differs(role, connection())

    def _plain_differs(self, role: str, connection: Connection) -> bool:
        """Whether the plain request gets both its right answer and another one."""
        if self._canary.expected(role) is not None:
            return False
        right = wrong = False
        for number in range(_PLAIN):
            _, problem = self._canary.send(role, connection)
            right = right or problem is None
            wrong = wrong or wrong_output(problem) is not None
            if right and wrong:
                return True
            if not right and number >= TIMES:
                return False
        return False
