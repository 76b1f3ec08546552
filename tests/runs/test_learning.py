"""What a run learns of models that it does not know, before the first case."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from support.behaviours import Noisy
from support.servers import Start
from v2_conformance.errors import NothingRanError, UsageError
from v2_conformance.judging.learning import unknown_model
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.learning import learn_again, learn_models, listed_models
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.models import ROLE, ModelContract, TensorSpec
from v2_conformance.suite.values.samples import Choice
from v2_conformance.wire.encode.deployment import Tolerance


class Nameless(Behaviour):
    """A server whose model metadata names no tensors."""

    def model_metadata(self, model: ModelContract) -> Response:
        return self.json_response({"name": model.model, "inputs": [], "outputs": []})


class OutputsUnsaid(Behaviour):
    """A server whose model metadata names inputs alone."""

    def model_metadata(self, model: ModelContract) -> Response:
        inputs = [spec.metadata() for spec in model.inputs]
        return self.json_response({"name": model.model, "inputs": inputs, "outputs": []})


class Sink(OutputsUnsaid):
    """A server of models without outputs."""

    def response_document(
        self, model: ModelContract, inference: InferenceRequest, entries: list[JsonObject]
    ) -> JsonObject:
        return super().response_document(model, inference, [])


class Infinite(Behaviour):
    """A model whose second output is infinite."""

    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        if output.name != "OUTPUT1":
            return super().output_tensor(output, tensor)
        endless = np.full(tensor.shape, np.inf, "<f4").tobytes()
        return Tensor(output.name, output.datatype, tensor.shape, endless)


def target(server: ReferenceServer) -> Target:
    return make_target(server.url)


def test_answers_are_learned_with_another_set_of_values(server: ReferenceServer) -> None:
    (found,) = learn_models(target(server), ["matrix_product"], Choice(), None).models
    known = found.learned.known
    assert known is not None
    assert known.answers is not None
    assert [[tensor.shape for tensor in answer] for answer in known.answers] == [
        [(3, 2), (3,), (3,)]
    ] * 2


def test_outputs_that_no_json_can_hold_are_known(start: Start) -> None:
    (found,) = learn_models(target(start(Infinite)), ["matrix_product"], Choice(), None).models
    assert set(found.learned.contract.not_in_json) >= {(None, 1)}


def test_outputs_that_the_metadata_does_not_name_are_those_of_the_answer(start: Start) -> None:
    names = ["matrix_product"]
    (found,) = learn_models(target(start(OutputsUnsaid)), names, Choice(), None).models
    assert found.learned.outputs == ("OUTPUT0", "OUTPUT1", "OUTPUT2")
    assert found.asked.special


def test_a_model_that_does_not_repeat_its_answers_is_found_out(start: Start) -> None:
    server = start(Noisy)
    (found,) = learn_models(target(server), ["matrix_product"], Choice(), None).models
    assert found.learned.known is not None
    assert found.learned.known.differing == "OUTPUT0"
    near = Tolerance(rtol=0.1, atol=0.1)
    (within,) = learn_models(target(server), ["matrix_product"], Choice(), near).models
    assert within.learned.known is not None
    assert within.learned.known.differing is None


def test_answers_that_a_report_has_no_room_for_are_refused(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("v2_conformance.runs.learning._ROOM", 64 << 10)
    wide = Choice(shapes={"INPUT0": (20_000,)})
    with pytest.raises(NothingRanError, match=r"widener: .*its messages take more than.*--shape"):
        learn_models(make_target(url), ["widener"], wide, None)


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        (None, "does not list its models"),
        ([], "lists no model that is ready"),
        ([{"name": "a\n::error::b"}, {"name": "c", "state": "X"}], "lists no model that is ready"),
    ],
)
def test_all_stands_for_the_repository_index(
    start: Start, url: str, listed: object, problem: str
) -> None:
    class Lists(Behaviour):
        def repository_index(self, request: Request) -> Response:
            if listed is None:
                return self.error(404, "there is no repository")
            return self.json_response(listed)

    assert {"matrix_product", "reverser", "widener"} <= set(listed_models(make_target(url)) or ())
    with pytest.raises((NothingRanError, UsageError), match=problem):
        learn_models(target(start(Lists)), ["all"], Choice(), None)


def shape(**shapes: tuple[int, ...]) -> Choice:
    return Choice(shapes=shapes)


def between(low: float, high: float) -> Choice:
    return Choice(ranges={"INPUT0": (low, high)})


@pytest.mark.parametrize(
    ("model", "given", "problem"),
    [
        ("no_such", Choice(), r"no_such: GET /v2/models/no_such .* status 404.*; the server has "),
        ("no_such", Choice(), r"; the server has .* and \d+ more$"),
        ("matrix_product", shape(INPUT0=(3, 5)), r"the model takes the shape \[-1, 4\], got"),
        ("reverser", shape(INPUT0=(2,), INPUT1=(3,)), "does not answer a plain request.*--shape"),
        ("widener", shape(INPUT9=(1,)), "no model has an input 'INPUT9'"),
        ("../x", Choice(), "cannot be tested by name"),
        ("widener", between(0, 1e9), "--range INPUT0=0:1e.09 is not within the numbers of FP16"),
        ("identity_int8", between(0, 200), "--range INPUT0=0:200 is not within the numbers of"),
        ("identity_int8", between(0.2, 0.8), "--range INPUT0=0.2:0.8 has no whole number"),
        ("identity_bytes", between(0, 1), "INPUT0 is BYTES, which has no range"),
    ],
)
def test_what_cannot_be_tested_says_why_and_what_to_do(
    url: str, model: str, given: Choice, problem: str
) -> None:
    with pytest.raises((NothingRanError, UsageError), match=problem):
        learn_models(make_target(url), [model], given, None)


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [(Nameless, r"names no inputs.*--input"), (Sink, r"widener: .*its answer has no outputs")],
)
def test_a_model_without_tensors_cannot_be_tested(
    start: Start, behaviour: type[Behaviour], problem: str
) -> None:
    with pytest.raises(NothingRanError, match=problem):
        learn_models(target(start(behaviour)), ["widener"], Choice(), None)


def test_models_are_learned_within_the_time_of_a_run(server: ReferenceServer) -> None:
    """A server that leaves requests unanswered would take three times --timeout for each model."""
    brief = replace(target(server), max_time_s=1e-9)
    with pytest.raises(NothingRanError, match=r"widener: no time was left .*; mixed: .*--max-time"):
        learn_models(brief, ["widener", "mixed"], Choice(), None)
    again = learn_again(brief, [unknown_model("widener", (), (), ())], None)
    assert set(again.server.absent) == {ROLE + "widener"}


class Generator(Behaviour):
    """A model whose answer is `elements` floats, whatever it is sent."""

    elements = 0

    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        made = bytes(4 * self.elements)
        return Tensor(output.name, output.datatype, (self.elements,), made)


@pytest.mark.parametrize(("elements", "tested"), [(20_000, True), (100_000, False)])
def test_a_model_whose_answers_are_too_large_for_some_form_is_not_tested(
    start: Start, elements: int, *, tested: bool
) -> None:
    behaviour = type("Large", (Generator,), {"elements": elements})
    asked = partial(learn_models, target(start(behaviour)), ["identity_fp32"], Choice(), None)
    if tested:
        assert asked().models[0].learned.known is not None
        return
    with pytest.raises(NothingRanError, match="too large to be compared in every form"):
        asked()
