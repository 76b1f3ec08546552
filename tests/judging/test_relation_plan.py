"""The cases of a run about arbitrary models."""

from __future__ import annotations

from collections import Counter

from v2_conformance.judging.relations.learning import Learned, unknown_model
from v2_conformance.judging.relations.plan import relation_plan
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.models import TensorSpec
from v2_conformance.suite.values.samples import Choice, make_samples
from v2_conformance.wire.encode.deployment import DeployedModel, KnownModel


def learned(name: str, identity: str | None) -> Learned:
    inputs, outputs = (TensorSpec("X", "INT32", (1, 3)),), (TensorSpec("Y", "INT32", (1, 3)),)
    known = KnownModel(unknown_model(name, inputs, outputs, make_samples(inputs, Choice(), 3)))
    binding = DeployedModel(f"model/{name}", name, ("X",), ("Y",), known=known)
    return Learned(binding, identity=identity)


def test_a_model_that_echoes_gets_the_cases_of_its_role_and_none_twice() -> None:
    models = [learned("echo", "identity/INT32"), learned("other", None)]
    plan = relation_plan(models, suite_cases())
    of_role = {case.template for case in plan if getattr(case, "role", "") == "identity/INT32"}
    sent = [case for case in plan if getattr(case, "role", "") == "model/echo"]
    assert of_role
    assert sent
    assert not of_role & {case.template for case in sent}
    assert max(Counter(case.id for case in plan).values()) == 1
    assert any(getattr(case, "role", "") == "model/other" for case in plan)
