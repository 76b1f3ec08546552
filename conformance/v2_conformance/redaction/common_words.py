"""Words of the suite's own files, which are in every report and so cannot be secrets."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from v2_conformance.redaction.needles import squeezed
from v2_conformance.resources import folder

_TEXT = frozenset({".py", ".yaml", ".json", ".html", ".j2", ".css", ".js"})


@cache
def _own_text() -> bytes:
    """The letters and digits of cases, schemas and package, in lower case."""
    places = dict.fromkeys(
        (Path(__file__).resolve().parents[1], folder("cases"), folder("schemas"))
    )
    files = (file for place in places for file in sorted(place.rglob("*")))
    texts = (file.read_bytes() for file in files if file.suffix in _TEXT and file.is_file())
    return b"\n".join(squeezed(text).lower() for text in texts)


def is_common(letters: bytes) -> bool:
    """Return True if these letters and digits, in lower case, stand in the suite's own files.

    To hide `application/json` or `identity_int32` everywhere would make a report unreadable, and
    requests and responses unverifiable.
    """
    return letters in _own_text()
