"""Keeps secrets out of everything that is recorded, printed or logged.

`Mask` is all that others need, and `MaskedStream` for what comes in pieces. A secret is looked for
in what a reader would see: without chunks, content codings and escapes, in every form that one
common tool undoes; and is masked in the raw bytes that carry it, which keep their length.
"""

from v2_conformance.redaction.credentials import credential_parts
from v2_conformance.redaction.mask import Mask, is_findable, shows_masks
from v2_conformance.redaction.streams import OVERLAP, MaskedStream

__all__ = ["OVERLAP", "Mask", "MaskedStream", "credential_parts", "is_findable", "shows_masks"]
