"""Keeps declared secrets out of everything that is recorded, printed or logged.

A secret is masked as it is and as common encoders write it: JSON escapes, percent-encoding, base64,
hex. Lengths stay, so offsets in a report stay true. A body that has a secret only once its chunks
or content codings are removed, or whose codings cannot be removed, is withheld whole. Nothing else
is promised: a server can always invent a form that nobody looks for.
"""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple

from v2_conformance.errors import LeakError
from v2_conformance.own_files import own_document, own_names
from v2_conformance.protocol.content_codings import CodingError, decode, known
from v2_conformance.resources import folder
from v2_conformance.wire.messages import MessageSpans, read_messages

WITHHELD = "(body withheld: it may have a secret in another form)"
"""The end of the note of an exchange of which a body is withheld."""

_COOKIES = (b"cookie", b"set-cookie")
_FIELD = rb"(?im)^((?:%b)[ \t]*:[ \t]*)([^\r\n]+(?:\r?\n[ \t][^\r\n]*)*)"
_ENTITIES = ((b"&#34;", b'"'), (b"&#39;", b"'"), (b"&lt;", b"<"), (b"&gt;", b">"), (b"&amp;", b"&"))
_LONGEST_DECODED = 80 << 20
# Shorter values stand in too many innocent places, such as a status.
_SHORTEST = 6
_SHORTEST_NUMBER = 8
MASKED = "*" * _SHORTEST  # the least that hides a secret
# Where a quotation was cut off, perhaps in the middle of an escape.
_CUT = re.compile(rb"[\\%ux0-9a-fA-F]{0,6}['\"]*(?:\xe2\x80\xa6|\.\.\.|\Z)")


class Masked(NamedTuple):
    """Bytes without secrets, and whether a body was withheld."""

    data: bytes
    withheld: bool = False


@dataclass(frozen=True)
class Mask:
    """Hides `secrets` wherever they stand, unless `is_findable` says that they cannot be, and
    values of cookies and of the header `fields`. Lengths stay, so every offset stays true."""

    secrets: tuple[str, ...] = field(default=(), repr=False)
    fields: tuple[str, ...] = ()

    @property
    def hides_anything(self) -> bool:
        """True if there is a secret at all."""
        return bool(self.secrets or self.fields)

    def data(self, data: bytes | bytearray | memoryview, limit: int = _LONGEST_DECODED) -> Masked:
        """Return what was received, without the secrets. A body whose content codings, removed up
        to `limit` bytes, show a secret, or cannot be removed, is withheld: it is all asterisks."""
        raw = bytes(data)
        if not self.hides_anything and b"cookie" not in raw.lower():
            return Masked(raw)
        messages = tuple(read_messages(raw))
        masked = bytearray(self._hidden(self._heads(raw, messages)))
        withheld = False
        for message in messages if self._pattern else ():
            inner = _without_codings(raw, message, limit)
            if inner is None or self._finds(inner):
                withheld = True
                for start, end in message.body:
                    masked[start:end] = b"*" * (end - start)
            limit -= len(inner or b"")  # however many messages there are
        return Masked(bytes(masked), withheld)

    def sent(self, data: bytes | bytearray | memoryview) -> bytes:
        """Return what was sent, without the secrets: the suite's own, so nothing is decoded."""
        raw = bytes(data)
        return self._hidden(self._heads(raw, read_messages(raw))) if self.hides_anything else raw

    def field(self, name: str, value: str) -> tuple[str, str]:
        """Return a header field that is sent, without the secrets."""
        return name, self.sent(f"{name}: {value}".encode()).decode()[len(name) + 2 :]

    def text(self, text: str) -> str:
        """Return a message without the secrets, whole ones or the start of one that is cut off."""
        data = text.encode("utf-8", "surrogatepass")
        return self.excerpt(data).decode("utf-8", "surrogatepass")

    def excerpt(self, data: bytes) -> bytes:
        """Return bytes that may be cut off in the middle of a secret, without what they show."""
        hidden = self._hidden(data)
        masked = bytearray(hidden)
        for beginning, others in self._beginnings:
            for match in beginning.finditer(hidden):
                end = match.end()
                for other in others:
                    more = re.compile(other).match(hidden, end)
                    if more is None:
                        break
                    end = more.end()
                if _CUT.match(hidden, end):
                    masked[match.start() : end] = b"*" * (end - match.start())
        return bytes(masked)

    def check(self, content: str | bytes, what: str) -> None:
        """Raise LeakError if `content`, which is about to be written as `what`, has a secret."""
        data = content.encode("utf-8", "replace") if isinstance(content, str) else content
        for entity, character in _ENTITIES if self._pattern else ():  # a page is full of them
            data = data.replace(entity, character)
        if self._finds(data):
            raise LeakError(
                f"{what} was not written because it would show a secret. This is an error in the "
                "suite: please report it, without the secret"
            )

    @cached_property
    def longest(self) -> int:
        """No form of a secret has more bytes."""
        return 12 * max((len(secret.encode()) for secret in self.secrets), default=0)

    @cached_property
    def _forms(self) -> tuple[list[bytes], ...]:
        secrets = filter(is_findable, dict.fromkeys(self.secrets))
        return tuple(form for secret in secrets for form in forms(secret))

    @cached_property
    def _pattern(self) -> re.Pattern[bytes] | None:
        return re.compile(b"|".join(map(b"".join, self._forms))) if self._forms else None

    @cached_property
    def _beginnings(self) -> list[tuple[re.Pattern[bytes], list[bytes]]]:
        """The first characters of each form, and its others."""
        parted = ((form[:_SHORTEST], form[_SHORTEST:]) for form in self._forms)
        return [(re.compile(b"".join(first)), others) for first, others in parted]

    @cached_property
    def _field(self) -> re.Pattern[bytes]:
        names = (*_COOKIES, *(re.escape(name.encode()) for name in self.fields))
        return re.compile(_FIELD % b"|".join(names))

    def _finds(self, data: bytes) -> bool:
        return self._pattern is not None and self._pattern.search(data) is not None

    def _hidden(self, data: bytes) -> bytes:
        if self._pattern is None:
            return data
        return self._pattern.sub(lambda match: b"*" * len(match[0]), data)

    def _heads(self, data: bytes, messages: Iterable[MessageSpans]) -> bytes:
        masked = bytearray(data)
        for start, end in (span for message in messages for span in message.heads):
            masked[start:end] = self._field.sub(
                lambda field: field[1] + b"*" * len(field[2]), data[start:end]
            )
        return bytes(masked)


class MaskedStream:
    """Output in pieces, without the secrets, in as many bytes; what may begin one is held back."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """Return what can be shown now that `piece` has been read."""
        self._held = self._mask._hidden(self._held + piece)
        ready = max(0, len(self._held) - self._mask.longest)
        shown, self._held = self._held[:ready], self._held[ready:]
        return shown

    def rest(self) -> bytes:
        """Return what was held back, now that the output has ended."""
        return self._mask.excerpt(self._held)


def _without_codings(raw: bytes, message: MessageSpans, limit: int) -> bytes | None:
    """Return the body without chunks and codings, b"" if it has none; None if that fails."""
    if len(message.body) < 2 and not message.codings:
        return b""
    body = b"".join(raw[start:end] for start, end in message.body)
    for name in reversed(message.codings):
        coding = known(name)
        try:
            body = decode(coding, body, limit) if coding else b""
        except CodingError:
            coding = None
        if coding is None:
            return None
    return body


@cache
def _own_words() -> str:
    """Return the text of the suite's cases and schemas: a report is full of them."""
    schemas = (file.read_text("utf-8") for file in sorted(folder("schemas").glob("*.json")))
    return "\n".join((*(str(own_document(name)) for name in own_names()), *schemas)).lower()


def is_findable(secret: str) -> bool:
    """Return True if a secret can be hidden wherever it stands: it is not short, and no word of the
    suite's own, such as `identity_int32`, which reports need."""
    shortest = _SHORTEST_NUMBER if secret.isdigit() else _SHORTEST
    return len(secret) >= shortest and secret.lower() not in _own_words()


def shows_masks(data: bytes) -> bool:
    """Return True if recorded bytes were masked, so that some of what is judged may be missing.
    Cookies, which every report hides, do not count."""
    cookies = re.compile(_FIELD % b"|".join(_COOKIES))
    for message in read_messages(data):
        heads = (cookies.sub(b"", data[start:end]) for start, end in message.heads)
        body = b"".join(data[start:end] for start, end in message.body)
        if any(MASKED.encode() in text for text in (*heads, body)):
            return True
    return False


_SHORT_ESCAPES = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r", '"': '"'}
_BASE64 = rb"[A-Za-z0-9+/_-]"
# As many backslashes as an escape in JSON in JSON in JSON has. Without a bound, a long row of them
# would take time that grows with its square.
_BACKSLASHES = rb"\\{1,8}"
# "Bearer x", "Token token=x": the scheme of credentials (RFC 9110, section 11.4) is not a secret.
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
    parameters, the pair in Basic (RFC 7617) with both halves, long pieces of tokens."""
    scheme = _SCHEME.fullmatch(value.strip())
    rest = scheme[2] if scheme else value.strip()
    parts = [value.strip(), rest]
    if scheme and scheme[1].lower() == "basic":
        with contextlib.suppress(ValueError):  # it is not base64, or not UTF-8
            pair = base64.b64decode(rest, validate=True).decode()
            parts += [pair, *pair.split(":", 1)]
    for quoted, plain in _PART.findall(rest):
        text = re.sub(r"\\(.)", r"\1", quoted) or plain.strip("\"'")
        parts += [text, *(one for one in _DEEPER.split(text) if len(one) >= _SHORTEST_PIECE)]
    return tuple(dict.fromkeys(filter(None, parts)))


def forms(secret: str) -> list[list[bytes]]:
    """Return the forms to look for: text with any character escaped, base64 in three, hex."""
    raw = secret.encode()
    return [
        [_escaped(part) for part in re.findall(r"(?s)\\+|.", secret)],
        *(_base64(raw, offset) for offset in range(3)),
        [_hex(raw[at : at + 1]) for at in range(len(raw))],
    ]


def _escaped(character: str) -> bytes:
    """Return a character, or a row of backslashes, as it is, or escaped as in JSON (RFC 8259,
    section 7) or a URL (RFC 3986, section 2.1); backslashes may be escaped again."""
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
    return b"".join(
        b"[%c%c]" % (digit, digit - 32) if digit >= ord("a") else b"%c" % digit
        for digit in data.hex().encode()
    )


def _base64(raw: bytes, offset: int) -> list[bytes]:
    """Return `raw` after `offset` other bytes, in either alphabet (RFC 4648, sections 4 and 5),
    with any characters at its ends, which have bits of what is beside it."""
    encoded = base64.b64encode(bytes(offset) + raw).decode()
    first, last = -(-8 * offset // 6), 8 * (offset + len(raw)) // 6
    either = {"+": b"(?:" + _escaped("+") + b"|-)", "/": b"(?:" + _escaped("/") + b"|_)"}
    before = [_BASE64] if offset else []
    behind = [_BASE64 + b"?"] if 8 * (offset + len(raw)) % 6 else []
    return before + [either.get(one, one.encode()) for one in encoded[first:last]] + behind
