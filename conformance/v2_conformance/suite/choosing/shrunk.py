"""Huge cases with fewer bits: the same questions to a server whose words have as many fewer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from v2_conformance.errors import CaseFileError
from v2_conformance.suite.cases import Case, RequestCase


def shrunk(cases: Iterable[Case], bits: int) -> list[Case]:
    """`cases`, of which the huge ones have a tensor that is shorter by this many bits.

    2^31 bytes and 8,191 more become 2^17 bytes and 8,191 more, if `bits` is 14: what a size in 32
    bits does to the one, a size in 18 bits does to the other. Raises CaseFileError for one that
    would have none of the first left.
    """
    return [_shrunk(case, bits) if isinstance(case, RequestCase) else case for case in cases]


def _shrunk(case: RequestCase, bits: int) -> RequestCase:
    if not case.huge:
        return case
    (entry,) = case.request["inputs"]
    (elements,) = entry["shape"]
    power = 1 << elements.bit_length() - 1
    if power >> bits <= elements - power:
        raise CaseFileError(f"{case.id}: it cannot have {bits} bits fewer")
    shape = [(power >> bits) + elements - power]
    return replace(case, request={**case.request, "inputs": [{**entry, "shape": shape}]})
