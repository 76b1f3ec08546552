"""Decides whether a case is sent at all: what a target claims, which models it has. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.datatypes import FLOATS
from v2_conformance.suite.cases import Case, RelationCase
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.models import ModelContract, contract
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.deployment import DeployedModel


@dataclass(frozen=True)
class Claims:
    """Claims of a target, and the roles it was found to have; `absent` has the reasons for the
    others.
    """

    profiles: Collection[str]
    unsupported: frozenset[str]
    present: Mapping[str, DeployedModel]
    absent: Mapping[str, str]


def skipped(case: Case, claims: Claims) -> Verdict | None:
    """Return why `case` is not sent to this target, None if it is."""
    for profile in case.profiles:
        if profile not in claims.profiles or profile in claims.unsupported:
            return Verdict(Outcome.UNSUPPORTED, kinds.ProfileNotClaimed(profile))
    if case.codings & claims.unsupported:
        codings = tuple(sorted(case.codings & claims.unsupported))
        return Verdict(Outcome.UNSUPPORTED, kinds.CodingsUnsupported(codings))
    unsupported = sorted(case.datatypes & claims.unsupported)
    if unsupported:
        return Verdict(Outcome.UNSUPPORTED, kinds.DatatypesUnsupported(tuple(unsupported)))
    role = next((role for role in case.roles if role not in claims.present), None)
    if role is not None:
        reason = claims.absent.get(role, "no such model")
        # A growing contract must not invalidate the certificate of a server with the older one.
        model = contract().get(role)
        optional = model is not None and model.optional
        outcome = Outcome.UNSUPPORTED if optional else Outcome.NOT_RUN
        return Verdict(outcome, kinds.RoleAbsent(role, printable(reason)))
    if isinstance(case, RelationCase) and case.expects == "success":
        for role in case.roles:
            known = claims.present[role].known
            if known is not None and known.differing is not None:
                return Verdict(Outcome.NOT_RUN, answers_differ(known.model, known.differing))
    unknown = next((one for one in case.versioned if claims.present[one].version is None), None)
    if unknown is not None:
        return Verdict(Outcome.UNSUPPORTED, kinds.ModelVersionUnknown(unknown))
    return None


def answers_differ(model: ModelContract, output: str) -> kinds.AnswersDiffer:
    """Return that an arbitrary model does not repeat its answers: those of this output differ."""
    floats = any(
        output in (printable(spec.name), printable(spec.name, 60)) and spec.datatype in FLOATS
        for spec in model.outputs
    )
    return kinds.AnswersDiffer(model.role, output, floats)
