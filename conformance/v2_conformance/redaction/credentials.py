"""The parts of a credential that are secret by themselves, wherever a server repeats them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

# "Bearer x", "Token token=x": the scheme of credentials (RFC 9110 11.4) is no secret.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9._+-]*) +(\S.*)")
_QUOTED = re.compile(r'[A-Za-z0-9_.-]+ *= *"((?:[^"\\]|\\.)*)"')
_PARAMETER = re.compile(r"[A-Za-z0-9_.-]+=(.*[^=].*)")
_BETWEEN = re.compile(r"[\s,;]+")
_DEEPER = re.compile(r"[/:.@?&]")
# Shorter pieces of paths and tokens are words such as a region or a version.
_SHORTEST_PIECE = 16


def credential_parts(value: str) -> tuple[str, ...]:
    """`value`, and every part of it that may be repeated alone: what follows the scheme, quoted and
    plain parameters, the pair in Basic with both halves, long pieces of tokens."""
    return tuple(dict.fromkeys(part for part in _parts(value.strip()) if part))


def _parts(value: str) -> Iterator[str]:
    yield value
    scheme = _SCHEME.fullmatch(value)
    rest = scheme[2] if scheme else value
    yield rest
    if scheme and scheme[1].lower() == "basic":
        yield from _pair(rest)
    for quoted in _QUOTED.finditer(rest):
        yield re.sub(r"\\(.)", r"\1", quoted[1])
    for word in _BETWEEN.split(rest):
        parameter = _PARAMETER.fullmatch(word)
        text = (parameter[1] if parameter else word).strip("\"'")
        yield text
        yield from (piece for piece in _DEEPER.split(text) if len(piece) >= _SHORTEST_PIECE)


def _pair(encoded: str) -> Iterator[str]:
    """User and password of Basic (RFC 7617), together and each."""
    try:
        pair = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return
    user, _, password = pair.partition(":")
    yield from (pair, user, password)
