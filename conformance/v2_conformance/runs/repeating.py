"""Checks that an arbitrary model repeats its answers before a server is blamed for a wrong value.

Noise, dropout, random sampling and sums in any order change few of a model's answers, or those to
some requests only, so it may seem to repeat them while it is learned. A wrong value is then not the
server's fault, and neither is one that came before.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import msgspec

from v2_conformance.conversations.steps import Result
from v2_conformance.judging.claims import answers_differ
from v2_conformance.runs.canary import TIMES, Canary
from v2_conformance.suite.cases import RelationCase
from v2_conformance.suite.causes.causes import Cause, wrong_output
from v2_conformance.suite.causes.kinds import AnswersDiffer
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.inputs import input_entries
from v2_conformance.wire.transport import Connection

_PLAIN = 200  # among so many, one wrong answer in fifty shows in 98 of 100 runs
_PAUSE_S = 0.01  # between them if none was right: in all, more than a clock's second
_ENOUGH = 8  # cases whose values stayed wrong; the next ones will as well


class Repeats:
    """Knowledge about each such model in a run; for one thread. `differing` has those that do not
    repeat their answers, by role."""

    def __init__(self, canary: Canary) -> None:
        self.differing: dict[str, AnswersDiffer] = {}
        self._canary = canary
        self._asked: dict[tuple[str, int | None], bool] = {}
        self._plain: set[str] = set()
        self._stayed: Counter[str] = Counter()
        self._blamed: list[Result] = []

    def checked(
        self,
        result: Result,
        alone: Callable[[RelationCase], Result],
        connection: Callable[[], Connection],
    ) -> Result:
        """Return `result`, or one that fails nothing if its model does not repeat its answers.
        `alone` runs a case while nothing else runs; `connection` is a fresh one."""
        case, output = result.case, wrong_output(result.cause)
        if not isinstance(case, RelationCase) or not _blames_values(result):
            return result
        known = self._withdrawn(result)
        if known is not None or output is None:
            return known or result
        differing = self._differs(case, alone, connection)
        if differing is None:
            self._stayed[case.model] += 1
            return result
        self.differing[differing.model] = answers_differ(differing.of, output)
        return self._withdrawn(result) or result

    def note(self, result: Result) -> None:
        """Note a final result of the run."""
        if isinstance(result.cause, AnswersDiffer):
            self.differing.setdefault(result.cause.role, result.cause)
        elif _blames_values(result):
            self._blamed.append(result)

    def withdrawn(self) -> Iterator[Result]:
        """Yield the results, in place of those that were noted, of cases that failed before their
        model was seen not to repeat its answers."""
        return filter(None, map(self._withdrawn, self._blamed))

    def _withdrawn(self, result: Result) -> Result | None:
        """Return the result in place of one that `_blames_values`: None if none of the models that
        it is judged by is among those that do not repeat their answers."""
        assert isinstance(result.case, RelationCase)
        asked, differing = _judged_by(result.case), self.differing
        known = next((differing[one.model] for one in asked if one.model in differing), None)
        if known is None:
            return None
        unclear = Outcome.INCONCLUSIVE
        verdict = msgspec.structs.replace(result.verdict, outcome=unclear, cause=known)
        return msgspec.structs.replace(result, verdict=verdict)

    def _differs(
        self,
        case: RelationCase,
        alone: Callable[[RelationCase], Result],
        connection: Callable[[], Connection],
    ) -> RelationCase | None:
        """Return the request of a case whose model does not repeat its answers, None if each does.

        If a server mixes up concurrent requests, some answers are wrong each time. Only sending the
        same requests one by one shows whether the model is the cause.
        """
        at_once, asked = case.together > 1 or bool(case.members), _judged_by(case)
        if self._stayed[case.model] < _ENOUGH:
            singles = [replace(one, together=1, members=(), canary=None) for one in asked]
            for one in singles if at_once else [case]:
                right = [alone(one).outcome.harmless for _ in range(TIMES)]
                if any(right) and not (at_once and all(right)):
                    return one
        for one in asked:
            if self._learned_differs(one, connection):
                return one
            if one.model not in self._plain:
                self._plain.add(one.model)
                if self._plain_differs(one.model, connection()):
                    return one
        return None

    def _learned_differs(self, case: RelationCase, connection: Callable[[], Connection]) -> bool:
        """Return True if the plain request with the values of a case gets other values now than
        while the model was learned: then the case has no certain answer to be compared with."""
        special = next((one.get("special") for one in input_entries(case.request)), None)
        key = case.model, special
        if key not in self._asked:
            self._asked[key] = not self._canary.repeats(case.model, special, connection())
        return self._asked[key]

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


def _blames_values(result: Result) -> bool:
    """Return True if a case fails for nothing but values that an arbitrary model gave before."""
    failed = isinstance(result.case, RelationCase) and result.outcome is Outcome.FAIL
    return failed and wrong_output(result.cause) is not None


def _judged_by(case: RelationCase) -> list[RelationCase]:
    """Return the requests of a case whose answers it is judged by."""
    requests = (case, *case.members, *case.next)
    return [one for one in requests if isinstance(one, RelationCase)]
