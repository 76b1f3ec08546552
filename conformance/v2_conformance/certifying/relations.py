"""Runs about arbitrary models, which are learned first, then compared with themselves.

asked = Asked(["my-model"])
started = start_relations(make_target("http://localhost:8000"), asked, Path("reports"))
report = started.finish()
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from v2_conformance.certifying.servers import NO_EXPECTATIONS, Plan, StartedRun, begin
from v2_conformance.errors import NothingRanError
from v2_conformance.judging.relations.learning import Learned
from v2_conformance.judging.relations.plan import relation_plan
from v2_conformance.redaction import Mask
from v2_conformance.report import room
from v2_conformance.report.evidence import AskedInput, AskedModel, Relations, SampleValue
from v2_conformance.report.expectations import Expectations
from v2_conformance.report.recorder import recorded_exchange
from v2_conformance.report.tested import Selection
from v2_conformance.runs.learning import LearnedModel, learn_models
from v2_conformance.runs.scheduling.deaths import Recovery
from v2_conformance.runs.targets.reaching import wait_until_ready
from v2_conformance.runs.targets.target import Target, check_claims
from v2_conformance.suite.cases import Case
from v2_conformance.suite.choosing import select
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.models import Sample
from v2_conformance.suite.values.samples import Choice
from v2_conformance.wire.encode.deployment import Tolerance
from v2_conformance.wire.exchange import Body
from v2_conformance.wire.relations.cases import special_sets


@dataclass(frozen=True)
class Asked:
    """Models to test, what the user says about their inputs, and how much floats may differ.

    "all" among the names stands for every model that the server lists. With `most`, they are tried
    in their order until so many can be tested, and the rest is left out.
    """

    names: Sequence[str]
    choice: Choice = field(default_factory=Choice)
    tolerance: Tolerance | None = None
    most: int | None = None


def start_relations(
    target: Target,
    asked: Asked,
    directory: Path,
    *,
    patterns: Sequence[str] = (),
    recovery: Recovery | None = None,
    expectations: Expectations = NO_EXPECTATIONS,
    outdated: Collection[str] = (),
    ready_within_s: float | None = None,
) -> StartedRun:
    """Learn the models and begin the record of a run, as `certifying.start` does.

    Raises what that raises, and NothingRanError if no model answers its plain request.
    """
    cases = suite_cases()
    check_claims(target)
    wait_until_ready(target, ready_within_s)
    special = partial(special_sets, cases)
    found = learn_models(
        target,
        asked.names,
        asked.choice,
        asked.tolerance,
        special,
        partial(_too_long, cases, patterns),
        most=asked.most,
    )
    planned = relation_plan([one.learned for one in found.models], cases)
    chosen = select(planned, patterns)
    tolerance = asked.tolerance or Tolerance()
    relations = Relations(
        models=tuple(_asked_model(one, target.mask, asked.tolerance) for one in found.models),
        rtol=tolerance.rtol,
        atol=tolerance.atol,
    )
    started = begin(
        target,
        Plan(planned, chosen, selection=Selection(tuple(patterns))),
        found.server,
        directory,
        relations=relations,
        recovery=recovery,
        expectations=expectations,
        outdated=outdated,
    )
    return replace(started, notes=tuple(_reduced(one) for one in found.models if one.reduced))


def _too_long(
    cases: Sequence[Case], patterns: Sequence[str], model: Learned, length: int, models: int
) -> bool:
    """Return True if a report has no room for the cases of so many such models, with `length` bytes
    in each.
    """
    try:
        chosen = select(relation_plan([model], cases), patterns)
    except NothingRanError:
        return False
    return len(chosen) * length * models > room.UNPACKED


def _reduced(model: LearnedModel) -> str:
    return (
        f"{model.asked.model} is sent 1 for variable dimensions, since a report has no room for "
        "longer requests in all cases (--shape chooses otherwise, --case sends fewer cases)"
    )


def _asked_model(found: LearnedModel, mask: Mask, given: Tolerance | None) -> AskedModel:
    return AskedModel(
        role=found.asked.role,
        inputs=tuple(
            AskedInput(s.name, s.datatype, s.dims, s.name not in found.free)
            for s in found.asked.inputs
        ),
        samples=_kept(found.asked.samples),
        special=_kept(found.asked.special),
        learned=tuple(recorded_exchange(exchange, mask) for exchange in found.exchanges),
        json_rtol=found.learned.json_rtol(given),
    )


def _kept(sets: tuple[tuple[Sample, ...], ...]) -> tuple[tuple[SampleValue, ...], ...]:
    return tuple(
        tuple(SampleValue(value.shape, Body(value.blob)) for value in values) for values in sets
    )
