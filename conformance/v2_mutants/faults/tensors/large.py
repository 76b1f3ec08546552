"""Faults of large tensors (L)."""

from __future__ import annotations

from v2_conformance.reference.behaviour import Behaviour
from v2_mutants.faults.shared.blobs import resize
from v2_mutants.faults.shared.deliveries import blobs_cut_if, is_last, is_versioned
from v2_mutants.registry import fault, refuses

_LIMIT = 2**19


fault("body-capped-at-512-kib", "L1", Behaviour.infer)(
    "An inference request with a body of more than 512 KiB is rejected.",
    refuses(lambda model, request: len(request.body) > _LIMIT, 413),
)
fault("large-output-cut", "L1", Behaviour.response_body)(
    "Everything after the first 512 KiB of a blob is returned as zeros.",
    lambda right, text, blobs: right(blobs=[resize(blob[:_LIMIT], len(blob)) for blob in blobs]),
)
fault("zeros-behind-64-kib", "L1", Behaviour.response_body)(
    "What is behind the first 64 KiB of a blob is returned as zeros.",
    lambda right, text, blobs: right(blobs=[resize(blob[: 1 << 16], len(blob)) for blob in blobs]),
)
fault("zeros-behind-a-mebibyte", "L1", Behaviour.response_body)(
    "What is behind the first mebibyte of a blob is returned as zeros.",
    lambda right, text, blobs: right(
        blobs=[resize(blob[: 2 * _LIMIT], len(blob)) for blob in blobs]
    ),
)


for _name, _where, _when in (
    ("on-a-versioned-path", "On a path with the model's version", is_versioned),
    ("of-last-requests", "If the connection ends",
     is_last),
):  # fmt: skip
    fault(f"blobs-over-two-mebibytes-{_name}-cut", "L1", Behaviour.split_body)(
        f"{_where}, only 2 MiB of the blobs are read.", blobs_cut_if(_when, 4 * _LIMIT)
    )
