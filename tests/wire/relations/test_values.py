"""Values that a model is asked about before the cases that send them."""

from __future__ import annotations

from v2_conformance.judging.learning import unknown_model
from v2_conformance.protocol.datatypes import decode_bytes, to_values
from v2_conformance.suite.models import ModelContract, Sample, TensorSpec
from v2_conformance.suite.relations import ValueSet, value_sets
from v2_conformance.suite.values.samples import Choice, make_samples
from v2_conformance.wire.relations.values import special_sets, values_of

PAIR = (TensorSpec("X", "FP32", (-1, 2)), TensorSpec("Y", "BYTES", (-1,)))
FIXED = (TensorSpec("X", "INT32", (2, 2)),)
TEXTS = ValueSet(name="texts", datatypes=("BYTES",), values=("a", "b", "c", "d"))


def model(inputs: tuple[TensorSpec, ...]) -> ModelContract:
    return unknown_model("m", inputs, inputs, make_samples(inputs, Choice(), 3))


def shapes(values: tuple[Sample, ...]) -> list[tuple[int, ...]]:
    return [one.shape for one in values]


def test_a_set_goes_to_the_input_of_its_datatype_and_the_others_grow_with_it() -> None:
    numbers, texts = values_of(TEXTS, model(PAIR))
    assert decode_bytes(texts.blob) == [b"a", b"b", b"c", b"d"]
    assert numbers.shape == (4, 2)


def test_values_fill_a_fixed_shape_from_the_start_again() -> None:
    given = ValueSet(name="some", datatypes=("INT32",), values=(1, 2, 3))
    (only,) = values_of(given, model(FIXED))
    assert (only.shape, list(to_values("INT32", only.blob))) == ((2, 2), [1, 2, 3, 1])


def test_the_sample_is_sent_in_other_sizes() -> None:
    empty, more = ValueSet(name="n", rows=0), ValueSet(name="n", more_rows=2)
    sized = [empty, more, ValueSet(name="n", bytes=40)]
    found = [shapes(values_of(one, model(PAIR)))[0] for one in sized]
    assert found == [(0, 2), (5, 2), (10, 2)]


def test_a_model_without_variable_dimensions_has_one_size() -> None:
    sizes = [one for one in value_sets().values() if not one.datatypes]
    assert sizes
    found = special_sets(model(FIXED), ["X"])
    assert {shapes(values)[0] for values in found} == {(2, 2)}


def test_only_free_inputs_get_other_values() -> None:
    free = special_sets(model(PAIR), ["X", "Y"])
    kept = special_sets(model(PAIR), ["Y"])
    sample = model(PAIR).samples[0]
    assert len(free) > len(kept) > 0
    assert all(values[0] == sample[0] for values in kept)
