"""Faults of large tensors (L)."""

from __future__ import annotations

from v2_conformance.reference.behaviour import Behaviour
from v2_mutants.faults.shared.blobs import resize
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
fault("zeros-behind-a-mebibyte", "L1", Behaviour.response_body)(
    "What is behind the first mebibyte of a blob is returned as zeros.",
    lambda right, text, blobs: right(
        blobs=[resize(blob[: 2 * _LIMIT], len(blob)) for blob in blobs]
    ),
)
