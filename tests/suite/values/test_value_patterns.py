"""Value patterns: whole tensors, and the same bits each time."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pytest

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import DATATYPES, check_blob, decode_bytes
from v2_conformance.suite.models import contract
from v2_conformance.suite.values.patterns import VALUE_PATTERNS, value_pattern


def patterns_for(datatype: str, count: int) -> Sequence[tuple[str, bytes]]:
    made = []
    for name in VALUE_PATTERNS:
        if name == "element_of_64000000" and count > 1:
            continue  # gigabytes
        try:
            made.append((name, value_pattern(name, datatype, count)))
        except CaseFileError:
            continue
    return made


@pytest.mark.parametrize("role", [role for role in contract() if role.startswith("identity/")])
@pytest.mark.parametrize("count", [0, 1, 100])
def test_every_value_pattern_is_whole_and_the_same_again(role: str, count: int) -> None:
    datatype = role.partition("/")[2]
    made = patterns_for(datatype, count)
    assert {"counting", "extremes", "ones"} <= {name for name, _ in made}
    for name, blob in made:
        check_blob(datatype, [count], blob)
        assert value_pattern(name, datatype, count) == blob
        if datatype == "BYTES":
            assert len(decode_bytes(blob)) == count


# More elements than any pattern has before it repeats.
DIGESTS = [
    ("counting", 2500, "31362398a7b64592"),
    ("counting_in_json", 2500, "162822191548292f"),
    ("extremes", 2500, "2b150067e626edb6"),
    ("finite_extremes", 2500, "b9c9c836cd80d8d5"),
    ("quiet_nans", 2500, "f9f1d2bc3ce35831"),
    ("signalling_nans", 2500, "a488076dd657b04f"),
    ("beyond_double", 2500, "3b75c81e883ae4fa"),
    ("tenths", 2500, "02271cfbb7fe4200"),
    ("ones", 2500, "9b2215254a3048f8"),
    ("not_json", 2500, "2d0350d130de8a61"),
    ("ascii", 2500, "b02a1b18f232b4ca"),
    ("unicode", 2500, "540244d750ebe863"),
    ("all_bytes", 2500, "9f36502cf6577f77"),
    ("empty_elements", 2500, "54413703caf8f337"),
    ("only_empty", 2500, "d638e40e7a2664a4"),
    ("nuls", 2500, "64bd51cec14bd4f3"),
    ("ascii_258", 2500, "d1edf1c880a8cd24"),
    ("around_a_byte", 2500, "6ed46fd39806fda8"),
    ("alike", 2500, "c517663f65b5c8c8"),
    ("long_element", 3, "48793fd375695075"),
    ("element_of_1100", 3, "f53be932268ba2cf"),
    ("element_of_65000", 3, "72c920a38ae4a966"),
    ("element_of_70000", 3, "02edf98778edfd37"),
    ("element_of_1000000", 3, "67963038101022a1"),
    ("element_of_1100000", 3, "e23e55bae025ca33"),
    ("one_byte", 2500, "ec19ebd5d022a37e"),
    ("invalid_utf8", 2500, "740924bb68af7f2b"),
]


@pytest.mark.parametrize(("name", "count", "digest"), DIGESTS)
def test_a_pattern_has_the_same_bits_in_every_release(name: str, count: int, digest: str) -> None:
    total = hashlib.sha256()
    for datatype in DATATYPES:
        try:
            blob = value_pattern(name, datatype, count)
        except CaseFileError:
            continue
        total.update(f"{datatype} {len(blob)}\n".encode() + blob)
    assert total.hexdigest()[:16] == digest


def test_every_pattern_has_its_bits_told() -> None:
    assert {name for name, *_ in DIGESTS} == set(VALUE_PATTERNS) - {"element_of_64000000"}
