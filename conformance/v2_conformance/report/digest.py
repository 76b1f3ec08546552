"""The digest of a report, which shows whether something in it was changed afterwards.

It is no signature: whoever changes a report on purpose can compute it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from v2_conformance.report.document import Integrity, Report

_MEMBER = "integrity"


def sealed(report: Report) -> Report:
    """`report` with its digest."""
    digest = document_digest(msgspec.to_builtins(report))
    return msgspec.structs.replace(report, integrity=Integrity("sha256", digest))


def is_intact(document: Mapping[str, Any]) -> bool:
    """Whether a report, as its JSON was read, has a digest and is what the digest was made of."""
    integrity = document.get(_MEMBER)
    return isinstance(integrity, dict) and integrity.get("digest") == document_digest(document)


def document_digest(document: Mapping[str, Any]) -> str:
    """SHA-256, in hex, of the canonical JSON of everything but the digest itself.

    Canonical is: keys sorted, no white space, ASCII only.
    """
    rest = {key: value for key, value in document.items() if key != _MEMBER}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
