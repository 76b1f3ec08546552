"""The digest of a report, which shows whether something in it was changed afterwards.

It is no signature: whoever changes a report on purpose can compute it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from v2_conformance.report.bodies import Streams, streams_of
from v2_conformance.report.document import Integrity, Report

_MEMBER = "integrity"
_LONG = ("cases", "bodies")
_NONE: dict[str, Any] = dict.fromkeys(_LONG, ())

Encode = Callable[[Any, Streams], str]
"""Makes JSON of a member, a case or a stream, with each message at its place in the streams."""


def sealed(report: Report) -> Report:
    """`report` with the digest of its report.json."""
    digest = hashlib.sha256()
    for piece in pieces(msgspec.structs.replace(report, integrity=None), canonical, sort=True):
        digest.update(piece.encode())
    return msgspec.structs.replace(report, integrity=Integrity("sha256", digest.hexdigest()))


def pieces(report: Report, encode: Encode, *, sort: bool = False) -> Iterator[str]:
    """The JSON text of a report in pieces, since a whole run is too long to be held as one text.

    With `sort` the members are sorted by name.
    """
    streams = streams_of(report)
    short = msgspec.structs.replace(report, **_NONE)
    document: dict[str, Any] = msgspec.to_builtins(short, enc_hook=streams.encoded)
    long = {"cases": report.cases, "bodies": streams.packed}
    document |= {name: items for name, items in long.items() if items}
    between = "{"
    for name in sorted(document) if sort else document:
        yield f"{between}{encode(name, streams)}:"
        if name in _LONG:
            yield from _in_list(document[name], lambda item: encode(item, streams))
        else:
            yield encode(document[name], streams)
        between = ","
    yield "}"


def document_digest(document: Mapping[str, Any]) -> str:
    """SHA-256, in hex, of the canonical JSON of everything but the digest itself.

    Canonical is: keys sorted, no white space, ASCII only.
    """
    rest = {key: value for key, value in document.items() if key != _MEMBER}
    return hashlib.sha256(canonical(rest).encode()).hexdigest()


def canonical(value: Any, streams: Streams | None = None) -> str:
    """A part of a report as canonical JSON, see `document_digest`."""
    plain = msgspec.to_builtins(value, enc_hook=None if streams is None else streams.encoded)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _in_list(items: Any, encode: Callable[[Any], str]) -> Iterator[str]:
    yield "["
    for number, item in enumerate(items):
        yield ("," if number else "") + encode(item)
    yield "]"
