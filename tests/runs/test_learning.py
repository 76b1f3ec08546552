"""What a run learns of models that it does not know, before the first case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.behaviors import Noisy
from support.responses import BLOB, answer, exchange_of, http, sized, v2
from support.servers import Start
from v2_conformance.conversations.learning import learn
from v2_conformance.conversations.steps import play
from v2_conformance.errors import NothingRanError, UsageError
from v2_conformance.judging.learning import shapes_unlike_metadata, unknown_model
from v2_conformance.protocol.datatypes import decode_bytes
from v2_conformance.protocol.message import Tensor, dump_json
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.runs.learning import LearnedModel, learn_again, learn_models, listed_models
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.models import ROLE, ModelContract, Sample, TensorSpec
from v2_conformance.suite.values.samples import Choice, Given, make_samples
from v2_conformance.wire.encode.deployment import DeployedModel, Tolerance
from v2_conformance.wire.encode.requests import Prepared
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending


class Nameless(Behavior):
    """A server whose model metadata names no tensors."""

    def model_metadata(self, model: ModelContract) -> Response:
        return self.json_response({"name": model.model, "inputs": [], "outputs": []})


class OutputsUnsaid(Behavior):
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


def learned(url: str, name: str, within: Tolerance | None = None) -> LearnedModel:
    (found,) = learn_models(make_target(url), [name], Choice(), within).models
    return found


def refused(url: str, model: str, given: Choice | None = None) -> str:
    with pytest.raises((NothingRanError, UsageError)) as error:
        learn_models(make_target(url), [model], given or Choice(), None)
    return str(error.value)


def test_answers_are_learned_with_another_set_of_values(url: str) -> None:
    known = learned(url, "matrix_product").learned.known
    assert known is not None
    assert known.answers is not None
    shapes = [[tensor.shape for tensor in answer] for answer in known.answers]
    assert shapes == [[(3, 2), (3,), (3,)]] * 2


def test_outputs_that_the_metadata_does_not_name_are_those_of_the_answer(start: Start) -> None:
    found = learned(start(OutputsUnsaid).url, "matrix_product")
    assert found.learned.outputs == ("OUTPUT0", "OUTPUT1", "OUTPUT2")
    assert found.asked.special


@pytest.mark.parametrize(
    ("within", "differing"), [(None, "OUTPUT0"), (Tolerance(rtol=0.1, atol=0.1), None)]
)
def test_a_model_that_does_not_repeat_its_answers_is_found_out(
    start: Start, within: Tolerance | None, differing: str | None
) -> None:
    known = learned(start(Noisy).url, "matrix_product", within).learned.known
    assert known is not None
    assert known.differing == differing


def test_texts_of_requests_at_once_differ_in_nothing_but_their_letters() -> None:
    first, other = make_samples([TensorSpec("X", "BYTES", (7,))], Choice(), 1)
    pairs = [*zip(decode_bytes(first[0].blob), decode_bytes(other[0].blob), strict=True)]
    assert all(len(one) == len(two) for one, two in pairs)
    assert sum(one != two for one, two in pairs) >= 6
    assert b"}" in pairs[0][0]


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ([-1], ["OUTPUT0 came as [1, 3], and the metadata says [-1]"]),
        ([-1, 2], ["OUTPUT0 came as [1, 3], and the metadata says [-1, 2]"]),
        ([-1, 3], ["OUTPUT0 came as [1, 3]: 1 row for the 2 that were sent"]),
        ([1, -1], []),
    ],
)
def test_shapes_of_answers_are_compared_with_the_metadata(says: object, words: object) -> None:
    output = {"name": "OUTPUT0", "datatype": "INT32", "shape": says}
    metadata, reply = http(dump_json({"outputs": [output]})), v2(answer(sized(shape=[1, 3])), BLOB)
    sent = [(TensorSpec("X", "INT32", (-1, 4)), (2, 4)), (TensorSpec("Y", "INT32", (4,)), (4,))]
    assert [*shapes_unlike_metadata(map(exchange_of, (metadata, reply)), sent)] == words
    nothing = v2(answer(sized(size=0, shape=[0, 3])), b"")
    (empty, *_) = shapes_unlike_metadata(map(exchange_of, (metadata, nothing)), sent)
    assert empty.startswith("OUTPUT0 came as [0, 3]: no value of it is tested")
    long = exchange_of(http(b"", status=400), request=bytes(70000))
    (unanswered, *_) = shapes_unlike_metadata([exchange_of(metadata), long], sent)
    assert unanswered == "it refused 1 request of over 64 KiB: status 400"


@pytest.mark.parametrize(("ending", "left"), [(Ending.TOO_LARGE, 0), (Ending.MALFORMED, 1)])
def test_values_whose_answer_is_longer_than_what_is_read_are_left_out(
    ending: Ending, left: int
) -> None:
    sample = (Sample((3,), BLOB),)
    special = replace(
        unknown_model("m", [TensorSpec("X", "INT32", (-1,))], [], (sample,)),
        special=((Sample((1,), b"long"),),),
    )

    def reply(prepared: Prepared) -> Exchange:
        body = bytes(prepared.request.body[-1])
        if b"1735290732" in body:  # in JSON
            return exchange_of(v2(b"[" * 9))
        return (
            exchange_of(b"", ending) if b"long" in body else exchange_of(v2(answer(sized()), BLOB))
        )

    stated = DeployedModel(special.role, "m", (), ())
    learned = play(learn(special, stated, make_target("http://h").address, None), reply)
    assert learned.known is not None
    assert len(learned.known.special) == left


# What cannot be tested says why, and what to do.


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
    class Lists(Behavior):
        def repository_index(self, request: Request) -> Response:
            if listed is None:
                return self.error(404, "there is no repository")
            return self.json_response(listed)

    assert {"matrix_product", "reverser", "widener"} <= set(listed_models(make_target(url)) or ())
    assert problem in refused(start(Lists).url, "all")


def shape(**shapes: tuple[int, ...]) -> Choice:
    return Choice(shapes=shapes)


def between(low: float, high: float) -> Choice:
    return Choice(ranges={"INPUT0": (low, high)})


@pytest.mark.parametrize(
    ("model", "given", "problem"),
    [
        ("no_such", Choice(), "no_such: GET /v2/models/no_such answered with status 404"),
        ("no_such", Choice(), "matrix_product, reverser, widener"),  # all of them
        ("revrser", Choice(), "the server has reverser, "),
        ("matrix_product", shape(INPUT0=(3, 5)), "takes the shape [-1, 4], got [3, 5]"),
        ("matrix_product", shape(INPUT0=(4,)), "INPUT0: the model takes the shape [-1, 4], got"),
        ("reverser", shape(INPUT0=(2,), INPUT1=(3,)), "does not answer a plain request"),
        ("reverser", shape(INPUT0=(2,), INPUT1=(3,)), "--range INPUT"),  # both are at fault
        ("widener", shape(INPUT9=(1,)), "no model has an input 'INPUT9'"),
        ("a\nb", Choice(), "'a\\nb' cannot be the name of a model"),
        ("widener", between(0, 1e9), "--range INPUT0=0:1e+09 is not within the numbers of FP16"),
        ("identity_int8", between(0, 200), "--range INPUT0=0:200 is not within the numbers of"),
        ("identity_int8", between(0.2, 0.8), "--range INPUT0=0.2:0.8 has no whole number"),
        ("identity_bytes", between(0, 1), "INPUT0 is BYTES, which has no range"),
    ],
)
def test_what_does_not_fit_the_server_or_its_model_is_said(
    url: str, model: str, given: Choice, problem: str
) -> None:
    assert problem in refused(url, model, given)


def test_a_model_without_tensors_cannot_be_tested(start: Start) -> None:
    assert "check the name, or give each input with --in" in refused(start(Nameless).url, "widener")
    assert "its answer has no outputs" in refused(start(Sink).url, "widener")


class Picky(Behavior):
    """A server that refuses the values of one input, and says which."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        return self.error(400, "INPUT1 must be 0 or 1")


def test_the_input_that_a_server_names_is_the_one_to_give_other_values(start: Start) -> None:
    assert "--range INPUT1=0:1, --shape INPUT1=" in refused(start(Picky).url, "reverser")


class Without(Behavior):
    """A server that has a model's metadata only for who has a token, and no list."""

    def model_metadata(self, model: ModelContract) -> Response:
        return self.error(401, "who are you?")

    def repository_index(self, request: Request) -> Response:
        return self.error(404, "there is no repository")


def test_who_needs_credentials_or_a_name_is_told_how_to_get_in(start: Start) -> None:
    url = start(Without).url
    assert "--bearer-env" in refused(url, "widener", Choice(tensors={"INPUT0": HALVES}))
    assert "does not list its models (POST /v2/repository/index" in refused(url, "no_such")


HALVES = Given("FP16", (2,), bytes(4))


@pytest.mark.parametrize(("datatype", "shape"), [("FP32", [7, 7]), ("float", [2]), (0, {})])
def test_a_tensor_of_the_user_s_own_is_sent_whatever_the_metadata_says(
    start: Start, datatype: object, shape: object
) -> None:
    class Says(Behavior):
        def model_metadata(self, model: ModelContract) -> Response:
            told = {"name": "INPUT0", "datatype": datatype, "shape": shape}
            return self.json_response({"inputs": [told] if datatype else []})

    given = Choice(tensors={"INPUT0": HALVES})
    (found,) = learn_models(make_target(start(Says).url), ["widener"], given, None).models
    assert found.learned.known is not None
    assert found.learned.known.answers is not None


def test_answers_that_a_report_has_no_room_for_are_refused(
    url: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Large(Behavior):
        def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
            return Tensor(output.name, output.datatype, (1_500_000,), bytes(6_000_000))

    found = refused(start(Large).url, "identity_fp32")
    assert "with INPUT0 FP32 [3]: its answer has more than" in found
    monkeypatch.setattr("v2_conformance.runs.learning._ROOM", 64 << 10)
    found = refused(url, "widener", shape(INPUT0=(20_000,)))
    assert "its messages take more than" in found
    assert "--shape" in found


def test_models_are_learned_within_the_time_of_a_run(url: str) -> None:
    """A server that leaves requests unanswered would take three times --timeout for each model."""
    brief = replace(make_target(url), max_time_s=1e-9)
    with pytest.raises(NothingRanError, match=r"widener: no time was left .*; mixed: .*--max-time"):
        learn_models(brief, ["widener", "mixed"], Choice(), None)
    again = learn_again(brief, [unknown_model("widener", (), (), ())], None)
    assert set(again.server.absent) == {ROLE + "widener"}
