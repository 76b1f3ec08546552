"""A run of many cases: their order, what shares the server, and what runs again."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import cast

import msgspec
import pytest

from support.cases import REJECT, make_case, make_get
from support.responses import exchange_of, http
from support.runs import CASES
from v2_conformance.conversations.steps import CaseFinished, Result
from v2_conformance.judging.observed.exchanges import Observation, Observations
from v2_conformance.judging.verdict import Verdict, passed_again
from v2_conformance.runs.canary import Canary
from v2_conformance.runs.repeating import Repeats
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import in_order, is_right, run
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.causes.kinds import HeaderLengthMissing, TimedOut
from v2_conformance.suite.library import generated_case
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.response import Ending

FAIL = Verdict(Outcome.FAIL, HeaderLengthMissing())
PASS = Verdict(Outcome.PASS)
INCONCLUSIVE = Verdict(Outcome.INCONCLUSIVE, TimedOut(1.0, 0, "in time"))
EXCHANGE = exchange_of(http())
SILENT = exchange_of(b"", Ending.TIMEOUT)


NONE: Mapping[str, Sequence[Verdict]] = MappingProxyType({})


class Scripted:
    """Stands for an engine: each case has its verdicts, of which the last one repeats. `alone` and
    `beside` are the ids of the cases that it ran so, in order."""

    def __init__(self, verdicts: Mapping[str, Sequence[Verdict]] = NONE) -> None:
        self._verdicts = verdicts
        self.repeats = Repeats(cast(Canary, None))
        self.alone: list[str] = []
        self.beside: list[str] = []
        self.in_flight = 0
        self.serves = True
        self.silent: set[str] = set()
        self.closed = False

    @property
    def live(self) -> Scripted:
        return self

    def _result(self, case: Case) -> Result:
        ran = [*self.alone, *self.beside].count(case.id)
        verdicts = self._verdicts.get(case.id, [PASS])
        verdict = verdicts[min(ran, len(verdicts)) - 1]
        exchange = SILENT if case.id in self.silent else EXCHANGE
        return Result(case, verdict, exchanges=(exchange,))

    def run(self, case: Case) -> Result:
        assert not self.in_flight
        self.alone.append(case.id)
        return self._result(case)

    def run_alongside(self, case: Case) -> Result:
        self.in_flight += 1
        self.beside.append(case.id)
        result = self._result(case)
        self.in_flight -= 1
        return result

    def count(self, result: Result) -> None:
        pass

    def killers(self, unclear: Sequence[Result]) -> dict[str, Result]:
        assert not self.in_flight
        return {}

    def serves_together(self, number: int) -> bool:
        return self.serves

    def hang_up(self) -> None:
        assert not self.in_flight

    def close(self) -> None:
        assert not self.closed
        self.closed = True


def events(engine: Scripted, cases: Iterable[Case], workers: int = 1) -> list[CaseFinished]:
    found = list(run(cast(Engine, engine), list(cases), workers))
    assert engine.closed
    return found


PLAIN = [make_case(case_id=f"D1/plain[{number}]") for number in range(4)]
MANY = [make_case(case_id=f"D1/many[{number}]") for number in range(200)]
NEGATIVE = make_case(REJECT, case_id="D1/negative")
GET = make_get("/v2")


def test_dangerous_cases_run_last_and_negative_ones_before_them() -> None:
    everything = in_order(list(CASES().values()))
    ordered = [case for case in everything if not isinstance(case, ObservedCase)]
    assert everything[: len(ordered)] == ordered
    assert [case.dangerous for case in ordered] == sorted(case.dangerous for case in ordered)
    safe = [case.negative for case in ordered if not case.dangerous]
    assert safe == sorted(safe)
    assert ordered[-1].dangerous
    planned: list[Case] = [NEGATIVE, GET, PLAIN[1], generated_case(), PLAIN[0]]
    assert in_order(planned) == [*planned[1:], NEGATIVE]


@pytest.mark.parametrize("workers", [1, 3])
def test_each_case_has_one_event_and_they_are_counted(workers: int) -> None:
    engine = Scripted() if workers > 1 else Scripted({PLAIN[0].id: [FAIL, PASS]})
    found = events(engine, [NEGATIVE, *PLAIN], workers)
    assert [(event.number, event.total) for event in found] == [(n, 5) for n in range(1, 6)]
    assert [event.result.case for event in found] == [*PLAIN, NEGATIVE]
    if workers == 1:  # nothing is tried twice
        assert found[0].result.verdict == FAIL
        assert (engine.alone, engine.beside) == ([*(c.id for c in PLAIN), NEGATIVE.id], [])


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_is_stopped_sends_nothing_more_and_closes_the_engine(workers: int) -> None:
    engine = Scripted()
    stopped = run(cast(Engine, engine), [*MANY, NEGATIVE], workers)
    next(stopped)
    cast(Generator[CaseFinished, None, None], stopped).close()
    assert engine.closed
    assert MANY[-1].id not in (*engine.alone, *engine.beside)
    assert NEGATIVE.id not in engine.alone


# Side by side.


def test_positive_cases_share_the_server_and_all_others_have_it_one_by_one() -> None:
    first = make_case()
    of_state = [
        replace(first, id="D1/behind-another", first=first),
        replace(first, id="D1/at-once", together=4),
        replace(first, id="D1/watched", canary="json"),
    ]
    harmful = [NEGATIVE, replace(NEGATIVE, id="D1/dangerous", dangerous=True)]
    engine = Scripted()
    events(engine, [*harmful, *of_state, generated_case(), *PLAIN, GET], workers=3)
    assert sorted(engine.beside) == sorted([*(case.id for case in PLAIN), GET.id])
    alone = [*of_state, generated_case(), *harmful]
    assert engine.alone == [case.id for case in alone]


@pytest.mark.parametrize("beside", [FAIL, INCONCLUSIVE])
@pytest.mark.parametrize("alone", [PASS, FAIL])
def test_what_is_not_right_runs_again_alone_and_only_that_counts(
    beside: Verdict, alone: Verdict
) -> None:
    wrong = [PLAIN[1].id, PLAIN[3].id]
    engine = Scripted({case: [beside, alone] for case in wrong})
    found = events(engine, [*PLAIN, NEGATIVE], workers=3)
    assert engine.alone == [*wrong, NEGATIVE.id]  # in the plan's order
    verdicts = {event.result.case.id: event.result.verdict for event in found}
    right = dict.fromkeys([case.id for case in (*PLAIN, NEGATIVE)], PASS)
    counts = (
        alone
        if beside is FAIL
        else msgspec.structs.replace(passed_again(alone, beside), outcome=alone.outcome)
    )
    assert verdicts == right | dict.fromkeys(wrong, counts)


def test_what_breaks_a_rule_for_all_exchanges_runs_again_until_that_is_known() -> None:
    kept, broken = (
        (Result(case, PASS), [Observation("announced_closes", case.id, 1, wrong)])
        for wrong, case in enumerate(PLAIN[:2])
    )
    observations = Observations()
    assert is_right(kept, observations)
    assert not is_right(broken, observations)
    observations.add(broken[1])
    assert is_right(broken, observations)


def test_after_a_request_without_an_answer_the_rest_of_them_is_sent_alone() -> None:
    silent = MANY[0].id
    engine = Scripted({silent: [INCONCLUSIVE]})
    engine.silent = {silent}
    found = events(engine, MANY[:20], workers=2)
    assert [event.result.case for event in found] == MANY[:20]
    assert set(engine.alone) >= {silent}
    assert set(engine.alone) | set(engine.beside) == {case.id for case in MANY[:20]}
    assert len(engine.beside) < 20


def test_a_server_that_does_not_serve_so_many_connections_is_not_shared() -> None:
    engine = Scripted()
    engine.serves = False
    events(engine, PLAIN, workers=3)
    assert (engine.alone, engine.beside) == ([case.id for case in PLAIN], [])
