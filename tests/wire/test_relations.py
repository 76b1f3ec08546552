"""Cases for any model, sent to models whose answers nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from support.cases import prepared
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.learning import unknown_model
from v2_conformance.protocol.datatypes import decode_bytes
from v2_conformance.reference.ordinary_models import ORDINARY_MODELS
from v2_conformance.suite.cases import RelationCase, RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_conformance.suite.relations import AnyModelCase, ValueSet, any_model_cases
from v2_conformance.suite.values.samples import Choice, make_samples
from v2_conformance.wire.encode.deployment import Address, DeployedModel
from v2_conformance.wire.encode.requests import prepare
from v2_conformance.wire.relations.cases import related, relation_cases
from v2_conformance.wire.relations.values import UnfitError, special_sets, values_of


def model(name: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> ModelContract:
    made = unknown_model(name, tuple(inputs), tuple(outputs), make_samples(inputs, Choice(), 3))
    return replace(made, special=special_sets(made, {spec.name for spec in inputs}))


def of(datatype: str, *dims: int) -> ModelContract:
    return model(
        f"{datatype}-{len(dims)}",
        [TensorSpec("X", datatype, dims)],
        [TensorSpec("Y", datatype, dims)],
    )


PRODUCT, REVERSER, WIDENER = (
    model(name, one.inputs, one.outputs) for name, one in ORDINARY_MODELS.items()
)
ALL = (PRODUCT, REVERSER, WIDENER)


def sent(to: ModelContract, **entry: Any) -> RelationCase:
    case = AnyModelCase("P2", {"id": "P2/some", "why": "It has to be so.", **entry}, "")
    return related(case, to, to)


def forms(case: RelationCase) -> list[str]:
    return [entry["form"] for entry in case.request["inputs"]]


def axes_of(case: AnyModelCase) -> set[tuple[str, str]]:
    return {(case.entry["id"], label) for label in case.labels.strip("[]").split(",")}


def is_sent(case: AnyModelCase, to: ModelContract) -> bool:
    try:
        related(case, to, to)
    except (UnfitError, CaseFileError):
        return False
    return True


@pytest.mark.long
def test_every_value_of_an_axis_is_sent_to_some_model() -> None:
    bools = model("bools", [TensorSpec("X", "BOOL", (-1,))], [TensorSpec("Y", "FP64", (2,))])
    numbers = [of("INT64", -1), of("FP32", -1, 2), of("FP64", -1), of("BF16", -1)]
    several = [*ALL, *numbers, of("UINT8", -1, -1), bools]
    endless = [
        replace(one, not_in_json=tuple((number, 0) for number in range(len(one.special))))
        for one in (of("BYTES", -1), of("FP32", -1), of("FP64", -1), WIDENER)
    ]
    sent: set[tuple[str, str]] = set()
    for case in any_model_cases():
        axes = axes_of(case)
        if not axes <= sent and any(is_sent(case, to) for to in (*several, *endless)):
            sent |= axes
    assert {pair for case in any_model_cases() for pair in axes_of(case)} - sent == set()


def test_a_request_has_the_sample_of_every_input_and_asks_for_every_output() -> None:
    case = sent(PRODUCT)
    assert [entry["shape"] for entry in case.request["inputs"]] == [[3, 4], [4, 2], [2]]
    assert case.request["outputs"] == [{"tensor": n, "binary_data": True} for n in range(3)]
    assert case.expect == {"outcome": "success", "outputs": dict.fromkeys("012", "binary")}


HALVES = model("two", [*WIDENER.inputs, *REVERSER.inputs], REVERSER.outputs)
ONE_PLACE = {"each": {"form": "json"}, "$(texts.at)": {"form": "neither"}}


@pytest.mark.parametrize(
    ("to", "inputs", "made"),
    [
        (PRODUCT, "json", ["json"] * 3),
        (PRODUCT, "mixed", ["binary", "json", "binary"]),
        (REVERSER, ONE_PLACE, ["neither", "json"]),
        (HALVES, "mixed", ["binary", "json", "binary"]),
    ],
)
def test_a_word_is_the_form_of_all_inputs_and_a_place_has_its_own(
    to: ModelContract, inputs: Any, made: list[str]
) -> None:
    assert forms(sent(to, request={"inputs": inputs})) == made


def test_outputs_come_in_the_forms_and_the_order_that_are_asked_for() -> None:
    case = sent(REVERSER, request={"outputs": {"form": "mixed", "order": "reversed"}})
    assert [one["tensor"] for one in case.request["outputs"]] == [1, 0]
    assert case.expect["outputs"] == {"1": "binary", "0": "json"}


@pytest.mark.parametrize(
    ("fact", "value"),
    [("count_more", 13), ("size_fraction", 48.5), ("shape_wraps_64", [3 + 2**60, 4])],
)
def test_a_request_says_what_is_wrong_with_the_values_of_the_model(fact: str, value: Any) -> None:
    change = {"at": "inputs.0.x", "to": f"$(first.{fact})"}
    case = sent(PRODUCT, request={"json": {"change": [change]}}, expect={"outcome": "reject"})
    assert case.request["json"]["change"][0]["to"] == value


@pytest.mark.parametrize(
    ("to", "entry"),
    [
        (WIDENER, {"request": {"inputs": {"$(ints.at)": {"form": "json"}}}}),
        (WIDENER, {"needs": ["two-inputs"]}),
        (HALVES, {"request": {"inputs": "json"}}),
        (of("INT32", 3), {"values": "one-more"}),
        (of("INT32", 0), {"request": {"body": {"drop": 1}}, "expect": {"outcome": "reject"}}),
        (REVERSER, {"request": {"raw": True}}),
        (REVERSER, {"request": {"inputs": {"$(second.at)": {}, "$(last.at)": {}}}}),
        (PRODUCT, {"request": {"json": {"change": [{"at": "inputs.9.name", "to": "x"}]}}}),
    ],
)
def test_a_case_is_left_out_if_the_model_has_nothing_to_show_it_with(
    to: ModelContract, entry: dict[str, Any]
) -> None:
    with pytest.raises((UnfitError, CaseFileError)):
        sent(to, **entry)


def test_no_message_takes_more_chunks_than_the_contract_s() -> None:
    long = tuple(make_samples([TensorSpec("X", "UINT8", (150_528,))], Choice(), 3))
    one = replace(of("UINT8", 150_528), samples=long)
    deployed = DeployedModel(one.role, one.model, (), (), version="1").of(one)
    most = max(
        len(prepare(case, Address("h"), deployed).request.http1)
        for case in relation_cases([one])
        if case.id.startswith(("C1/", "C2/", "V2/request-in-any-spelling[chunk"))
    )
    assert 2000 < most < 2100
    begin = ("C1/", "C2/", "C3/", "V3/long-on-every-way[trailers")
    cases = [c for c in suite_cases() if isinstance(c, RequestCase) and c.id.startswith(begin)]
    chunks = {case.id: len(prepared(case).request.http1) for case in cases}
    limited = chunks.pop("C3/many-chunks")  # a server may refuse as many
    assert 2100 < max(chunks.values()) < limited


# Values that a model is asked about before the cases that send them.

PAIR = (TensorSpec("X", "FP32", (-1, 2)), TensorSpec("Y", "BYTES", (-1,)))
TEXTS = ValueSet(name="texts", datatypes=("BYTES",), values=("a", "b", "c", "d"))


def test_a_set_goes_to_the_input_of_its_datatype_and_the_others_grow_with_it() -> None:
    numbers, texts = values_of(TEXTS, model("m", PAIR, PAIR))
    assert decode_bytes(texts.blob) == [b"a", b"b", b"c", b"d"]
    assert numbers.shape == (4, 2)


@pytest.mark.parametrize(
    ("size", "shape"),
    [
        (ValueSet(name="n", rows=0), (0, 2)),
        (ValueSet(name="n", more_rows=2), (5, 2)),
        (ValueSet(name="n", bytes=40), (10, 2)),
    ],
)
def test_the_sample_is_sent_in_other_sizes(size: ValueSet, shape: tuple[int, ...]) -> None:
    numbers, _ = values_of(size, model("m", PAIR, PAIR))
    assert numbers.shape == shape


def test_a_model_without_variable_dimensions_has_one_size() -> None:
    found = special_sets(of("INT32", 2, 2), ["X"])
    assert {values[0].shape for values in found} == {(2, 2)}
