"""The parts of a credential that are secret by themselves, wherever a server repeats them."""

from __future__ import annotations

import base64
import contextlib
import re

# "Bearer x", "Token token=x": the scheme of credentials (RFC 9110, section 11.4) is no secret.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9._+-]*) +(\S.*)")
# Neither is the name of a parameter, whose value may be quoted.
_PART = re.compile(
    r'(?:[A-Za-z0-9_.-]+(?: *= *(?=")|=(?=[^\s,;]*[^\s,;=])))?(?:"((?:[^"\\]|\\.)*)"|([^\s,;]+))'
)
_DEEPER = re.compile(r"[/:.@?&]")
# Shorter pieces of paths and tokens are words such as a region or a version.
_SHORTEST_PIECE = 16


def credential_parts(value: str) -> tuple[str, ...]:
    """Return `value`, and every part of it that may be repeated alone: what follows the scheme,
    quoted and plain parameters, the pair in Basic (RFC 7617) with both halves, long pieces of
    tokens.
    """
    scheme = _SCHEME.fullmatch(value.strip())
    rest = scheme[2] if scheme else value.strip()
    parts = [value.strip(), rest]
    if scheme and scheme[1].lower() == "basic":
        with contextlib.suppress(ValueError):  # what is no base64, or no text in UTF-8
            pair = base64.b64decode(rest, validate=True).decode()
            parts += [pair, *pair.split(":", 1)]
    for quoted, plain in _PART.findall(rest):
        text = re.sub(r"\\(.)", r"\1", quoted) or plain.strip("\"'")
        parts += [text, *(one for one in _DEEPER.split(text) if len(one) >= _SHORTEST_PIECE)]
    return tuple(dict.fromkeys(filter(None, parts)))
