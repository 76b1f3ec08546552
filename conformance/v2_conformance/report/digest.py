"""The digest of a report, which shows whether something in it was changed afterwards.

It is no signature: whoever changes a report on purpose can compute it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from v2_conformance.report.bodies import streams_of
from v2_conformance.report.document import Integrity, Report

_LONG = ("cases", "bodies")


def sealed(report: Report) -> Report:
    """Return `report` with the digest of its report.json."""
    digest = hashlib.sha256()
    for piece in pieces(replace(report, integrity=None), sort=True):
        digest.update(piece.encode())
    return replace(report, integrity=Integrity("sha256", digest.hexdigest()))


def pieces(report: Report, *, sort: bool = False) -> Iterator[str]:
    """Yield the canonical JSON of a report in pieces, since a whole run is too long to be held as
    one text. Without `sort` its own members are in the order in which people read them.
    """
    streams = streams_of(report)
    document = msgspec.to_builtins(replace(report, cases=(), bodies=()), enc_hook=streams.encoded)
    long = {"cases": report.cases, "bodies": streams.packed}
    document |= {name: items for name, items in long.items() if items}
    between = "{"
    for name in sorted(document) if sort else document:
        yield f'{between}"{name}":'
        if name in _LONG:
            between = "["
            for item in document[name]:
                yield between + _canonical(msgspec.to_builtins(item, enc_hook=streams.encoded))
                between = ","
            yield "]"
        else:
            yield _canonical(document[name])
        between = ","
    yield "}"


def document_digest(document: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hex, of the canonical JSON of everything but the digest itself.

    Canonical is: keys sorted, no white space, ASCII only.
    """
    rest = {key: value for key, value in document.items() if key != "integrity"}
    return hashlib.sha256(_canonical(rest).encode()).hexdigest()


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
