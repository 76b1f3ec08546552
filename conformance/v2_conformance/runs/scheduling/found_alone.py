"""Settles cases that ran concurrently: what went wrong runs again alone before anyone is blamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from v2_conformance.judging.relations.rounding import is_rounding
from v2_conformance.judging.survival import passed_alone, unrepeated
from v2_conformance.runs.result import Result
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.suite.cases import Case, RelationCase, RequestCase
from v2_conformance.suite.causes.causes import died, difference_in, unsurvived, wrong_output
from v2_conformance.suite.causes.circumstances import Hung
from v2_conformance.suite.outcomes import Outcome


def unclear(result: Result) -> bool:
    """Return True if a concurrent result has to be checked by running the case alone."""
    return result.outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE)


def cut_off(result: Result) -> bool:
    """Return True if the server closed one of its connections without announcing it. Only that can
    be another case's fault: a server keeps every other rule under concurrency as well.
    """
    return any(seen.what == "announced_closes" and seen.first for seen in result.seen())


@dataclass(frozen=True)
class FoundAlone:
    """The results of concurrent cases when run again alone, in the same order.

    `interfered` says whether some results changed although no case among them fails alone in a way
    that explains it; `lingers` says whether a case leaves something behind in the server that
    others may have met or hidden.
    """

    results: Sequence[Result]
    interfered: bool
    lingers: bool


def found_alone(engine: Engine, results: Sequence[Result]) -> FoundAlone:
    """Return the final `results` of cases that ran concurrently, in the plan's order, now that
    nothing is in flight. Unclear cases run again, unless they killed what they need. So do cases
    that were cut off meanwhile, unless the whole server is dead.

    If that does not explain why a case was unclear, all others run again as well: one may have hurt
    another.
    """
    disturbed = any(map(unclear, results))

    def doubtful(result: Result) -> bool:
        return disturbed and result.beside and not engine.cuts_off and cut_off(result)

    killings = engine.killings([result for result in results if unclear(result)])
    killed = {killing.result.case.id: killing.result for killing in killings}
    dead = {killing.role for killing in killings}
    found: dict[int, Result] = {}
    for number, result in enumerate(results):
        if not killed or result.case.id in killed:
            break
        repeatable = not dead.intersection((None, *result.case.roles))
        if not unclear(result) and not (repeatable and doubtful(result)):
            found[number] = engine.settled(result)
    for killing in killings:
        engine.blame(killing)
    again: dict[int, Result] = {}
    for number, result in enumerate(results):
        if result.case.id in killed:
            found[number] = killed[result.case.id]
        elif unclear(result):
            found[number] = again[number] = engine.run(result.case, in_any_case=True)
        elif number not in found and doubtful(result):
            found[number] = again[number] = engine.run(result.case, in_any_case=True)
            engine.cuts_off = cut_off(again[number])
        elif number not in found:
            found[number] = engine.settled(result)
    differing = [
        number
        for number, result in again.items()
        if unclear(results[number]) and results[number].exchanges and result.outcome.harmless
    ]
    if not differing or killed or any(map(_harms_others, again.values())):
        return _found_alone(engine, found, again, interfered=False)
    for number, result in enumerate(results):
        if number not in again and result.beside:
            found[number] = again[number] = engine.run(result.case, in_any_case=True)
    harmed = any(map(_harms_others, again.values()))
    cases = () if harmed else [result.case for result in results]
    kept = any(lingers(engine, case, any_form=True) for case in cases)
    interfered = not (harmed or kept)
    for number in differing if interfered else ():
        alone, beside = found[number], results[number]
        if _only_rounded(beside):
            continue
        verdict = unrepeated(alone.case, alone.verdict, beside.verdict)
        found[number] = replace(
            alone, verdict=verdict or passed_alone(alone.verdict, beside.verdict)
        )
    return _found_alone(engine, found, again, interfered=interfered, left=kept)


def _only_rounded(beside: Result) -> bool:
    """Return True if a value of an arbitrary model was wrong by a few units in the last place."""
    difference = difference_in(beside.cause)
    known = isinstance(beside.case, RelationCase) and wrong_output(beside.cause) is not None
    return known and difference is not None and is_rounding(difference)


def _found_alone(
    engine: Engine,
    found: Mapping[int, Result],
    again: Mapping[int, Result],
    *,
    interfered: bool,
    left: bool = False,
) -> FoundAlone:
    hurt = (result.case for result in again.values() if _hurts_the_next(result))
    left = left or any(lingers(engine, case) for case in hurt)
    return FoundAlone([found[number] for number in range(len(found))], interfered, left)


def _hurts_the_next(result: Result) -> bool:
    """Return True if only the first request after a case that failed alone got a wrong answer."""
    cause = unsurvived(result.cause)
    return cause is not None and cause.fresh_connection is None


def lingers(engine: Engine, case: Case, *, any_form: bool = False) -> bool:
    """Return True if something that a case leaves behind hurts others, for a case that is sent and
    has to be rejected: see Live.
    """
    if not isinstance(case, RequestCase) or not case.negative or not engine.sends(case):
        return False
    return engine.live.lingers(case, any_form=any_form)


def _harms_others(result: Result) -> bool:
    """Return True if a case that also fails alone shows why others failed concurrently."""
    return result.outcome is Outcome.FAIL and (died(result.cause) or isinstance(result.cause, Hung))
