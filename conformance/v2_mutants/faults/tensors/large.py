"""Faults of large tensors (L)."""

from __future__ import annotations

from v2_conformance.reference.behaviour import Behaviour
from v2_mutants.faults.shared.deliveries import blobs_cut_if, is_last, is_versioned
from v2_mutants.registry import fault

_LIMIT = 2**19


for _name, _where, _when in (
    ("on-a-versioned-path", "On a path with the model's version", is_versioned),
    ("of-last-requests", "If the connection ends",
     is_last),
):  # fmt: skip
    fault(f"blobs-over-two-mebibytes-{_name}-cut", "L1", Behaviour.split_body)(
        f"{_where}, only 2 MiB of the blobs are read.", blobs_cut_if(_when, 4 * _LIMIT)
    )
