"""What is secret of a credential, and how encoders write it: a form as a pattern per character."""

from __future__ import annotations

import base64
import contextlib
import re

_SHORT_ESCAPES = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r", '"': '"'}
_BASE64 = rb"[A-Za-z0-9+/_-]"
# As many backslashes as an escape in JSON in JSON in JSON has. Without a bound, a long row of them
# would take time that grows with its square.
_BACKSLASHES = rb"\\{1,8}"
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


def forms(secret: str) -> list[list[bytes]]:
    """Return the forms that are looked for: text with any of its characters escaped, base64 at its
    three alignments, hex.
    """
    raw = secret.encode()
    return [
        [_escaped(part) for part in re.findall(r"(?s)\\+|.", secret)],
        *(_base64(raw, offset) for offset in range(3)),
        [_hex(raw[at : at + 1]) for at in range(len(raw))],
    ]


def _escaped(character: str) -> bytes:
    """Return a character, or a row of backslashes, as it is, or escaped as in JSON (RFC 8259,
    section 7) or a URL (RFC 3986, section 2.1); backslashes may be escaped again.
    """
    raw, units = character.encode(), character.encode("utf-16-be")
    plain = rb"\\{0,8}" + raw if character in "\"'/" else re.escape(raw)
    written = [
        *(rb"\\{%d}" % (times * len(raw)) for times in (8, 4, 2) if character[0] == "\\"),
        plain,
        b"".join(_BACKSLASHES + b"u" + _hex(units[at : at + 2]) for at in range(0, len(units), 2)),
        b"".join(b"%" + _hex(raw[at : at + 1]) for at in range(len(raw))),
    ]
    if character in _SHORT_ESCAPES:
        written.append(_BACKSLASHES + _SHORT_ESCAPES[character].encode())
    if character == " ":
        written.append(rb"\+")
    return b"(?:" + b"|".join(written) + b")"


def _hex(data: bytes) -> bytes:
    """Return the digits of `data`, each in either case."""
    return b"".join(
        b"[%c%c]" % (digit, digit - 32) if digit >= ord("a") else b"%c" % digit
        for digit in data.hex().encode()
    )


def _base64(raw: bytes, offset: int) -> list[bytes]:
    """Return `raw` behind `offset` other bytes, in either alphabet (RFC 4648, sections 4 and 5).
    The characters at its ends, which have bits of the bytes beside it, may be any.
    """
    encoded = base64.b64encode(bytes(offset) + raw).decode()
    first, last = -(-8 * offset // 6), 8 * (offset + len(raw)) // 6
    either = {"+": b"(?:" + _escaped("+") + b"|-)", "/": b"(?:" + _escaped("/") + b"|_)"}
    before = [_BASE64] if offset else []
    behind = [_BASE64 + b"?"] if 8 * (offset + len(raw)) % 6 else []
    return before + [either.get(one, one.encode()) for one in encoded[first:last]] + behind
