"""How many bytes of tensors the large cases of a run send."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from v2_conformance.protocol.datatypes import blob_size, element_count
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.models import contract
from v2_conformance.suite.values.patterns import value_pattern


@dataclass(frozen=True)
class Traffic:
    """The size of several requests: their number, and bytes of tensors, in all and in the longest.

    An identity model sends as many back.
    """

    requests: int
    longest: int
    total: int


def large_traffic(cases: Iterable[Case]) -> Traffic | None:
    """Return what the large ones of `cases` send, None without any."""
    found = [_tensor_size(case) for case in cases if case.large]
    return Traffic(len(found), max(found), sum(found)) if found else None


def _tensor_size(case: Case) -> int:
    """Bytes of the tensors of a case whose inputs are a list of patterns."""
    if not isinstance(case, RequestCase):
        return 0
    sizes = 0
    for index, entry in enumerate(case.request["inputs"]):
        datatype = contract()[case.model].inputs[entry.get("tensor", index)].datatype
        size = blob_size(datatype, entry["shape"])
        if size is None:
            count = element_count(entry["shape"])
            size = len(value_pattern(entry.get("values", "counting"), datatype, count))
        sizes += size
    return sizes
