"""Runs about arbitrary models, which are learned first, then compared with themselves.

target = make_target("http://localhost:8000")
plan = learned_plan(target, Asked(["my-model"]))
report = start(target, plan, Path("reports")).finish()
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from v2_conformance.certifying.servers import Plan
from v2_conformance.judging.learning import json_rtol
from v2_conformance.redaction import Mask
from v2_conformance.report.recorder import recorded_exchange
from v2_conformance.report.tested import AskedInput, AskedModel, Relations, SampleValue, Selection
from v2_conformance.runs.learning import LearnedModel, learn_models
from v2_conformance.runs.targets.reaching import wait_until_ready
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.choosing import select
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.models import Sample
from v2_conformance.suite.values.samples import Choice
from v2_conformance.wire.encode.deployment import Tolerance
from v2_conformance.wire.exchange import Body
from v2_conformance.wire.relations.cases import relation_plan


@dataclass(frozen=True)
class Asked:
    """Models to test, what the user says about their inputs, and how much floats may differ. The
    name "all" stands for every model; with `most`, they are tried until so many can be tested."""

    names: Sequence[str]
    choice: Choice = field(default_factory=Choice)
    tolerance: Tolerance | None = None
    most: int | None = None


def learned_plan(
    target: Target,
    asked: Asked,
    patterns: Sequence[str] = (),
    ready_within_s: float | None = None,
) -> Plan:
    """Learn the models, and return the plan of a run about them. Raises as `servers.start`
    does, and NothingRanError if no model answers its plain request."""
    cases = suite_cases()
    wait_until_ready(target, ready_within_s)
    learned = learn_models(target, asked.names, asked.choice, asked.tolerance, most=asked.most)
    planned = relation_plan([one.learned.contract for one in learned.models], cases)
    tolerance = asked.tolerance or Tolerance()
    relations = Relations(
        models=tuple(_asked_model(one, target.mask, asked) for one in learned.models),
        rtol=tolerance.rtol,
        atol=tolerance.atol,
    )
    return Plan(
        planned,
        select(planned, patterns),
        selection=Selection(tuple(patterns)),
        server=learned.server,
        relations=relations,
    )


def _asked_model(model: LearnedModel, mask: Mask, asked: Asked) -> AskedModel:
    return AskedModel(
        role=model.asked.role,
        inputs=tuple(
            AskedInput(spec.name, spec.datatype, spec.dims, spec.name in asked.choice.names)
            for spec in model.asked.inputs
        ),
        samples=_recorded(model.asked.samples),
        special=_recorded(model.asked.special),
        learned=tuple(recorded_exchange(exchange, mask) for exchange in model.exchanges),
        json_rtol=json_rtol(model.learned, asked.tolerance),
    )


def _recorded(sets: Sequence[Sequence[Sample]]) -> tuple[tuple[SampleValue, ...], ...]:
    return tuple(
        tuple(SampleValue(value.shape, Body(value.blob)) for value in values) for values in sets
    )
