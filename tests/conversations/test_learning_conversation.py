"""What a model that nobody knows is asked first, and what is kept of its answers."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from support.servers import Start
from v2_conformance.protocol.datatypes import ElementError
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.runs.learning import LearnedModel, learn_models
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.models import ModelContract, Sample, TensorSpec
from v2_conformance.suite.relations import value_sets
from v2_conformance.suite.values.samples import Choice
from v2_conformance.wire.relations.values import values_of


def learned(start: Start, behaviour: type[Behaviour], name: str) -> LearnedModel:
    target = make_target(start(behaviour).url)
    (found,) = learn_models(target, [name], Choice(), None).models
    return found


@pytest.mark.parametrize(("name", "in_json"), [("widener", False), ("identity_int32", True)])
def test_only_inputs_that_json_can_hold_are_sent_as_json(
    start: Start, name: str, in_json: bool
) -> None:
    asked = []

    class Listening(Behaviour):
        def infer(self, model: ModelContract, request: Request) -> Response:
            asked.append(not request.values("inference-header-content-length"))
            return super().infer(model, request)

    learned(start, Listening, name)
    assert set(asked) == {in_json}


def of_infinities(model: ModelContract, free: Collection[str]) -> tuple[tuple[Sample, ...], ...]:
    return (values_of(value_sets()["singles"], model),)


class Refusing(Behaviour):
    """A model that takes only numbers from -1 to 1."""

    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        if np.all(np.abs(np.frombuffer(tensor.blob, "<f4")) <= 1):
            return super().output_tensor(output, tensor)
        return self.of_others(output, tensor)

    def of_others(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        raise ElementError("a number is not from -1 to 1")


class Spoiling(Refusing):
    """As that, but it answers to others with a part of a tensor."""

    def of_others(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        return Tensor(output.name, output.datatype, tensor.shape, tensor.blob[:-4])


@pytest.mark.parametrize(("behaviour", "special"), [(Behaviour, 1), (Refusing, 0), (Spoiling, 1)])
def test_what_a_model_refuses_is_not_sent_again_and_what_it_spoils_is(
    start: Start, monkeypatch: pytest.MonkeyPatch, behaviour: type[Behaviour], special: int
) -> None:
    monkeypatch.setattr("v2_conformance.runs.learning.special_sets", of_infinities)
    found = learned(start, behaviour, "identity_fp32")
    known = found.learned.known
    assert len(found.asked.special) == 1
    assert known is not None
    assert len(known.model.special) == len(known.special) == special
    assert (None in known.special) is (behaviour is Spoiling)
