"""Chooses the cases of a run about arbitrary models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.judging.relations.learning import Learned
from v2_conformance.suite.cases import Case, GetCase, ObservedCase, RequestCase
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.relations.cases import relation_cases


def bindings_of(models: Sequence[Learned]) -> dict[str, DeployedModel]:
    """Return the binding of each model's role: its own, and the contract's role that it plays."""
    bound = {one.binding.role: one.binding for one in models}
    for one in models:
        if one.identity is not None and one.identity not in bound:
            bound[one.identity] = replace(one.binding, role=one.identity, known=None)
    return bound


def relation_plan(models: Sequence[Learned], cases: Sequence[Case]) -> list[Case]:
    """Return the cases of a run about `models`, out of all `cases` of the suite.

    A model gets the cases that can be sent to it; one that was found to be an identity gets those
    of its role first, and none of the others twice. Cases about the server alone, and about all
    exchanges, stay as usual.
    """
    bound = bindings_of(models)
    played = {binding.model for binding in bound.values() if binding.known is None}
    unknown = [one.model for one in models if one.binding.model not in played]
    known = [
        case
        for case in cases
        if isinstance(case, RequestCase) and not case.large
        if set(case.roles) <= bound.keys()
    ]
    echoes = [one.model for one in models if one.binding.model in played]
    sent = {case.template for case in known}
    others = [case for case in cases if case.template not in sent]
    asked = [case for case in cases if isinstance(case, GetCase)]
    observed = [case for case in cases if isinstance(case, ObservedCase)]
    related = [*relation_cases(cases, unknown), *relation_cases(others, echoes)]
    return [*asked, *known, *related, *observed]
