"""The digest of a report, which shows whether something in it was changed afterwards.

It is no signature: whoever changes a report on purpose can compute it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from v2_conformance.report.document import Integrity, Report

_MEMBER = "integrity"
_NO_CASES = '"cases":[]'  # as text it cannot be in a string, whose quotes are escaped


def sealed(report: Report) -> Report:
    """`report` with its digest."""
    around = msgspec.to_builtins(msgspec.structs.replace(report, cases=(), integrity=None))
    around.pop(_MEMBER, None)
    cases = (_canonical(msgspec.to_builtins(case)) for case in report.cases)
    digest = hashlib.sha256()
    for piece in with_cases(_canonical(around), cases):
        digest.update(piece.encode())
    return msgspec.structs.replace(report, integrity=Integrity("sha256", digest.hexdigest()))


def with_cases(around: str, cases: Iterable[str]) -> Iterator[str]:
    """The JSON text of a report in pieces, since a whole run is too long to be held as one text.

    `around` is that of the report without cases, and `cases` are the texts of those.
    """
    before, _, after = around.partition(_NO_CASES)
    yield before + _NO_CASES[:-1]
    for number, case in enumerate(cases):
        yield ("," if number else "") + case
    yield _NO_CASES[-1:] + after


def document_digest(document: Mapping[str, Any]) -> str:
    """SHA-256, in hex, of the canonical JSON of everything but the digest itself.

    Canonical is: keys sorted, no white space, ASCII only.
    """
    rest = {key: value for key, value in document.items() if key != _MEMBER}
    return hashlib.sha256(_canonical(rest).encode()).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
