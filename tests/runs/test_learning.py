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
from v2_conformance.protocol.datatypes import decode_bytes
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.learning import learn_again, learn_models, listed_models
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.models import ROLE, ModelContract, TensorSpec
from v2_conformance.suite.values.samples import Choice, make_samples
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


class WithoutIndex(Behaviour):
    """A server without a repository index."""

    def repository_index(self, request: Request) -> Response:
        return self.error(404, "there is no repository")


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


def test_a_model_without_outputs_cannot_be_tested(start: Start) -> None:
    with pytest.raises(NothingRanError, match=r"widener: .*its answer has no outputs"):
        learn_models(target(start(Sink)), ["widener"], Choice(), None)


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
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("v2_conformance.runs.learning._ROOM", 64 << 10)
    wide = Choice(shapes={"INPUT0": (20_000,)})
    with (
        ReferenceServer() as server,
        pytest.raises(NothingRanError, match=r"widener: .*its messages take more than.*--shape"),
    ):
        learn_models(target(server), ["widener"], wide, None)


def test_all_stands_for_the_repository_index(start: Start, server: ReferenceServer) -> None:
    assert {"matrix_product", "reverser", "widener"} <= set(listed_models(target(server)) or ())
    without = target(start(WithoutIndex))
    assert listed_models(without) is None
    with pytest.raises(UsageError, match="does not list its models"):
        learn_models(without, ["all"], Choice(), None)


@pytest.mark.parametrize("listed", [[], [{"name": "a\n::error::b"}, {"name": "c", "state": "X"}]])
def test_a_list_without_a_model_that_can_be_tested_is_told(start: Start, listed: object) -> None:
    class Lists(Behaviour):
        def repository_index(self, request: Request) -> Response:
            return self.json_response(listed)

    with pytest.raises(NothingRanError, match="lists no model that is ready"):
        learn_models(target(start(Lists)), ["all"], Choice(), None)


@pytest.mark.parametrize(
    ("model", "given", "problem"),
    [
        ("widener", (0, 1e9), "--range INPUT0=0:1e.09 is not within the numbers of FP16"),
        ("identity_int8", (0, 200), "--range INPUT0=0:200 is not within the numbers of INT8"),
        ("identity_int8", (0.2, 0.8), "--range INPUT0=0.2:0.8 has no whole number"),
        ("identity_bytes", (0, 1), "INPUT0 is BYTES, which has no range"),
    ],
)
def test_a_range_beyond_the_datatype_is_the_users_mistake(
    server: ReferenceServer, model: str, given: tuple[float, float], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        learn_models(target(server), [model], Choice(ranges={"INPUT0": given}), None)


def test_texts_of_requests_at_once_differ_in_nothing_but_their_letters() -> None:
    first, other = make_samples([TensorSpec("X", "BYTES", (7,))], Choice(), 1)
    pairs = [*zip(decode_bytes(first[0].blob), decode_bytes(other[0].blob), strict=True)]
    assert all(len(one) == len(two) for one, two in pairs)
    assert sum(one != two for one, two in pairs) >= 6


def test_what_cannot_be_tested_says_why_and_what_to_do(start: Start) -> None:
    with ReferenceServer() as server:
        with pytest.raises(NothingRanError, match=r"no_such: GET /v2/models/no_such .* status 404"):
            learn_models(target(server), ["no_such"], Choice(), None)
        with pytest.raises(NothingRanError, match=r"; the server has .* and \d+ more$"):
            learn_models(target(server), ["no_such"], Choice(), None)
        wrong = Choice(shapes={"INPUT0": (3, 5)})
        with pytest.raises(UsageError, match=r"INPUT0: the model takes the shape \[-1, 4\], got"):
            learn_models(target(server), ["matrix_product"], wrong, None)
        unlike = Choice(shapes={"INPUT0": (2,), "INPUT1": (3,)})
        with pytest.raises(NothingRanError, match=r"does not answer a plain request.*--shape"):
            learn_models(target(server), ["reverser"], unlike, None)
        with pytest.raises(UsageError, match="no model has an input 'INPUT9'"):
            learn_models(target(server), ["widener"], Choice(shapes={"INPUT9": (1,)}), None)
        with pytest.raises(UsageError, match="cannot be tested by name"):
            learn_models(target(server), ["../x"], Choice(), None)
    with pytest.raises(NothingRanError, match=r"names no inputs.*--input"):
        learn_models(target(start(Nameless)), ["widener"], Choice(), None)


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


@pytest.mark.parametrize(
    ("elements", "tested"), [(20_000, True), (100_000, False), (400_000, False)]
)
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
