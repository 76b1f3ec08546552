"""Secrets in output that comes in pieces, of which one may stand across two."""

from __future__ import annotations

from v2_conformance.redaction.mask import Mask

OVERLAP = 64 << 10
"""No form of a secret that is found in one text is longer."""


class MaskedStream:
    """Bytes without the secrets, in the same number. What may still belong to one is held back."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        # What was given last, `given` bytes, in which a secret may begin, and what is held back.
        self._window = b""
        self._given = 0

    def feed(self, piece: bytes) -> bytes:
        """Return what can be given now that this has come."""
        if not self._mask.hides_anything:
            return piece
        self._window += piece
        if len(self._window) - self._given < 2 * OVERLAP:
            return b""
        return self._give(len(self._window) - OVERLAP)

    def rest(self) -> bytes:
        """Return everything that was held back: no more comes."""
        return self._give(len(self._window))

    def _give(self, end: int) -> bytes:
        given = self._mask.excerpt(self._window)[self._given : end]
        start = max(0, end - OVERLAP)
        self._window, self._given = self._window[start:], end - start
        return given
