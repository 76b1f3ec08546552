"""Hides secrets in whatever is recorded, printed or logged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

from v2_conformance.errors import LeakError
from v2_conformance.own_files import own_document, own_names
from v2_conformance.protocol.content_codings import CodingError, decode, known
from v2_conformance.redaction.forms import forms
from v2_conformance.redaction.framing import Message, Span, messages
from v2_conformance.resources import folder
from v2_conformance.wire.messages import read_head

WITHHELD = "(body withheld: it may have a secret in another form)"
"""The end of the note of an exchange of which a body is withheld."""

_COOKIES = ("cookie", "set-cookie")
_VALUE = rb"[ \t]*:[ \t]*)([^\r\n]+(?:\r?\n[ \t][^\r\n]*)*)"
_COOKIE_LINES = re.compile(rb"(?im)^(?:set-)?cookie[ \t]*:[^\r\n]+(?:\r?\n[ \t][^\r\n]*)*")
# The head of a request behind another one's body.
_PIPELINED = re.compile(rb"(?s)POST [!-~]+ HTTP/1\.[01]\r\n.{0,65536}?\r\n\r\n")
_ENTITIES = ((b"&#34;", b'"'), (b"&#39;", b"'"), (b"&lt;", b"<"), (b"&gt;", b">"), (b"&amp;", b"&"))
_LONGEST_DECODED = 80 << 20
# Shorter values stand in too many innocent places, such as a status.
_SHORTEST = 6
_SHORTEST_NUMBER = 8
# Where a quotation was cut off, perhaps in the middle of an escape.
_CUT = re.compile(rb"[\\%ux0-9a-fA-F]{0,6}['\"]*(?:\xe2\x80\xa6|\.\.\.|\Z)")


class Masked(NamedTuple):
    """Bytes without secrets, and whether a body was withheld."""

    data: bytes
    withheld: bool = False


@dataclass(frozen=True)
class Mask:
    """Hides secret values in what is recorded; lengths stay, so every offset stays true.

    `secrets` are hidden wherever they stand, unless `is_findable` says that they cannot be. Values
    of the header fields named in `fields`, and of cookies, are hidden where that field stands.
    """

    secrets: tuple[str, ...] = field(default=(), repr=False)
    fields: tuple[str, ...] = ()

    @property
    def hides_anything(self) -> bool:
        """True if there is a secret at all."""
        return bool(self.secrets or self.fields)

    def data(self, data: bytes | bytearray | memoryview, limit: int = _LONGEST_DECODED) -> Masked:
        """Return what was received in an exchange, without the secrets.

        A body whose content codings, removed up to `limit` bytes, show a secret, or that cannot be
        removed, is withheld: all of it is asterisks.
        """
        raw = bytes(data)
        found = tuple(messages(raw)) if self.hides_anything or _names_cookies(raw) else ()
        masked = self._heads(raw, (span for message in found for span in message.heads))
        if self._pattern is None:
            return Masked(masked)
        masked = self._hidden(masked)
        withheld: list[Span] = []
        for message in found:
            inner = self._without_codings(raw, message, limit)
            if inner is None or self._finds(inner):
                withheld += message.body
            limit -= len(inner or b"")  # however many messages there are
        return Masked(_starred(masked, withheld), bool(withheld))

    def _without_codings(self, raw: bytes, message: Message, limit: int) -> bytes | None:
        """Return the body without its chunks and codings, b"" if it has neither; None if the
        codings cannot be removed."""
        if len(message.body) < 2 and not message.codings:
            return b""
        body = b"".join(raw[start:end] for start, end in message.body)
        for name in reversed(message.codings):
            coding = known(name)
            if coding is None:
                return None
            try:
                body = decode(coding, body, limit)
            except CodingError:
                return None
        return body

    def sent(self, data: bytes | bytearray | memoryview) -> bytes:
        """Return what was sent in an exchange, without the secrets. Except for heads it is the
        suite's own: nothing is decoded."""
        raw = bytes(data)
        if not self.hides_anything:
            return raw
        masked = self._heads(raw, ((0, read_head(raw).end),))
        return self._hidden(_PIPELINED.sub(lambda m: self._head(m[0]), masked))

    def field(self, name: str, value: str) -> tuple[str, str]:
        """Return a header field that is sent, without the secrets."""
        head = self.sent(f"{name}: {value}".encode())
        return name, head.decode()[len(name) + 2 :]

    def text(self, text: str) -> str:
        """Return a message without the secrets, whole ones or the start of one that is cut off."""
        if self._pattern is None:
            return text
        data = text.encode("utf-8", "surrogatepass")
        return self.excerpt(data).decode("utf-8", "surrogatepass")

    def excerpt(self, data: bytes) -> bytes:
        """Return bytes that may be cut off in the middle of a secret, without what they show."""
        masked = self._hidden(data)
        return _starred(masked, self._cut_off(masked))

    def document(self, value: Any) -> Any:
        """Return a JSON document without the secrets."""
        if isinstance(value, dict):
            return {self.text(key): self.document(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.document(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def check(self, content: str | bytes, what: str) -> None:
        """Raise LeakError if `content`, which is about to be written as `what`, has a secret."""
        if self._pattern is None:
            return
        data = content.encode("utf-8", "replace") if isinstance(content, str) else content
        for entity, character in _ENTITIES:  # a page is full of them
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
    def _beginnings(self) -> tuple[tuple[re.Pattern[bytes], list[re.Pattern[bytes]]], ...]:
        """The first characters of each form, and each of its others."""
        return tuple(
            (re.compile(b"".join(form[:_SHORTEST])), [re.compile(one) for one in form[_SHORTEST:]])
            for form in self._forms
        )

    def _finds(self, data: bytes) -> bool:
        return self._pattern is not None and self._pattern.search(data) is not None

    def _hidden(self, data: bytes) -> bytes:
        if self._pattern is None:
            return data
        return self._pattern.sub(lambda found: b"*" * len(found[0]), data)

    def _cut_off(self, data: bytes) -> Iterator[Span]:
        """Yield where a secret begins that a quotation, or the end of `data`, cuts off."""
        for beginning, others in self._beginnings:
            for found in beginning.finditer(data):
                end = found.end()
                for other in others:
                    more = other.match(data, end)
                    if more is None:
                        break
                    end = more.end()
                if _CUT.match(data, end):
                    yield found.start(), end

    def _heads(self, data: bytes, heads: Iterable[Span]) -> bytes:
        """Return `data` with the values of cookies and of `fields` hidden in every head."""
        pieces: list[bytes] = []
        at = 0
        for start, end in heads:
            pieces += (data[at:start], self._head(data[start:end]))
            at = end
        return b"".join((*pieces, data[at:])) if pieces else data

    def _head(self, head: bytes) -> bytes:
        return self._field.sub(lambda m: m[1] + b"*" * len(m[2]), head)

    @cached_property
    def _field(self) -> re.Pattern[bytes]:
        names = b"|".join(re.escape(name.encode()) for name in (*_COOKIES, *self.fields))
        return re.compile(rb"(?im)^((?:" + names + rb")" + _VALUE)


def _starred(data: bytes, spans: Iterable[Span]) -> bytes:
    """Return `data` with asterisks for these spans."""
    result = bytearray(data)
    for start, end in spans:
        result[start:end] = b"*" * (end - start)
    return bytes(result)


class MaskedStream:
    """Output that comes in pieces, without the secrets and in the same number of bytes. What may
    be the start of a secret is held back."""

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
        shown, self._held = self._mask.excerpt(self._held), b""
        return shown


def _names_cookies(data: bytes) -> bool:
    return len(data) > 8192 or b"cookie" in data.lower()  # longer data is faster to read as HTTP


@cache
def _own_words() -> str:
    """The text of the suite's cases and schemas: a report is full of them."""
    schemas = (file.read_text("utf-8") for file in sorted(folder("schemas").glob("*.json")))
    return "\n".join((*(str(own_document(name)) for name in own_names()), *schemas)).lower()


def is_findable(secret: str) -> bool:
    """Return True if a secret can be hidden wherever it stands: it is not short, and no word of the
    suite's own, such as `identity_int32`, without which a report could not be read."""
    if len(secret) < (_SHORTEST_NUMBER if secret.isdigit() else _SHORTEST):
        return False
    return secret.lower() not in _own_words()


def shows_masks(data: bytes) -> bool:
    """Return True if recorded bytes were masked, so that some of what is judged may be missing.
    Cookies, which are hidden in every report, do not count."""
    for message in messages(data):
        heads = (_COOKIE_LINES.sub(b"", data[start:end]) for start, end in message.heads)
        body = b"".join(data[start:end] for start, end in message.body)
        if any(b"*" * _SHORTEST in text for text in (*heads, body)):
            return True
    return False
