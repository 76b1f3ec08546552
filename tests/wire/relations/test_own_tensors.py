"""Cases about special values, sent to a model nobody knows with their own tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest

from v2_conformance.judging.relations.learning import unknown_model
from v2_conformance.protocol.datatypes import decode_bytes
from v2_conformance.reference.ordinary_models import ORDINARY_MODELS
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_conformance.suite.values.samples import Choice, make_samples
from v2_conformance.wire.encode.deployment import Address, DeployedModel, KnownModel
from v2_conformance.wire.encode.requests import prepare
from v2_conformance.wire.relations.cases import special_sets, transposed

CASES = suite_cases()
SUITE = {case.id: case for case in CASES}


def ordinary(name: str) -> ModelContract:
    known = ORDINARY_MODELS[name]
    samples = make_samples(known.inputs, Choice(), 3)
    return unknown_model(name, known.inputs, known.outputs, samples)


REVERSER = ordinary("reverser")
FREE = frozenset(spec.name for spec in REVERSER.inputs)


@cache
def taught() -> ModelContract:
    return replace(REVERSER, special=special_sets(CASES, REVERSER, FREE))


@pytest.mark.parametrize(
    "case_id",
    [
        "E1/zero-elements-accepted[INT32]",
        "B4/any-byte-value[all_bytes]",
        "D1/signed-integers[INT32,extremes]",
        "J3/not-json[hexadecimal]",
        "J2/another-type-of-the-same-value[number_for_bytes]",
    ],
)
def test_a_case_about_special_values_is_sent_with_its_own(case_id: str) -> None:
    made = transposed(SUITE[case_id], taught())
    assert made is not None
    assert made.id == f"{case_id}@reverser"
    assert all("special" in entry for entry in made.request["inputs"])


def test_other_inputs_get_as_many_elements_of_their_sample() -> None:
    made = transposed(SUITE["D1/signed-integers[INT32,extremes]"], taught())
    assert made is not None
    other, own = made.request["inputs"]  # in the order of the model
    assert (other["tensor"], own["tensor"]) == (0, 1)
    assert own["shape"] == other["shape"]
    texts = decode_bytes(taught().special[other["special"]][other["tensor"]].blob)
    assert texts[:3] == decode_bytes(REVERSER.samples[0][0].blob)


def of_rows(datatype: str, *dims: int, cases: Sequence[Case] = CASES) -> ModelContract:
    inputs = (TensorSpec("X", datatype, (-1, *dims)),)
    outputs = (TensorSpec("Y", "FP32", (-1,)),)
    learned = unknown_model("m", inputs, outputs, make_samples(inputs, Choice(), 3))
    return replace(learned, special=special_sets(cases, learned, {"X"}))


def test_a_raw_request_is_a_batch_of_one() -> None:
    table = of_rows("FP32", 4)
    made = transposed(SUITE["W1/body-is-the-tensor[FP32]"], table)
    assert made is not None
    (entry,) = made.request["inputs"]
    assert entry["shape"] == [1, 4]
    assert len(table.special[entry["special"]][0].blob) == 16
    unasked = replace(table, special=())
    assert transposed(SUITE["W1/body-is-the-tensor[FP32]"], unasked) is None
    assert transposed(SUITE["W1/body-is-the-tensor[FP32]"], of_rows("FP32", -1)) is None


def test_one_request_is_larger_than_most_buffers() -> None:
    case = SUITE["L1/one-mebibyte[int32]"]
    made = transposed(case, of_rows("FP32", 4, cases=[case]))
    assert made is not None
    (entry,) = made.request["inputs"]
    assert entry["shape"][0] * 4 > 1 << 16
    assert transposed(case, of_rows("FP32", 3, 224, 224, cases=[case])) is None


@pytest.mark.parametrize("value", ["letters", "empty", "hexadecimal"])
def test_a_header_length_of_letters_comes_with_a_body_that_is_whole_rows(value: str) -> None:
    table = of_rows("FP32", 5)
    made = transposed(SUITE[f"H6/not-a-number[{value}]"], table)
    assert made is not None
    binding = DeployedModel("model/m", "m", ("X",), ("Y",), known=KnownModel(table))
    assert prepare(made, Address("host"), binding).body_size % 20 == 0


def test_only_text_that_no_json_holds_may_have_to_be_refused() -> None:
    case = SUITE["B14/not-utf8-as-json[invalid_utf8]"]
    assert transposed(case, taught()) is None  # it may answer with numbers, or with other text
    every = [(number, 0) for number in range(len(taught().special))]
    assert transposed(case, replace(taught(), not_in_json=tuple(every))) is not None
    numbers = tuple((number, 1) for number, _ in every)
    assert transposed(case, replace(taught(), not_in_json=numbers)) is None


@pytest.mark.parametrize(
    ("case_id", "datatype", "dims", "shape"),
    [
        ("B4/any-byte-value[all_bytes]", "BYTES", (1,), [4, 1]),
        ("D1/signed-integers[INT64,extremes]", "INT64", (3,), [3, 3]),
        ("E1/zero-elements-accepted[INT64]", "INT64", (3,), [0, 3]),
    ],
)
def test_special_values_come_in_the_shape_of_the_model(
    case_id: str, datatype: str, dims: tuple[int, ...], shape: list[int]
) -> None:
    case = SUITE[case_id]
    made = transposed(case, of_rows(datatype, *dims, cases=[case]))
    assert made is not None
    assert [entry["shape"] for entry in made.request["inputs"]] == [shape]


def test_special_values_do_not_come_as_an_image() -> None:
    case = SUITE["P9/infinity-is-not-json[FP32,extremes]"]
    for size, kept in ((8, True), (224, False)):
        inputs = (TensorSpec("X", "FP32", (1, 3, size, size)),)
        image = unknown_model("image", inputs, inputs, make_samples(inputs, Choice(), 1))
        assert bool(special_sets([case], image, {"X"})) is kept


def test_infinities_are_asked_for_as_json_where_the_model_answers_them() -> None:
    case = SUITE["P9/infinity-is-not-json[FP32,extremes]"]
    table = of_rows("FP32", 4, cases=[case, SUITE["E1/zero-elements-accepted[FP32]"]])
    asked = next(n for n, one in enumerate(table.special) if b"\x00\x00\x80\x7f" in one[0].blob)
    made = transposed(case, replace(table, not_in_json=((1 - asked, 0), (asked, 0))))
    assert made is not None
    (entry,) = made.request["inputs"]
    assert (entry["shape"], entry["special"]) == ([4, 4], asked)
    other = transposed(case, replace(table, not_in_json=((1 - asked, 0),)))
    assert other is not None
    assert other.request["inputs"][0]["special"] == 1 - asked
    assert transposed(case, table) is None


def test_what_may_be_exact_is_not_sent_with_other_tensors() -> None:
    case = SUITE["J1/number-of-elements[too_many]"]
    assert transposed(case, taught()) is not None
    assert transposed(case, REVERSER) is None
    assert transposed(SUITE["J1/number-of-elements[none]"], REVERSER) is not None


def test_a_model_is_asked_only_for_what_its_sample_cannot_show() -> None:
    plain = [case for case in CASES if case.requirement in ("P2", "O1", "S2")]
    assert special_sets(plain, REVERSER, FREE) == ()


@pytest.mark.long
def test_inputs_of_which_the_user_said_what_they_take_get_nothing_else() -> None:
    kept = special_sets(CASES, REVERSER, frozenset({"INPUT1"}))
    assert kept
    assert {values[0] for values in kept} == {REVERSER.samples[0][0]}
    assert special_sets(CASES, REVERSER, frozenset()) == ()


def test_requests_at_once_stay_unlike_in_size_if_the_model_takes_that() -> None:
    case = SUITE["C6/unlike-shapes"]
    made, same = transposed(case, taught()), transposed(case, REVERSER)
    assert made is not None
    assert same is not None
    shapes = [[entry["shape"] for entry in one.request["inputs"]] for one in (made, *made.members)]
    assert shapes == [[[3], [3]], [[4], [4]], [[5], [5]], [[6], [6]]]
    (other,) = same.members[:1]
    assert [entry["shape"] for entry in other.request["inputs"]] == [[3], [3]]


def test_a_model_of_one_size_gets_requests_of_that_size() -> None:
    inputs = (TensorSpec("INPUT0", "FP32", (2, 2)),)
    fixed = unknown_model("fixed", inputs, inputs, make_samples(inputs, Choice(), 3))
    made = transposed(SUITE["C6/unlike-shapes"], fixed)
    assert made is not None
    assert {str(one.request["inputs"][0]["shape"]) for one in (made, *made.members)} == {"[2, 2]"}


def test_a_case_whose_size_other_inputs_cannot_have_is_not_sent() -> None:
    inputs = (TensorSpec("INPUT0", "FP16", (-1, -1, -1)), TensorSpec("INPUT1", "INT32", (-1,)))
    wide = unknown_model("wide", inputs, inputs, make_samples(inputs, Choice(), 3))
    sets = special_sets(CASES, wide, {"INPUT0", "INPUT1"})
    assert sets
    assert all(sum(len(sample.blob) for sample in values) <= 4 << 20 for values in sets)
