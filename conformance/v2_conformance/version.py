"""The version of the suite, and the digest of the code that decides its verdicts."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

__version__ = "2.0.0"

_DECIDING = (
    "v2_clients/bench",
    "v2_clients/findings.py",
    "v2_clients/judging",
    "v2_clients/rejudge.py",
    "v2_conformance/conversations",
    "v2_conformance/judging",
    "v2_conformance/protocol",
    "v2_conformance/report/root_causes.py",
    "v2_conformance/report/verdict",
    "v2_conformance/suite",
    "v2_conformance/verifying",
    "v2_conformance/wire",
)
"""The rooms and modules that decide which verdict follows from recorded bytes."""


@cache
def judging_digest(packages: Path = Path(__file__).parents[1]) -> str:
    """Return the digest of the source code that decides verdicts: two builds of one version differ.

    It is the same on every platform and version of Python, whether installed or in a checkout.
    """
    total = hashlib.sha256()
    for name in _DECIDING:
        room = packages / name
        inside = room.rglob("*.py") if room.is_dir() else [room]
        for path in sorted(inside, key=lambda path: path.parts):
            text = path.read_bytes().replace(b"\r\n", b"\n")
            total.update(f"{path.relative_to(packages).as_posix()} {len(text)}\n".encode())
            total.update(text)
    return total.hexdigest()[:16]
