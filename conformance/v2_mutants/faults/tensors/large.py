"""Faults of large and of huge tensors (L)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behaviour import Behaviour
from v2_mutants.faults.shared.blobs import resize
from v2_mutants.faults.shared.deliveries import blobs_cut_if, is_last, is_versioned
from v2_mutants.registry import Right, fault, refuses

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


@fault("offsets-in-32-bits", "L2", Behaviour.response_body)
def _(right: Right[tuple[Buffer, ...]], text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """Offsets into a tensor have 32 bits: behind 4 GiB it begins again from its start."""
    word = 1 << right.server.word_bits
    pieces = [blob[: min(word, len(blob) - at)] for blob in blobs for at in _starts(blob, word)]
    return right(blobs=pieces)


@fault("lengths-in-31-bits", "L2", Behaviour.response_body)
def _(right: Right[tuple[Buffer, ...]], text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """A tensor is copied with a signed length of 32 bits: over 2 GiB nothing is copied, and zeros
    are returned."""
    most = (1 << right.server.word_bits - 1) - 1
    copied = [blob if len(blob) <= most else np.zeros(len(blob), "u1").data for blob in blobs]
    return right(blobs=copied)


fault("declared-sizes-in-32-bits", "L2", Behaviour.output_size)(
    "The binary_data_size of an output is kept in 32 bits: over 4 GiB it wraps.",
    lambda right, tensor: right() % (1 << right.server.word_bits),
)


@fault("last-word-lost-behind-2-gib", "L2", Behaviour.response_body)
def _(right: Right[tuple[Buffer, ...]], text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """Of a tensor over 2 GiB the last eight bytes are returned as zeros."""
    pieces: list[Buffer] = []
    for blob in blobs:
        whole = len(blob) <= 1 << right.server.word_bits - 1
        pieces += [blob] if whole else [blob[:-8], bytes(8)]
    return right(blobs=pieces)


def _starts(blob: Buffer, word: int) -> range:
    return range(0, len(blob), word) if len(blob) else range(1)
