"""The digest of a report, which notices that something in it was changed afterwards.

It is no signature: whoever changes a report on purpose can compute it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_KEY = "integrity"


def sealed(report: Mapping[str, Any]) -> dict[str, Any]:
    """`report` with its digest."""
    return {**report, _KEY: {"algorithm": "sha256", "digest": _digest(report)}}


def is_intact(report: Mapping[str, Any]) -> bool:
    """Whether `report` has a digest and is what the digest was made of."""
    seal = report.get(_KEY, {})
    return bool(seal.get("digest") == _digest(report))


def _digest(report: Mapping[str, Any]) -> str:
    """SHA-256, in hex, of the canonical JSON of everything but the digest itself.

    Canonical is: keys sorted, no white space, ASCII only.
    """
    rest = {key: value for key, value in report.items() if key != _KEY}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
