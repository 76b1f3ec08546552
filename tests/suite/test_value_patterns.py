"""Value patterns: whole tensors, and the same bits each time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import check_blob, decode_bytes
from v2_conformance.suite.models import contract
from v2_conformance.suite.value_patterns import VALUE_PATTERNS, value_pattern


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
