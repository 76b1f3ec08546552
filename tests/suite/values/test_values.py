"""Values of cases, samples and generated requests: whole, the same again, drawn from a seed."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from v2_conformance.conversations.steps import Result
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.datatypes import (
    DATATYPES,
    ElementError,
    check_blob,
    decode_bytes,
    to_array,
    to_values,
)
from v2_conformance.resources import fits
from v2_conformance.runs.generated import first_failure
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.models import TensorSpec, contract
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.values.draws import Draw, draw_for
from v2_conformance.suite.values.patterns import VALUE_PATTERNS, value_pattern
from v2_conformance.suite.values.samples import Choice, Given, make_samples, repeated


@pytest.mark.parametrize("role", [role for role in contract() if role.startswith("identity/")])
@pytest.mark.parametrize("count", [0, 1, 100])
def test_every_value_pattern_is_whole(role: str, count: int) -> None:
    datatype = role.partition("/")[2]
    for name in VALUE_PATTERNS:
        if name != "element_of_64000000" or count < 2:  # else gigabytes
            with contextlib.suppress(CaseFileError):
                check_blob(datatype, [count], value_pattern(name, datatype, count))
    assert len(value_pattern("counting", datatype, 1)) > 0


DIGESTS = {
    "counting": "31362398a7b64592", "counting_in_json": "162822191548292f",
    "extremes": "2b150067e626edb6", "finite_extremes": "b9c9c836cd80d8d5",
    "quiet_nans": "f9f1d2bc3ce35831", "signalling_nans": "a488076dd657b04f",
    "beyond_double": "3b75c81e883ae4fa", "tenths": "02271cfbb7fe4200", "ones": "9b2215254a3048f8",
    "not_json": "2d0350d130de8a61", "ascii": "b02a1b18f232b4ca", "unicode": "540244d750ebe863",
    "all_bytes": "9f36502cf6577f77", "empty_elements": "54413703caf8f337",
    "only_empty": "d638e40e7a2664a4", "nuls": "64bd51cec14bd4f3",
    "around_a_byte": "6ed46fd39806fda8", "alike": "c517663f65b5c8c8",
    "long_element": "48793fd375695075", "element_of_65000": "72c920a38ae4a966",
    "element_of_1000000": "67963038101022a1", "one_byte": "ec19ebd5d022a37e",
    "invalid_utf8": "740924bb68af7f2b",
}  # fmt: skip


def digest_of(name: str) -> str:
    """Of a pattern in each datatype, with more elements than it has before it repeats."""
    total = hashlib.sha256()
    for datatype in DATATYPES:
        with contextlib.suppress(CaseFileError):
            blob = value_pattern(
                name, datatype, 3 if name.startswith(("element", "long")) else 2500
            )
            total.update(f"{datatype} {len(blob)}\n".encode() + blob)
    return total.hexdigest()[:16]


def test_patterns_have_the_same_bits_in_every_release() -> None:
    assert {name: digest_of(name) for name in DIGESTS} == DIGESTS


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


@pytest.mark.parametrize("datatype", sorted(DATATYPES))
def test_a_seed_and_a_case_decide_the_values(datatype: str) -> None:
    made = {
        value_pattern("counting", datatype, 40, draw=drawn(seed, case))
        for seed in (1, 2)
        for case in ("D1/one", "D1/two")
    }
    assert len(made) == 4
    assert draw_for(None, "D1/one") is None
    again = value_pattern("counting", datatype, 40, draw=drawn(1, "D1/one"))
    assert again == value_pattern("counting", datatype, 40, draw=drawn(1, "D1/one"))


@given(SEEDS, st.sampled_from(NUMBERS), st.sampled_from(["counting", "counting_in_json"]))
def test_equal_numbers_stay_equal_and_signs_stay(seed: int, datatype: str, name: str) -> None:
    before, after = elements(name, datatype, 150), elements(name, datatype, 150, drawn(seed))
    assert [before.index(one) for one in before] == [after.index(one) for one in after]
    assert [one[-1] & 128 for one in before] == [one[-1] & 128 for one in after]
    assert set(value_pattern("counting", "BOOL", 2, draw=drawn(seed))) == {0, 1}
    assert elements("not_json", "UINT8", 9, drawn(seed)) == elements("not_json", "UINT8", 9)


@given(SEEDS, st.sampled_from([name for name in NUMBERS if DATATYPES[name].kind == "float"]))
def test_floats_need_no_more_than_six_digits_in_json(seed: int, datatype: str) -> None:
    values = to_values(datatype, value_pattern("counting", datatype, 127, draw=drawn(seed)))
    assert [float(f"{value:.6g}") for value in values] == values


@given(SEEDS, st.sampled_from(["INT64", "UINT64"]))
def test_integers_for_json_stay_exact_in_every_parser(seed: int, datatype: str) -> None:
    values = to_values(datatype, value_pattern("counting_in_json", datatype, 99, draw=drawn(seed)))
    assert max(map(abs, values)) <= 2**53


@given(SEEDS, st.sampled_from(["counting", "ascii", "unicode", "nuls", "all_bytes"]))
def test_elements_of_bytes_keep_their_lengths(seed: int, name: str) -> None:
    before, after = elements(name, "BYTES", 12), elements(name, "BYTES", 12, drawn(seed))
    assert list(map(len, before)) == list(map(len, after))
    assert [before.index(one) for one in before] == [after.index(one) for one in after]


@given(SEEDS, st.from_regex(r"[0-9a-f]{8}-[a-z0-9]{4}", fullmatch=True))
def test_a_plain_id_stays_of_its_kind(seed: int, given_id: str) -> None:
    new = drawn(seed).text(given_id)
    assert len(new) == len(given_id)
    assert [drawn(seed).text(text) for text in ("", 'quoted "id"', "é")] == ["", 'quoted "id"', "é"]
    kinds = [(c.isdigit(), c in "abcdef", c == "0") for c in given_id]
    assert kinds == [(c.isdigit(), c in "abcdef", c == "0") for c in new]


def test_variable_dimensions_are_small_and_fixed_ones_kept() -> None:
    (first, second) = make_samples([TensorSpec("A", "FP32", (-1, 4))], Choice(), 3)
    assert first[0].shape == second[0].shape == (3, 4)
    assert first[0].blob != second[0].blob


@pytest.mark.parametrize("width", [3, 7, 10, 16, 21, 32, 64, 100, 112, 768, 3072])
@pytest.mark.parametrize("datatype", ["BOOL", "UINT8", "FP32", "BYTES"])
def test_no_row_is_like_another_so_that_a_wrong_one_shows(datatype: str, width: int) -> None:
    for (sample,) in make_samples([TensorSpec("A", datatype, (-1, width))], Choice(), 3):
        more = to_values(datatype, repeated(sample, datatype, 40 * width))
        rows = [tuple(more[at : at + width]) for at in range(0, len(more), width)]
        assert rows[:3] == [*dict.fromkeys(rows)]
        assert all(rows[behind:] != rows[:-behind] for behind in range(1, 37))


@pytest.mark.parametrize("datatype", ["BOOL", "INT64", "FP16", "BYTES"])
def test_inputs_of_one_kind_have_unlike_values(datatype: str) -> None:
    inputs = [TensorSpec(name, datatype, (-1, 3)) for name in "ABC"]
    for values in make_samples(inputs, Choice(), 3):
        assert len({sample.blob for sample in values}) == 3
    ranged = Choice(ranges={"B": (0, 1)}) if datatype == "INT64" else Choice()
    for values in make_samples(inputs[:2], ranged, 3):
        assert len({sample.blob for sample in values}) == 2


def test_no_input_begins_with_another_and_those_with_a_single_value_are_alike() -> None:
    inputs = [TensorSpec("A", "FP32", (-1, 4)), TensorSpec("B", "FP32", (4, 2))]
    for long, short in make_samples(inputs, Choice(), 3):
        assert not long.blob.startswith(short.blob)
    inputs = [TensorSpec(name, "INT64", (-1,)) for name in "AB"]
    for one, other in make_samples(inputs, Choice(ranges={"A": (1, 1), "B": (1, 1)}), 3):
        assert one == other


def test_whole_numbers_and_ranges_of_one_number_are_in_their_range() -> None:
    ranged = Choice(ranges={"A": (5, 7)})
    whole = make_samples([TensorSpec("A", "INT64", (9,))], ranged, 3)[0][0]
    assert set(to_values("INT64", whole.blob)) == {5, 6, 7}
    for number in (0.0, 3.7):
        one = Choice(ranges={"A": (number, number)})
        ((sample,), _) = make_samples([TensorSpec("A", "FP64", (4,))], one, 3)
        assert set(to_values("FP64", sample.blob)) == {number}


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.5, 6e4), (-1e-3, 2e-3)])
@pytest.mark.parametrize("smaller", ["<f2", "BF16", "<f4"])
def test_floats_are_in_range_and_exact_in_no_smaller_type(
    smaller: str, low: float, high: float
) -> None:
    datatype = "FP64" if smaller == "<f4" else "FP32"
    given = Choice(ranges={"A": (low, high)})
    for (sample,) in make_samples([TensorSpec("A", datatype, (16,))], given, 3):
        values = to_array(datatype, sample.blob)
        assert len(set(values)) == 16
        assert low <= min(values) <= max(values) <= high
        if smaller == "BF16":
            assert np.all(values.view("<u4") & 0xFFFF)
        else:
            assert np.all(values.astype(smaller) != values)


def test_floats_have_so_few_digits_that_any_reader_of_json_gets_them() -> None:
    for datatype, number in (("FP32", np.float32), ("FP64", np.float64)):
        for (sample,) in make_samples([TensorSpec("A", datatype, (64,))], Choice(), 3):
            for value in to_array(datatype, sample.blob):
                digits, _, places = np.format_float_positional(value).partition(".")
                assert number(int(digits + places) / 10 ** len(places)) == value
                assert int(digits + places) < 1 << 53


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


ROLES = [
    role
    for role, model in contract().items()
    if model.does == "identity" and model.profile in ("binary", "bf16")
]


def generated(seed: int, count: int = 60, roles: Sequence[str] = ROLES) -> Sequence[RequestCase]:
    """The first `count` requests of a seed, none of which is sent."""
    cases: list[RequestCase] = []

    def passes(case: Case) -> Result:
        assert isinstance(case, RequestCase)
        cases.append(case)
        return Result(case, Verdict(Outcome.PASS))

    assert first_failure(passes, roles, count, seed) is None
    assert len(cases) == count
    return cases


def test_generated_entries_are_valid_case_entries_and_survive_yaml() -> None:
    for case in generated(1)[::12]:
        entry: dict[str, Any] = {"id": case.id, "why": case.why, "model": case.model}
        entry |= {"request": dict(case.request), "expect": dict(case.expect)}
        read = yaml.safe_load(yaml.safe_dump({"family": "M", "cases": [entry]}))
        assert fits("case", read), entry
        assert make_case(read["cases"][0]) == case


def test_everything_is_mixed() -> None:
    cases = generated(2, 200)
    requests = [case.request for case in cases]
    inputs = [entry for request in requests for entry in request["inputs"]]
    assert {case.model for case in cases} >= {"mixed", "all_types"}
    assert {entry.get("form", "binary") for entry in inputs} == {"binary", "json", "nested"}
    assert all(min(entry["shape"]) > 0 for entry in inputs)
    assert any(max(entry["shape"]) > 16 for entry in inputs)
    assert {"slices", "chunks"} <= {key for r in requests for key in r.get("delivery", {})}
    assert {"id", "json", "outputs"} <= {key for request in requests for key in request}
    defaults = {r.get("parameters", {}).get("binary_data_output") for r in requests}
    assert defaults == {None, True, False}
    assert {case.level for case in cases} == {"MUST"}


def test_nothing_that_is_disputed_is_generated_and_json_has_numbers_that_parsers_keep() -> None:
    seen = set()
    for case in generated(3, 200):
        request, listed = case.request, case.request.get("outputs")
        assert listed != []
        if request.get("parameters", {}).get("binary_data_output"):
            assert all("binary_data" in output for output in listed or ())
        for number, entry in enumerate(request["inputs"]):
            index = entry.get("tensor", number)
            datatype = contract()[case.model].inputs[index].datatype
            in_json = "form" in entry or case.expect["outputs"].get(str(index)) == "json"
            if in_json and datatype in ("INT64", "UINT64", "FP32", "FP64"):
                values = to_values(datatype, bytes.fromhex(entry["values"]["hex"]))
                seen.add(datatype)
                assert all(abs(value) <= 2**53 for value in values)
                assert all(value * 16 == int(value * 16) for value in values)
            assert not in_json or datatype not in ("FP16", "BF16")
    assert len(seen) > 2


@pytest.mark.parametrize("roles", [["mixed"], ["all_types", "identity/BYTES"]])
def test_requests_go_only_to_the_roles_that_are_named(roles: list[str]) -> None:
    assert {case.role for case in generated(4, 20, roles)} == set(roles)
