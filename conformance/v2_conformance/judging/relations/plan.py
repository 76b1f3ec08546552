"""Which cases a run has that is about models which nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.judging.relations.learning import Learned
from v2_conformance.suite.cases import Case, GetCase, ObservedCase, RequestCase
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.relations.cases import relation_cases


def bindings_of(models: Sequence[Learned]) -> dict[str, DeployedModel]:
    """Return what each model's role is bound to: its own, and the one of the contract that it
    plays."""
    bound = {one.binding.role: one.binding for one in models}
    for one in models:
        if one.identity is not None and one.identity not in bound:
            bound[one.identity] = replace(one.binding, role=one.identity, known=None)
    return bound


def relation_plan(models: Sequence[Learned], cases: Sequence[Case]) -> list[Case]:
    """The cases of a run about `models`, of all `cases` of the suite.

    A model that was found to be an identity gets the cases of its role; any other one those that
    can be sent to it. What is asked of the server alone, and observed of all exchanges, is the
    same as ever.
    """
    bound = bindings_of(models)
    played = {binding.model for binding in bound.values() if binding.known is None}
    unknown = [one.model for one in models if one.binding.model not in played]
    known = [
        case
        for case in cases
        if isinstance(case, RequestCase) and not (case.large or case.huge)
        if set(case.roles) <= bound.keys()
    ]
    asked = [case for case in cases if isinstance(case, GetCase)]
    observed = [case for case in cases if isinstance(case, ObservedCase)]
    return [*asked, *known, *relation_cases(cases, unknown), *observed]
