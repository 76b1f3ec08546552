"""Faults of tensors over 2 GiB (L2): lengths that are kept in words of 32 bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault


@fault(
    "offsets-in-32-bits",
    breaks="L2",
    text="Offsets into a tensor have 32 bits: behind 4 GiB it begins again from its start.",
)
class _OffsetsIn32Bits(Behaviour):
    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        word = 1 << self.word_bits
        pieces = [blob[: min(word, len(blob) - at)] for blob in blobs for at in _starts(blob, word)]
        return super().response_body(text, pieces)


@fault(
    "lengths-in-31-bits",
    breaks="L2",
    text="A tensor is copied with a signed length of 32 bits: over 2 GiB nothing is copied, and "
    "zeros are returned.",
)
class _LengthsIn31Bits(Behaviour):
    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        most = (1 << self.word_bits - 1) - 1
        copied = [blob if len(blob) <= most else np.zeros(len(blob), "u1").data for blob in blobs]
        return super().response_body(text, copied)


@fault(
    "declared-sizes-in-32-bits",
    breaks="L2",
    text="The binary_data_size of an output is kept in 32 bits: over 4 GiB it wraps.",
)
class _DeclaredSizesIn32Bits(Behaviour):
    def output_size(self, tensor: Tensor) -> int:
        return super().output_size(tensor) % (1 << self.word_bits)


@fault(
    "last-word-lost-behind-2-gib",
    breaks="L2",
    text="Of a tensor over 2 GiB the last eight bytes are returned as zeros.",
)
class _LastWordLostBehind2Gib(Behaviour):
    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        pieces: list[Buffer] = []
        for blob in blobs:
            whole = len(blob) <= 1 << self.word_bits - 1
            pieces += [blob] if whole else [blob[:-8], bytes(8)]
        return super().response_body(text, pieces)


def _starts(blob: Buffer, word: int) -> range:
    return range(0, len(blob), word) if len(blob) else range(1)
