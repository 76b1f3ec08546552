"""Samples for the inputs of models of which only the metadata is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from v2_conformance.protocol.datatypes import ElementError, decode_bytes, to_array, to_values
from v2_conformance.suite.models import TensorSpec
from v2_conformance.suite.values.samples import Choice, Given, make_samples


def test_variable_dimensions_are_small_and_fixed_ones_kept() -> None:
    (first, second) = make_samples([TensorSpec("A", "FP32", (-1, 4))], Choice(), 3)
    assert first[0].shape == second[0].shape == (3, 4)
    assert first[0].blob != second[0].blob


@pytest.mark.parametrize("datatype", ["BOOL", "INT64", "UINT8", "FP16", "FP32", "BYTES"])
def test_inputs_of_one_kind_have_unlike_values(datatype: str) -> None:
    inputs = [TensorSpec(name, datatype, (-1, 3)) for name in "ABC"]
    for values in make_samples(inputs, Choice(), 3):
        assert len({sample.blob for sample in values}) == 3
    ranged = Choice(ranges={"B": (0, 1)}) if datatype == "INT64" else Choice()
    for values in make_samples(inputs[:2], ranged, 3):
        assert len({sample.blob for sample in values}) == 2


def test_no_input_begins_with_the_values_of_another() -> None:
    inputs = [TensorSpec("A", "FP32", (-1, 4)), TensorSpec("B", "FP32", (4, 2))]
    for long, short in make_samples(inputs, Choice(), 3):
        assert not long.blob.startswith(short.blob)


def test_inputs_with_a_single_value_are_alike() -> None:
    inputs = [TensorSpec(name, "INT64", (-1,)) for name in "AB"]
    ranges = Choice(ranges={"A": (1, 1), "B": (1, 1)})
    for values in make_samples(inputs, ranges, 3):
        assert values[0] == values[1]


def test_whole_numbers_are_in_their_range() -> None:
    ranged = Choice(ranges={"A": (5, 7)})
    whole = make_samples([TensorSpec("A", "INT64", (9,))], ranged, 3)[0][0]
    assert set(to_values("INT64", whole.blob)) == {5, 6, 7}


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (0, 255), (-0.5, 6e4), (-1e-3, 2e-3)])
@pytest.mark.parametrize(
    ("datatype", "smaller"), [("FP32", "<f2"), ("FP32", "BF16"), ("FP64", "<f4")]
)
def test_floats_are_in_their_range_and_exact_in_no_smaller_type(
    datatype: str, smaller: str, low: float, high: float
) -> None:
    given = Choice(ranges={"A": (low, high)})
    for (sample,) in make_samples([TensorSpec("A", datatype, (16,))], given, 3):
        values = to_array(datatype, sample.blob)
        assert len(set(values)) == 16
        assert low <= min(values)
        assert max(values) <= high
        if smaller == "BF16":
            assert np.all(values.view("<u4") & 0xFFFF)
        else:
            assert np.all(values.astype(smaller) != values)


@pytest.mark.parametrize(("datatype", "number"), [("FP32", np.float32), ("FP64", np.float64)])
def test_floats_have_so_few_digits_that_any_reader_of_json_gets_them(
    datatype: str, number: type[np.floating[Any]]
) -> None:
    for (sample,) in make_samples([TensorSpec("A", datatype, (64,))], Choice(), 3):
        for value in to_array(datatype, sample.blob):
            digits, _, places = np.format_float_positional(value).partition(".")
            assert number(int(digits + places) / 10 ** len(places)) == value
            assert int(digits + places) < 1 << 53


@pytest.mark.parametrize("number", [0.0, 3.7, -1e-9])
def test_a_range_of_one_number_gives_that_number(number: float) -> None:
    given = Choice(ranges={"A": (number, number)})
    ((sample,), _) = make_samples([TensorSpec("A", "FP64", (4,))], given, 3)
    assert set(to_values("FP64", sample.blob)) == {number}


def test_text_has_characters_that_servers_get_wrong() -> None:
    blob = make_samples([TensorSpec("A", "BYTES", (-1,))], Choice(), 3)[0][0].blob
    text = b"".join(decode_bytes(blob)).decode()
    assert not text.isascii()
    assert "%41" in text
    assert "\r\n" in text


def test_a_given_tensor_and_a_given_shape_are_taken_as_they_are() -> None:
    given = Choice(shapes={"A": (1, 8)}, tensors={"B": Given("UINT8", (2,), b"\1\2")})
    specs = [TensorSpec("A", "INT32", (-1, 8)), TensorSpec("B", "UINT8", (-1,))]
    sets = make_samples(specs, given, 3)
    assert {values[0].shape for values in sets} == {(1, 8)}
    assert {values[1].blob for values in sets} == {b"\1\2"}
    alone = Choice(tensors={"B": Given("UINT8", (2,), b"\1\2")})
    assert len(make_samples(specs[1:], alone, 3)) == 1


def test_what_the_datatype_or_the_memory_cannot_have_is_an_error() -> None:
    with pytest.raises(ElementError):
        make_samples([TensorSpec("A", "UINT8", (4,))], Choice(ranges={"A": (300, 400)}), 3)
    with pytest.raises(ElementError, match="too many"):
        make_samples([TensorSpec("A", "UINT8", (1 << 20, 1 << 20))], Choice(), 3)


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        (Choice(shapes={"A": (2, 5)}), r"A: the model takes the shape \[-1, 4\], got \[2, 5\]"),
        (Choice(shapes={"A": (4,)}), r"A: the model takes the shape"),
        (Choice(tensors={"A": Given("FP64", (1, 4), bytes(32))}), "takes FP32, got FP64"),
        (Choice(ranges={"B": (0, 1)}), "B is BYTES, which has no range"),
    ],
)
def test_what_does_not_fit_an_input_is_told(choice: Choice, problem: str) -> None:
    inputs = (TensorSpec("A", "FP32", (-1, 4)), TensorSpec("B", "BYTES", (-1,)))
    with pytest.raises(ElementError, match=problem):
        make_samples(inputs, choice, 3)
