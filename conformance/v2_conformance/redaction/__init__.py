"""Keeps declared secrets out of everything that is recorded, printed or logged.

A secret is masked as it is and as common encoders write it: JSON escapes, percent-encoding, base64,
hex. Lengths stay, so offsets in a report stay true. A body that has a secret only once its chunks
or content codings are removed, or whose codings cannot be removed, is withheld whole. Nothing else
is promised: a server can always invent a form that nobody looks for.
"""

from v2_conformance.redaction.mask import (
    WITHHELD,
    Mask,
    Masked,
    MaskedStream,
    credential_parts,
    is_findable,
    shows_masks,
)

__all__ = [
    "WITHHELD",
    "Mask",
    "Masked",
    "MaskedStream",
    "credential_parts",
    "is_findable",
    "shows_masks",
]
