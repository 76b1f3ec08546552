"""Cases of the suite, sent to models whose answers nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from v2_conformance.judging.relations.learning import unknown_model
from v2_conformance.protocol.datatypes import element_count
from v2_conformance.reference.ordinary_models import ORDINARY_MODELS
from v2_conformance.suite.cases import RelationCase, RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_conformance.suite.values.samples import Choice, make_samples
from v2_conformance.wire.relations.cases import relation_cases, transposed

SUITE = {case.id: case for case in suite_cases()}


def model(
    name: str, inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...]
) -> ModelContract:
    return unknown_model(name, inputs, outputs, make_samples(inputs, Choice(), 3))


def ordinary(name: str) -> ModelContract:
    known = ORDINARY_MODELS[name]
    return model(name, known.inputs, known.outputs)


PRODUCT, REVERSER, WIDENER = map(ordinary, ("matrix_product", "reverser", "widener"))
ALL = (PRODUCT, REVERSER, WIDENER)


def sent(case_id: str, to: ModelContract) -> RelationCase:
    made = transposed(SUITE[case_id], to)
    assert made is not None
    return made


def inputs(case: RelationCase) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = case.request["inputs"]
    return found


def test_a_case_is_sent_with_the_samples_of_every_input() -> None:
    case = sent("P2/blob-follows-json[INT32]", PRODUCT)
    assert case.id == "P2/blob-follows-json[FP32]@matrix_product"
    assert [entry["shape"] for entry in inputs(case)] == [[3, 4], [4, 2], [2]]
    assert all(entry["values"] == "sample" for entry in inputs(case))
    assert case.expect["outputs"] == {"0": "binary"}


def test_what_is_tampered_with_stays_as_far_from_the_truth() -> None:
    (tampered,) = inputs(sent("S2/size-against-shape-and-body[12]", WIDENER))
    assert tampered["size"] == {"add": -4}


def test_a_tampered_input_is_not_left_out_for_a_model_with_fewer() -> None:
    pair = (TensorSpec("A", "FP32", (-1, 4)), TensorSpec("B", "FP32", (4, 2)))
    case = sent(
        "S11/size-left-out-behind-others", model("m", pair, (TensorSpec("C", "FP32", (-1, 2)),))
    )
    assert [entry.get("form", "binary") for entry in inputs(case)] == ["binary", "neither"]


def test_a_case_meets_the_input_of_its_own_datatype() -> None:
    case = sent("S9/not-an-integer[null]", REVERSER)
    first = inputs(case)[0]
    assert REVERSER.inputs[first["tensor"]].datatype == "INT32"


@pytest.mark.parametrize(
    "case_id",
    [
        "E1/zero-elements-accepted[FP32]",  # about a shape
        "D4/nan-payload[FP32,binary]",  # about values
        "L1/one-mebibyte[int32]",  # about size
        "D15/beyond-double[INT64,json]",  # about a datatype that no model has
    ],
)
def test_what_only_a_known_model_can_show_is_not_sent(case_id: str) -> None:
    found = [case for case in SUITE if case.startswith(case_id.partition("[")[0])]
    assert found
    assert not relation_cases([SUITE[name] for name in found], ALL)


HALF, FULL = "FP16", "FP32"


def elementwise(*datatypes: str, rank: int = 2) -> ModelContract:
    """A model with an input and an output of each datatype."""
    inputs, outputs = (
        tuple(TensorSpec(f"{kind}{n}", one, (-1,) * rank) for n, one in enumerate(datatypes))
        for kind in "XY"
    )
    return model("m", inputs, outputs)


@pytest.mark.parametrize("datatypes", [(HALF,), (HALF, FULL), (FULL, HALF), (HALF, FULL, HALF)])
def test_only_what_may_be_rejected_needs_fp16_in_json(datatypes: tuple[str, ...]) -> None:
    to = elementwise(*datatypes)
    for case in relation_cases(list(SUITE.values()), [to]):
        if case.expects not in ("success", "either", "disputed") or case.requirement == "D12":
            continue
        for entry in inputs(case):
            of_json = entry.get("form", "binary") != "binary"
            assert not of_json or to.inputs[entry["tensor"]].datatype == FULL, case.id
        for place, form in case.expect.get("outputs", {}).items():
            free = case.id.startswith(
                ("O19/fp16-exact-or-rejected@", "P9/infinity-is-not-json[FP16,")
            )
            assert form == "binary" or free or to.outputs[int(place)].datatype == FULL


@pytest.mark.parametrize("datatypes", [(HALF,), (HALF, FULL), (FULL, HALF)])
def test_fp16_goes_as_json_where_a_server_may_reject_it(datatypes: tuple[str, ...]) -> None:
    to, place = elementwise(*datatypes), datatypes.index(HALF)
    sent_in_json = sent("D12/fp16-as-json[in,counting]", to)
    assert {"tensor": place, "form": "json"}.items() <= inputs(sent_in_json)[0].items()
    assert sent("D12/fp16-as-json[out,counting]", to).expect["outputs"] == {str(place): "json"}
    assert transposed(SUITE["D12/bf16-as-json[in]"], to) is None


@pytest.mark.parametrize(
    ("to", "place", "form"),
    [
        (elementwise(HALF, FULL), 1, "binary"),  # the only input with a JSON form
        (
            model(
                "m",
                (TensorSpec("X", FULL, (-1,)), TensorSpec("M", FULL, (-1, -1))),
                (TensorSpec("Y", FULL, (-1,)),),
            ),
            1,  # the only matrix
            "json",
        ),
    ],
)
def test_nested_data_reach_the_input_that_can_have_them(
    to: ModelContract, place: int, form: str
) -> None:
    for case_id in ("D10/row-major[FP32,2x3,in]", "V1/json-in-any-spelling[nested-data]"):
        nested, other = inputs(sent(case_id, to))
        assert (nested["tensor"], nested["form"]) == (place, "nested")
        assert (other["tensor"], other["form"]) == (1 - place, form)


def test_an_output_in_json_is_one_with_a_json_form() -> None:
    case = sent("O2/binary-data-false[INT32,explicit]", elementwise(HALF, FULL))
    assert case.request["outputs"] == [{"tensor": 1, "binary_data": False}]
    assert case.expect["outputs"] == {"1": "json"}


@pytest.mark.parametrize(
    ("form", "datatypes", "expected"),
    [
        ("binary", ("FP16", "FP32"), {"0": "binary", "1": "binary"}),
        ("json", ("INT32", "FP32"), {"0": "json", "1": "json"}),
        ("json", ("FP16", "FP32"), None),
    ],
)
def test_outputs_that_a_case_does_not_list_all_come_in_its_form(
    form: str, datatypes: tuple[str, ...], expected: dict[str, str] | None
) -> None:
    case = SUITE["B9/element-count-of-a-later-input"]
    assert isinstance(case, RequestCase)
    assert "outputs" not in case.request
    made = transposed(
        replace(case, expect={**case.expect, "outputs": form}), with_outputs(*datatypes, inputs=2)
    )
    assert (None if made is None else made.expect["outputs"]) == expected


def test_a_changed_shape_is_no_other_shape_of_as_many_elements() -> None:
    for case in relation_cases(list(SUITE.values()), ALL):
        if case.expects != "reject":
            continue
        changes = case.request.get("json", {}).get("change")
        for change in changes if isinstance(changes, list) else []:
            if not str(change["at"]).endswith(".shape") or not isinstance(change.get("to"), list):
                continue
            shape, own = change["to"], inputs(case)[0]["shape"]
            if all(type(size) is int and size >= 0 for size in shape):
                assert element_count(shape) != element_count(own) or len(shape) != len(own)


def of_shape(*dims: int, datatype: str = "INT32") -> ModelContract:
    return model("m", (TensorSpec("X", datatype, dims),), (TensorSpec("Y", datatype, dims),))


@pytest.mark.parametrize(
    ("dims", "is_sent"),
    [
        ((2, 2), False),  # the model's own
        ((1, 4), False),  # as many elements
        ((4,), True),  # as many, in fewer dimensions
        ((2, 3), True),
    ],
)
def test_a_wrong_shape_is_not_sent_to_a_model_that_may_take_it(
    dims: tuple[int, ...], *, is_sent: bool
) -> None:
    case = SUITE["J5/impossible-shape[minus_one]"]
    assert isinstance(case, RequestCase)
    change = {"change": [{"at": "inputs.0.shape", "to": [2, 2]}]}
    wrong = replace(case, request={**case.request, "json": change})
    assert (transposed(wrong, of_shape(*dims)) is not None) is is_sent


@pytest.mark.parametrize(
    ("case_id", "shape"),
    [
        ("J5/impossible-shape[minus_count]", [-2, 3]),
        ("J5/dimension-beyond-bits[two_to_32_plus_count]", [2**32 + 2, 3]),
        ("J5/product-of-dimensions[two_negative]", [-2, -3]),
    ],
)
def test_an_impossible_shape_is_as_far_from_the_models_own(case_id: str, shape: list[int]) -> None:
    (change,) = sent(case_id, of_shape(2, 3)).request["json"]["change"]
    assert change["to"] == shape


def test_a_misspelled_datatype_is_the_models_own() -> None:
    case = sent(
        "J6/datatype-left-out-or-misspelled[lower_case]", of_shape(1, 3, 8, 8, datatype="FP32")
    )
    assert case.request["json"]["change"] == [{"at": "inputs.0.datatype", "to": "fp32"}]


@pytest.mark.parametrize("at", ["inputs.1.datatype", "inputs.1.shape"])
def test_a_change_of_an_input_that_the_request_does_not_have_is_not_sent(at: str) -> None:
    case = SUITE["J6/datatype-left-out-or-misspelled[lower_case]"]
    assert isinstance(case, RequestCase)
    request = {**case.request, "json": {"change": [{"at": at, "to": "fp32"}]}}
    assert transposed(replace(case, request=request), WIDENER) is None


def test_every_case_is_there_once_whatever_datatypes_the_suite_has_it_for() -> None:
    cases = relation_cases(list(SUITE.values()), ALL)
    assert len({case.id for case in cases}) == len(cases)
    of_one = [case.id for case in cases if case.id.startswith("O1/") and case.of == WIDENER]
    assert of_one == ["O1/binary-data-true[FP16]@widener"]


OF_SEVERAL_OUTPUTS = {"O3", "O12", "O13"}
ABOUT_SEVERAL = [case for case in SUITE.values() if case.requirement in OF_SEVERAL_OUTPUTS]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_model_with_one_output_shows_nothing_about_several(number: int) -> None:
    made = relation_cases(ABOUT_SEVERAL, [with_outputs(*["INT32"] * number)])
    assert {case.requirement for case in made} == (OF_SEVERAL_OUTPUTS if number > 1 else set())


def with_outputs(*datatypes: str, inputs: int = 1) -> ModelContract:
    outputs = (TensorSpec(f"Y{n}", one, (-1, 2)) for n, one in enumerate(datatypes))
    return model(
        "m", tuple(TensorSpec(f"X{n}", "BYTES", (-1,)) for n in range(inputs)), tuple(outputs)
    )


def requested(to: ModelContract) -> set[tuple[tuple[int, str], ...]]:
    """Return each list of outputs that a case requests of a model, with their forms."""
    return {
        tuple((entry["tensor"], case.expect["outputs"][str(entry["tensor"])]) for entry in listed)
        for case in relation_cases(ABOUT_SEVERAL, [to])
        if (listed := case.request.get("outputs"))
    }


@pytest.mark.parametrize("inputs", [1, 2, 4])
@pytest.mark.parametrize("datatypes", [("FP32", "BYTES"), ("FP32", "FP32"), ("BOOL", "INT64")])
def test_two_outputs_are_requested_in_both_orders_alone_and_in_both_forms(
    datatypes: tuple[str, str], inputs: int
) -> None:
    asked = requested(with_outputs(*datatypes, inputs=inputs))
    forms = [("binary", "binary"), ("binary", "json"), ("json", "binary")]
    for one, other in forms:
        assert {((0, one), (1, other)), ((1, one), (0, other))} <= asked
    assert {((0, "binary"),), ((1, "binary"),)} <= asked


@pytest.mark.parametrize("datatypes", [("FP16", "FP32"), ("FP32", "BF16")])
def test_fp16_beside_another_output_comes_in_any_order_but_never_as_json(
    datatypes: tuple[str, str],
) -> None:
    asked = requested(with_outputs(*datatypes))
    half = next(n for n, one in enumerate(datatypes) if one in ("FP16", "BF16"))
    assert {((0, "binary"), (1, "binary")), ((1, "binary"), (0, "binary"))} <= asked
    assert {((half, "binary"), (1 - half, "json")), ((1 - half, "json"), (half, "binary"))} <= asked
    assert all((half, "json") not in listed for listed in asked)


@pytest.mark.parametrize("number", [3, 5, 12, 13, 14])
def test_three_outputs_or_more_are_requested_reversed_turned_and_alone(number: int) -> None:
    asked = {
        tuple(place for place, _ in listed)
        for listed in requested(with_outputs(*["FP32"] * number))
    }
    assert {(2, 1, 0), (1, 2, 0), (2, 0, 1), (0,), (1,), (2,), (1, 2)} <= asked
    every = max(asked, key=len)
    assert len(every) == min(number, 13)
    assert sum(one < other for one, other in pairwise(every)) <= 1


def test_an_output_that_is_requested_twice_still_is() -> None:
    twice = sent("O9/same-output-twice[same]", WIDENER)
    assert [entry["tensor"] for entry in twice.request["outputs"]] == [0, 0]


def test_an_output_that_no_json_can_hold_is_not_asked_for_in_json() -> None:
    of_first = replace(PRODUCT, not_in_json=((None, 0),))
    assert transposed(SUITE["P2/blob-follows-json[INT32]"], of_first) is not None
    ids = {case.template for case in relation_cases(list(SUITE.values()), [of_first])}
    everything = {case.template for case in relation_cases(list(SUITE.values()), [PRODUCT])}
    lost = everything - ids
    assert lost
    for case in relation_cases(list(SUITE.values()), [of_first]):
        if case.expects not in ("reject", "survives") and case.expect.get("compare") != "nothing":
            assert case.expect.get("outputs", {}).get("0", "binary") == "binary"


@pytest.mark.parametrize(
    "case_id",
    ["P9/infinity-is-not-json[FP32,extremes]", "O19/no-number-for-what-is-none[FP64,quiet_nans]"],
)
def test_a_case_about_what_no_json_can_hold_goes_to_a_model_that_answers_it(case_id: str) -> None:
    assert transposed(SUITE[case_id], PRODUCT) is None
    assert transposed(SUITE[case_id], replace(REVERSER, not_in_json=((None, 0),))) is None
    made = sent(case_id, replace(PRODUCT, not_in_json=((None, 1),)))
    assert [entry["values"] for entry in inputs(made)] == ["sample"] * 3
    assert made.expect["outputs"]["1"] == "json"


def test_an_image_comes_in_as_few_chunks_as_a_small_tensor() -> None:
    image = of_shape(3, 224, 224, datatype="FP32")
    chunks = sent("C2/chunk-sizes[int32,1]", image).request["delivery"]["chunks"]
    assert 3 * 224 * 224 * 4 / chunks < 2100
    assert sent("C2/chunk-sizes[int32,1]", WIDENER).request["delivery"] == {"chunks": 1}


def test_requests_to_several_models_at_once_go_to_several() -> None:
    cases = {case.id: case for case in relation_cases([SUITE["C6/unlike-models"]], ALL)}
    made = cases["C6/unlike-models@matrix_product"]
    assert made.roles == ("model/matrix_product", "model/reverser", "model/widener")
    for member in made.members:
        assert isinstance(member, RelationCase)
        assert member.of.role == member.model
    (alone,) = relation_cases([SUITE["C6/unlike-models"]], [PRODUCT])
    assert alone.roles == ("model/matrix_product",)


def test_requests_of_a_case_draw_the_same_ids() -> None:
    made = relation_cases([SUITE["C7/id-does-not-stick"], SUITE["C6/unlike-ids"]], ALL)
    assert {case.model for case in made} == {known.role for known in ALL}
    for case in made:
        assert {one.id for one in case.others} == {case.id}


LARGE = model(
    "large",
    (TensorSpec("IN", "FP32", (1, 3, 64, 64)),),
    (TensorSpec("OUT", "FP32", (10,)),),
)
WITHOUT_BLOBS = (
    "P12/octet-stream-for-json-only",
    "P14/no-content-type-with-a-long-body[json]",
    "H11/with-json-only-request[json]",
    "S4/bytes-after-json-only",
)


@pytest.mark.parametrize(
    ("case_id", "to", "is_sent"),
    [
        ("D12/fp16-as-json[in,counting]", PRODUCT, False),
        ("D12/fp16-as-json[out,counting]", PRODUCT, False),
        *((name, elementwise(FULL, FULL), True) for name in WITHOUT_BLOBS),
        *((name, elementwise(FULL, HALF), False) for name in WITHOUT_BLOBS),
        ("J1/number-of-elements[too_few]", of_shape(4, 1), True),
        ("J1/number-of-elements[too_few]", of_shape(3, 1), False),  # as many, flat
        ("J1/number-of-elements[too_few]", of_shape(1, 1, 2), False),  # too many
        ("J1/number-of-elements[too_many]", of_shape(1, 1, 5), False),
        ("J1/number-of-elements[one]", of_shape(1, 1), False),
        ("J1/nesting-against-shape[row_missing]", of_shape(1, 3), False),
        ("J1/nesting-against-shape[row_missing]", of_shape(3, 1), False),  # no row is missing
        ("J1/nesting-against-shape[ragged]", of_shape(1, 6), True),
        ("J1/nesting-against-shape[transposed]", of_shape(3, 2), False),
        ("J1/nesting-against-shape[transposed]", of_shape(3, 7), True),  # of another size anyway
        ("J1/data-is-no-array[number]", of_shape(1), False),  # the only element
        ("J1/data-is-no-array[number]", of_shape(2), True),
        ("S2/size-against-shape[12]", of_shape(3), False),  # its size is right
        ("S2/size-against-shape[12]", of_shape(2), True),
        ("S2/size-against-shape[12]", of_shape(4), True),
        ("S6/negative[minus_true]", of_shape(0, 4), False),
        ("H3/missing[opaque]", of_shape(0, 4), False),
        ("S2/size-against-shape-and-body[12]", of_shape(0, 4), False),
        ("P2/blob-follows-json[INT32]", of_shape(0, 4), True),
        ("D11/decimals-among-blobs[in]", PRODUCT, False),  # no input has such values
        ("J6/inputs-of-the-model[first_missing]", PRODUCT, False),  # it may be optional
        ("J6/inputs-of-the-model[first_missing]", WIDENER, False),
        ("J6/inputs-of-the-model[in_the_place_of_another]", PRODUCT, True),
        ("R1/error-status[no_inputs]", WIDENER, False),
        ("R1/error-status[empty_object]", WIDENER, True),
        ("W5/several-inputs[mixed]", PRODUCT, True),
        ("W5/several-inputs[mixed]", WIDENER, False),  # it may be right
        ("J7/very-many[inputs]", WIDENER, True),
        ("J7/very-many[inputs]", LARGE, False),
        ("J7/very-many[dimensions]", LARGE, True),
        ("P2/blob-follows-json[FP32]", LARGE, True),
    ],
)
def test_a_case_goes_to_a_model_for_which_it_means_the_same(
    case_id: str, to: ModelContract, *, is_sent: bool
) -> None:
    assert (transposed(SUITE[case_id], to) is not None) is is_sent
