"""Which faults of the reference server a run notices that knows none of its models.

Such a run has only relations between the answers of models that are no identities. What it cannot
notice is what changes every answer in the same way, and what only other values or datatypes show.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache

from v2_conformance.errors import ConformanceError
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.ordinary_models import ORDINARY_MODELS
from v2_conformance.runs.learning import learn_models
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, GetCase, ObservedCase, RelationCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.models import ModelContract
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.values.samples import Choice
from v2_conformance.wire.relations.cases import AT, relation_cases
from v2_mutants.faults import FAULTS
from v2_mutants.selftest.servers import SLOW_REQUIREMENTS, SLOW_TIMEOUT_S, TIMEOUT_S
from v2_mutants.servers import MutantServer

PROMISED = 0.70
"""The least part of all faults that such a run has to notice."""


@dataclass(frozen=True)
class RelationTrial:
    """Result of a run without known models for one fault.

    `noticed_by` is the first case that failed, or in words what made the run refuse to begin; None
    if nothing did.
    """

    fault: str
    requirement: str
    noticed_by: str | None


def try_relations(workers: int | None = None) -> tuple[RelationTrial, ...]:
    """A trial of each fault, in the order of FAULTS; `workers` as for `run_selftest`."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=context) as pool:
        return tuple(pool.map(try_relation_fault, FAULTS))


def enough_noticed(trials: Sequence[RelationTrial]) -> bool:
    """Return True if a run without known models notices the part of the faults that it promises."""
    return sum(trial.noticed_by is not None for trial in trials) >= PROMISED * len(trials)


def relation_lines(trials: Sequence[RelationTrial]) -> Iterator[str]:
    """A line for each fault, then how many were noticed."""
    for trial in trials:
        mark = "MISSED" if trial.noticed_by is None else "noticed"
        yield f"{trial.requirement:<4}{mark:<8}{trial.fault}  {trial.noticed_by or ''}".rstrip()
    noticed = sum(trial.noticed_by is not None for trial in trials)
    part = noticed / len(trials) if trials else 0.0
    yield f"{noticed} of {len(trials)} faults noticed by relations alone ({part:.0%})"


def try_relation_fault(name: str) -> RelationTrial:
    """Run the cases of the requirement that the fault `name` breaks, then one of each entry, until
    one of them fails."""
    requirement = FAULTS[name].requirement
    with MutantServer([name]) as server:
        slow = requirement in SLOW_REQUIREMENTS
        timeout = SLOW_TIMEOUT_S if slow else TIMEOUT_S
        target = make_target(server.url, profiles=SERVER_PROFILES, timeout=timeout)
        return RelationTrial(name, requirement, noticed_by(target, requirement))


def noticed_by(target: Target, requirement: str) -> str | None:
    """Return what notices a fault of the `requirement` in a target: see `RelationTrial`."""
    try:
        learned = learn_models(target, list(ORDINARY_MODELS), Choice(), None)
    except ConformanceError as error:
        return str(error)
    known = [one.learned.known for one in learned.models]
    if learned.server.absent or any(one and one.differing for one in known):
        return "a model that does not repeat its answers"
    models = tuple(one.learned.contract for one in learned.models)
    cases = relation_sample(_cases(models), requirement)
    for event in run(Engine(target, learned.server), cases):
        if event.result.outcome is Outcome.FAIL:
            return event.result.case.id
    return None


@cache
def _cases(models: tuple[ModelContract, ...]) -> Sequence[RelationCase]:
    # The same for nearly every fault: a server answers its plain requests before it fails.
    return relation_cases(models)


def relation_sample(cases: Sequence[RelationCase], requirement: str) -> list[Case]:
    """Every case of a requirement, then the first of each entry of most others, for some model."""
    first: dict[str, Case] = {}
    for case in cases:
        if case.requirement not in (requirement, *SLOW_REQUIREMENTS):
            first.setdefault(case.id.partition(AT)[0].partition("[")[0], case)
    own = [case for case in cases if case.requirement == requirement]
    others = [case for case in suite_cases() if isinstance(case, GetCase | ObservedCase)]
    return [*own, *first.values(), *others]
