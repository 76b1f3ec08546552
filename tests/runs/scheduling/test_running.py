"""A run of many cases: their order, what shares the server, and who gets a second try."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import cast

import msgspec
import pytest

from support.cases import REJECT, make_case, make_get
from support.responses import transcript
from support.runs import CASES, chosen, results, target_of
from support.servers import Start
from v2_conformance.conversations.steps import Exchange
from v2_conformance.judging.survival import passed_alone
from v2_conformance.judging.verdict import Verdict
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.canary import Canary
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.result import CaseFinished, Result
from v2_conformance.runs.scheduling.blame import Killing
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.repeating import Repeats
from v2_conformance.runs.scheduling.running import in_order, run
from v2_conformance.runs.scheduling.turns import Turns
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.causes.causes import DidNotSurvive, NotKept
from v2_conformance.suite.causes.circumstances import RoleAbsent
from v2_conformance.suite.causes.findings import HeaderLengthMissing
from v2_conformance.suite.causes.transport_findings import TimedOut
from v2_conformance.suite.library import generated_case
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_mutants.servers import MutantServer

FAIL = Verdict(Outcome.FAIL, HeaderLengthMissing())
STUCK = Verdict(Outcome.FAIL, DidNotSurvive(HeaderLengthMissing(), None, None, case_passed=True))
EXCHANGE = Exchange(transcript(b""), Purpose.CASE, "")
FAR_S = 0.05


class Scripted:
    """Stands for an engine: each case has its verdicts, of which the last one repeats."""

    def __init__(self, verdicts: dict[str, list[Verdict]], round_trip_s: float = 0.0) -> None:
        self._verdicts = verdicts
        self.round_trip_s = round_trip_s
        self.cuts_off = False
        self.repeats = Repeats(cast(Canary, None))
        self.ran: list[str] = []
        self.beside: list[str] = []
        self.lingering: set[str] = set()
        self.closed = False
        self.turns: Turns | None = None

    @property
    def live(self) -> Scripted:
        return self

    def run(self, case: Case, *, in_any_case: bool = False) -> Result:
        self.ran.append(case.id)
        mine = self._verdicts.get(case.id, [Verdict(Outcome.PASS)])
        verdict = mine[min(self.ran.count(case.id), len(mine)) - 1]
        return Result(case, verdict, exchanges=(EXCHANGE,))

    def run_beside(self, case: Case) -> Result:
        self.beside.append(case.id)
        return msgspec.structs.replace(self.run(case), beside=True)

    def settled(self, result: Result) -> Result:
        return msgspec.structs.replace(result, beside=False)

    def killings(self, unclear: Sequence[Result]) -> list[Killing]:
        return []

    def lingers(self, case: Case, *, any_form: bool = False) -> bool:
        return case.id in self.lingering

    def calibrate(self, cases: Sequence[Case]) -> None:
        pass

    def start_over(self) -> bool:
        return True

    def serves_together(self, number: int) -> bool:
        return True

    def sends(self, case: Case) -> bool:
        return True

    def hang_up(self, *, forget: bool = False) -> None:
        pass

    def close(self) -> None:
        assert not self.closed
        self.closed = True


def events(engine: Scripted, cases: Iterable[Case], workers: int = 1) -> list[CaseFinished]:
    found = list(run(cast(Engine, engine), list(cases), workers))
    assert engine.closed
    return found


PLAIN = [make_case(case_id=f"D1/plain[{number}]") for number in range(4)]
NEGATIVE = make_case(REJECT, case_id="D1/negative")


class TestOrder:
    def test_dangerous_cases_run_last_and_negative_ones_before_them(self) -> None:
        everything = in_order(list(CASES().values()))
        ordered = [case for case in everything if not isinstance(case, ObservedCase)]
        assert everything[: len(ordered)] == ordered
        assert [case.dangerous for case in ordered] == sorted(case.dangerous for case in ordered)
        safe = [case.negative for case in ordered if not case.dangerous]
        assert safe == sorted(safe)
        assert ordered[-1].dangerous

    def test_among_equals_the_plans_order_stays(self) -> None:
        get, generated = make_get("/v2"), generated_case()
        planned: list[Case] = [NEGATIVE, get, PLAIN[1], generated, PLAIN[0]]
        assert in_order(planned) == [get, PLAIN[1], generated, PLAIN[0], NEGATIVE]


class TestWhatIsObserved:
    @pytest.mark.parametrize("workers", [1, 4])
    def test_it_is_judged_last_over_the_exchanges_of_all_cases(self, workers: int) -> None:
        cases = chosen("R2/observed", "S2/size-against-shape[", "P2/", "R4/observed")
        with MutantServer(["error-is-plain-text"]) as server:
            found = results(target_of(server.url), cases, workers=workers)
        assert list(found)[-2:] == ["R2/observed", "R4/observed"]
        failed = {name for name, result in found.items() if result.outcome is Outcome.FAIL}
        assert failed == {"R2/observed"}
        cause = found["R2/observed"].cause
        assert isinstance(cause, NotKept)
        rejected = sum(case.negative for case in cases)
        assert (cause.wrong, cause.judged) == (rejected, rejected)
        assert cause.cases == tuple(sorted(c.id for c in cases if c.negative))
        assert cause.more == 0

    def test_without_any_exchange_it_shows_nothing(self, server: ReferenceServer) -> None:
        found = results(target_of(server.url), chosen("R2/observed"))
        assert found["R2/observed"].outcome is Outcome.INCONCLUSIVE


class TestEvents:
    @pytest.mark.parametrize("workers", [1, 3])
    def test_each_case_has_one_event_and_they_are_counted(self, workers: int) -> None:
        cases = [NEGATIVE, *PLAIN]
        found = events(Scripted({}), cases, workers)
        assert [(event.number, event.total) for event in found] == [(n, 5) for n in range(1, 6)]
        assert Counter(event.result.case.id for event in found) == Counter(c.id for c in cases)
        assert found[-1].result.case is NEGATIVE

    def test_one_worker_tries_nothing_twice(self) -> None:
        engine = Scripted({PLAIN[0].id: [FAIL, Verdict(Outcome.PASS)]})
        first, *_ = events(engine, PLAIN)
        assert first.result.verdict == FAIL
        assert engine.ran == [case.id for case in PLAIN]

    @pytest.mark.parametrize(
        "verdict", [FAIL, Verdict(Outcome.INCONCLUSIVE, TimedOut(1.0, 0, "in time"))]
    )
    @pytest.mark.parametrize("again", [Verdict(Outcome.PASS), FAIL])
    def test_what_does_not_pass_beside_others_is_tried_again_alone(
        self, verdict: Verdict, again: Verdict
    ) -> None:
        engine = Scripted({PLAIN[1].id: [verdict, again]})
        found = events(engine, [*PLAIN, NEGATIVE], workers=3)
        assert {event.result.case.id: event.result.verdict for event in found} == {
            **{case.id: Verdict(Outcome.PASS) for case in (*PLAIN, NEGATIVE)},
            PLAIN[1].id: passed_alone(again, verdict),
        }
        assert engine.beside.count(PLAIN[1].id) == 1
        assert engine.ran.count(PLAIN[1].id) == 2
        assert engine.ran[-1] == NEGATIVE.id
        assert [event.result.case for event in found] == [*PLAIN, NEGATIVE]

    def test_once_something_differs_beside_others_the_rest_goes_one_by_one(self) -> None:
        many = [make_case(case_id=f"D1/many[{number}]") for number in range(40)]
        engine = Scripted({many[0].id: [FAIL, Verdict(Outcome.PASS)]})
        found = events(engine, many, workers=2)
        assert [event.result.outcome for event in found] == [Outcome.FLAKY] + 39 * [Outcome.PASS]
        alone = Counter(engine.ran) - Counter(engine.beside)
        assert set(alone) == {case.id for case in many}
        assert many[-1].id not in engine.beside

    def test_far_away_what_must_be_rejected_shares_the_server_too(self) -> None:
        rejected = [make_case(REJECT, case_id=f"D1/rejected[{number}]") for number in range(9)]
        engine = Scripted({}, FAR_S)
        found = events(engine, [*PLAIN, *rejected], workers=3)
        assert set(engine.beside) == {case.id for case in (*PLAIN, *rejected)}
        assert [event.result.case for event in found] == [*PLAIN, *rejected]

    def test_what_passed_beside_one_that_leaves_something_in_the_server_runs_again(self) -> None:
        rejected = [make_case(REJECT, case_id=f"D1/rejected[{number}]") for number in range(40)]
        last = rejected[-1].id
        engine = Scripted({last: [STUCK], rejected[3].id: [Verdict(Outcome.PASS), FAIL]}, FAR_S)
        engine.lingering = {last}
        found = {event.result.case.id: event.result for event in events(engine, rejected, 2)}
        assert {found[case.id].outcome for case in rejected} == {Outcome.PASS, Outcome.FAIL}
        assert found[rejected[3].id].verdict == FAIL  # another case met what it left
        assert set(engine.ran) - set(Counter(engine.ran) - Counter(engine.beside)) == set()

    def test_what_passed_beside_one_that_left_something_unseen_runs_again(self) -> None:
        hiding = replace(NEGATIVE, id="D1/hiding", canary="json")
        rejected = [make_case(REJECT, case_id=f"D1/rejected[{number}]") for number in range(9)]
        engine = Scripted({rejected[3].id: [Verdict(Outcome.PASS), FAIL]}, FAR_S)
        engine.lingering = {hiding.id}
        together = replace(NEGATIVE, id="D1/together", together=2)
        later = make_case(REJECT, case_id="D1/later")
        everything = [hiding, *rejected, together, later]
        found = events(engine, everything, 2)
        alone = Counter(engine.ran) - Counter(engine.beside)
        assert alone == Counter(case.id for case in everything)
        assert set(engine.beside) == {case.id for case in (hiding, *rejected)}
        assert [event.result.case for event in found] == everything
        outcomes = {event.result.case.id: event.result.outcome for event in found}
        assert outcomes.pop(rejected[3].id) is Outcome.FAIL  # alone, nothing hid it
        assert set(outcomes.values()) == {Outcome.PASS}

    def test_results_come_while_later_cases_still_run(self) -> None:
        many = [make_case(case_id=f"D1/many[{number}]") for number in range(200)]
        engine = Scripted({})
        coming = run(cast(Engine, engine), many, 2)
        first = next(coming)
        assert first.result.case == many[0]
        assert len(engine.ran) < len(many)
        assert [event.result.case for event in coming] == many[1:]

    def test_dangerous_cases_are_always_alone(self) -> None:
        dangerous = replace(NEGATIVE, id="D1/dangerous", dangerous=True)
        engine = Scripted({}, FAR_S)
        events(engine, [dangerous, NEGATIVE, *PLAIN], workers=3)
        assert dangerous.id not in engine.beside
        assert engine.ran[-1] == dangerous.id

    def test_a_server_that_mixes_up_requests_in_progress_is_not_shared(self) -> None:
        together = replace(PLAIN[0], id="C6/together", together=4)
        engine = Scripted({together.id: [FAIL]}, FAR_S)
        found = events(engine, [*PLAIN, together, NEGATIVE], workers=3)
        assert engine.beside == []
        assert [event.result.case.id for event in found] == [
            *(case.id for case in PLAIN),
            together.id,
            NEGATIVE.id,
        ]

    def test_what_was_not_sent_is_not_tried_again(self) -> None:
        absent = Verdict(Outcome.NOT_RUN, RoleAbsent("mixed", "no such model"))
        engine = Scripted({PLAIN[1].id: [absent]})
        events(engine, PLAIN, workers=3)
        assert Counter(engine.ran) == Counter(case.id for case in PLAIN)

    def test_nearby_what_must_be_rejected_never_shares_the_server_and_is_tried_once(self) -> None:
        engine = Scripted({NEGATIVE.id: [FAIL]})
        events(engine, [NEGATIVE, *PLAIN], workers=3)
        assert engine.ran[-1] == NEGATIVE.id
        assert engine.ran.count(NEGATIVE.id) == 1

    def test_a_run_that_is_stopped_does_not_do_the_rest_first(self, start: Start) -> None:
        class Counts(Behaviour):
            served = 0

            def handle(self, request: Request) -> Response:
                type(self).served += 1
                return super().handle(request)

        server = start(Counts)
        target = target_of(server.url)
        cases = chosen("D", "B", "M", "O")
        stopped = run(Engine(target, discover(target)), cases, 2)
        next(stopped)
        cast(Generator[CaseFinished, None, None], stopped).close()
        assert Counts.served < len(cases)

    def test_a_run_that_is_stopped_closes_the_engine(self) -> None:
        engine = Scripted({})
        stopped = run(cast(Engine, engine), PLAIN)
        next(stopped)
        cast(Generator[CaseFinished, None, None], stopped).close()
        assert engine.closed
        assert len(engine.ran) == 1
