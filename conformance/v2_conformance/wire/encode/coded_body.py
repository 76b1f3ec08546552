"""Request bodies in a content coding, tampered with as a case says (`encoded` in a case file)."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, repeat

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol import content_codings
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.wire.case_data import from_hex, integer, only_member

_STEP = 1 << 20
_MOST_ADDED = 1 << 32


def code_body(name: str, body: Buffer, tampering: object) -> bytes:
    """Return the bytes to send for `body` with the Content-Encoding `name`.

    `tampering` is `encoded` of a case's request, None if it has none. In a coding that is unknown
    the body goes out as it is. Raises CaseFileError.
    """
    coding = content_codings.known(name)
    if coding is None and tampering not in (None, "plain"):
        raise CaseFileError(f"`encoded`: {name!a} is not a coding that can be tampered with")
    if coding is None or tampering == "plain":
        return bytes(body)
    if tampering == "stored":
        return content_codings.store(coding, body)
    if tampering is None:
        return content_codings.encode(coding, body)
    kind, value = only_member(tampering, "`encoded`", ("drop", "flip", "hex", "bomb", "blanks"))
    if kind == "hex":
        return from_hex(value, "`encoded.hex`")
    if kind in ("bomb", "blanks"):
        count = integer(value, f"`encoded.{kind}`", least=0, most=_MOST_ADDED)
        return _bomb(coding, bytes(body), b" " if kind == "blanks" else b"\0", count)
    encoded = content_codings.encode(coding, body)
    if kind == "flip":
        at = len(encoded) - integer(value, "`encoded.flip`", least=1, most=len(encoded))
        return encoded[:at] + bytes([encoded[at] ^ 0xFF]) + encoded[at + 1 :]
    dropped = integer(value, "`encoded.drop`", least=0, most=len(encoded))
    return encoded[: len(encoded) - dropped]


@lru_cache(maxsize=4)
def _bomb(coding: str, start: bytes, byte: bytes, count: int) -> bytes:
    """Return `start` and this many times `byte` in `coding`, without ever holding them."""
    block = byte * _STEP
    blocks = repeat(block, count // _STEP)
    return content_codings.encode_pieces(coding, chain([start], blocks, [block[: count % _STEP]]))
