"""The digest of a report, which shows whether something in it was changed afterwards.

It is no signature: whoever changes a report on purpose can compute it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from v2_conformance.report.document import Integrity, Report
from v2_conformance.report.messages import packed, with_packed

_MEMBER = "integrity"
_LONG = ("cases", "messages")
_NONE: dict[str, Any] = dict.fromkeys(_LONG, ())


def sealed(report: Report) -> Report:
    """`report` with the digest of its report.json."""
    digest = hashlib.sha256()
    whole = packed(report)
    for piece in pieces(msgspec.structs.replace(whole, integrity=None), canonical, sort=True):
        digest.update(piece.encode())
    integrity = Integrity("sha256", digest.hexdigest())
    return with_packed(msgspec.structs.replace(report, integrity=integrity), whole)


def pieces(report: Report, encode: Callable[[Any], str], *, sort: bool = False) -> Iterator[str]:
    """The JSON text of a report in pieces, since a whole run is too long to be held as one text.

    `encode` makes JSON of a member, a case or a block; with `sort` the members are sorted by name.
    """
    document: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(report, **_NONE))
    document |= {name: items for name in _LONG if (items := getattr(report, name))}
    between = "{"
    for name in sorted(document) if sort else document:
        yield f"{between}{encode(name)}:"
        if name in _LONG:
            yield from _in_list(getattr(report, name), encode)
        else:
            yield encode(document[name])
        between = ","
    yield "}"


def document_digest(document: Mapping[str, Any]) -> str:
    """SHA-256, in hex, of the canonical JSON of everything but the digest itself.

    Canonical is: keys sorted, no white space, ASCII only.
    """
    rest = {key: value for key, value in document.items() if key != _MEMBER}
    return hashlib.sha256(canonical(rest).encode()).hexdigest()


def canonical(value: Any) -> str:
    """A part of a report as canonical JSON, see `document_digest`."""
    plain = msgspec.to_builtins(value)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _in_list(items: tuple[msgspec.Struct, ...], encode: Callable[[Any], str]) -> Iterator[str]:
    yield "["
    for number, item in enumerate(items):
        yield ("," if number else "") + encode(item)
    yield "]"
