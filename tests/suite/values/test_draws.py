"""What a run draws keeps what cases are about, and differs from seed to seed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from v2_conformance.protocol.datatypes import DATATYPES, check_blob, decode_bytes, to_values
from v2_conformance.suite.values.draws import Draw, draw_for
from v2_conformance.suite.values.patterns import value_pattern

SEEDS = st.integers(0, 2**32 - 1)
NUMBERS = [name for name, spec in DATATYPES.items() if spec.kind in ("int", "float")]


def drawn(seed: int, case: str = "D1/some-case") -> Draw:
    found = draw_for(seed, case)
    assert found is not None
    return found


def elements(name: str, datatype: str, count: int, draw: Draw | None = None) -> list[bytes]:
    blob = value_pattern(name, datatype, count, draw=draw)
    check_blob(datatype, [count], blob)
    size = DATATYPES[datatype].size
    if size is None:
        return list(decode_bytes(blob))
    return [blob[at : at + size] for at in range(0, len(blob), size)]


def test_without_a_seed_values_are_as_written() -> None:
    assert draw_for(None, "D1/some-case") is None


@pytest.mark.parametrize("datatype", sorted(DATATYPES))
def test_a_seed_and_a_case_decide_the_values(datatype: str) -> None:
    made = {
        value_pattern("counting", datatype, 40, draw=drawn(seed, case))
        for seed in (1, 2)
        for case in ("D1/one", "D1/two")
    }
    assert len(made) == 4
    again = value_pattern("counting", datatype, 40, draw=drawn(1, "D1/one"))
    assert again == value_pattern("counting", datatype, 40, draw=drawn(1, "D1/one"))


@given(SEEDS, st.sampled_from(NUMBERS), st.sampled_from(["counting", "counting_in_json"]))
def test_equal_numbers_stay_equal_and_signs_stay(seed: int, datatype: str, name: str) -> None:
    before, after = elements(name, datatype, 150), elements(name, datatype, 150, drawn(seed))
    assert [before.index(one) for one in before] == [after.index(one) for one in after]
    assert [one[-1] & 128 for one in before] == [one[-1] & 128 for one in after]


@given(SEEDS, st.sampled_from([name for name in NUMBERS if DATATYPES[name].kind == "float"]))
def test_floats_need_no_more_than_six_digits_in_json(seed: int, datatype: str) -> None:
    values = to_values(datatype, value_pattern("counting", datatype, 127, draw=drawn(seed)))
    assert [float(f"{value:.6g}") for value in values] == values


def test_values_are_drawn_as_before() -> None:
    draw = draw_for(1, "D1/some-case")
    assert value_pattern("counting", "FP32", 3, draw=draw).hex() == "00006ec0000022c000002a40"


@given(SEEDS, st.sampled_from(["INT64", "UINT64"]))
def test_integers_for_json_stay_exact_in_every_parser(seed: int, datatype: str) -> None:
    values = to_values(datatype, value_pattern("counting_in_json", datatype, 99, draw=drawn(seed)))
    assert max(map(abs, values)) <= 2**53


@given(SEEDS, st.sampled_from(NUMBERS), st.integers(1, 30))
def test_corner_values_only_change_their_order(seed: int, datatype: str, count: int) -> None:
    before = elements("extremes", datatype, count)
    assert sorted(elements("extremes", datatype, count, drawn(seed))) == sorted(before)


@given(SEEDS)
def test_a_bool_tensor_has_both_values(seed: int) -> None:
    assert set(value_pattern("counting", "BOOL", 2, draw=drawn(seed))) == {0, 1}


@given(SEEDS, st.sampled_from(["counting", "ascii", "unicode", "nuls", "all_bytes"]))
def test_elements_of_bytes_keep_their_lengths(seed: int, name: str) -> None:
    before, after = elements(name, "BYTES", 12), elements(name, "BYTES", 12, drawn(seed))
    assert list(map(len, before)) == list(map(len, after))
    assert [before.index(one) for one in before] == [after.index(one) for one in after]


@given(SEEDS)
def test_bytes_that_no_json_has_stay_as_they_are(seed: int) -> None:
    assert elements("not_json", "UINT8", 9, drawn(seed)) == elements("not_json", "UINT8", 9)


@given(SEEDS, st.from_regex(r"[0-9a-f]{8}-[a-z0-9]{4}", fullmatch=True))
def test_a_plain_id_stays_of_its_kind(seed: int, given_id: str) -> None:
    new = drawn(seed).text(given_id)
    assert len(new) == len(given_id)
    kinds = [(c.isdigit(), c in "abcdef", c == "0") for c in given_id]
    assert kinds == [(c.isdigit(), c in "abcdef", c == "0") for c in new]


@pytest.mark.parametrize("given_id", ["", "a b", 'quoted "id"', "é", "%s%n"])
def test_an_id_that_is_the_point_of_a_case_stays(given_id: str) -> None:
    assert drawn(7).text(given_id) == given_id
