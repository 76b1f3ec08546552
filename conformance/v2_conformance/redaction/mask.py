"""Hides secrets in whatever is recorded, printed or logged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from v2_conformance.errors import LeakError
from v2_conformance.redaction.coded_bodies import coded_again, decoded, is_coded, unreadable
from v2_conformance.redaction.common_words import is_common
from v2_conformance.redaction.forms import is_plain_number, needles
from v2_conformance.redaction.fragments import before_cuts, of_an_excerpt
from v2_conformance.redaction.framing import Message, messages
from v2_conformance.redaction.needles import SHORTEST, Needle, squeezed
from v2_conformance.redaction.numbers import DECIMAL, raw_forms, raw_texts
from v2_conformance.redaction.search import Needles, find, halves, merged
from v2_conformance.redaction.unescaping import Span
from v2_conformance.wire.messages import read_head

_COOKIES = ("cookie", "set-cookie")
_COOKIE = b"cookie"  # stands in both
_VALUE = rb"[ \t]*:[ \t]*)([^\r\n]+(?:\r?\n[ \t][^\r\n]*)*)"
# The head of a request behind another one's body.
_PIPELINED = re.compile(rb"(?s)POST [!-~]+ HTTP/1\.[01]\r\n.{0,65536}?\r\n\r\n")
_LONGEST_DECODED = 80 << 20
_ROUNDS = 3
_SHORTEST_DIGITS = 8
# Bytes in which a cookie is looked for at once: cutting longer ones into messages takes less time.
_SHORT = 8192
_ENTITIES = ((b"&#34;", b'"'), (b"&#39;", b"'"), (b"&lt;", b"<"), (b"&gt;", b">"), (b"&amp;", b"&"))
_REST_OF_NUMBER = re.compile(rb"[0-9]{0,40}(?:\.[0-9]{1,40})?(?:[eE]\+?[0-9]{1,3})?")
_NUMBER = re.compile(rb"[0-9]+(?:\.[0-9]+)?(?:[eE]\+?[0-9]+)?")
# Whatever has this is no list of numbers.
_NO_LIST = re.compile(rb"[A-DF-Za-df-z]|[0-9]{11}")
_MASKED = re.compile(rb"\*{6}|(?:\b42[^0-9A-Za-z]{1,40}){5}\b42\b")
_COOKIE_LINES = re.compile(rb"(?im)^(?:set-)?cookie[ \t]*:[^\r\n]+(?:\r?\n[ \t][^\r\n]*)*")
_LINE_END = re.compile(rb"\r?\n[ \t]*|\r")


@dataclass(frozen=True)
class Mask:
    """Hides secret values in what is recorded; lengths stay, so every offset stays true.

    `secrets` are hidden wherever they stand and in every form that a reader can undo, unless they
    are very short or words of the suite itself. So is half of a long one or more, from its start or
    up to its end. The others, and all values of the header fields named in `fields`, are hidden
    where that field stands; `named` are such fields with their values, which are hidden where both
    stand together. Values of cookies are hidden always.
    """

    secrets: tuple[str, ...] = field(default=(), repr=False)
    fields: tuple[str, ...] = ()
    named: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    words: bytes = field(default=b"", repr=False)

    def beside(self, words: Iterable[str]) -> Mask:
        """The mask for a report in which `words` of the suite's stand, which are no secrets."""
        return replace(
            self, words=b"\n".join(squeezed(w.encode("utf-8", "replace")).lower() for w in words)
        )

    @property
    def hides_anything(self) -> bool:
        """True if there is a secret at all."""
        return bool(self.secrets or self.fields)

    def data(self, data: bytes | bytearray | memoryview, limit: int = _LONGEST_DECODED) -> bytes:
        """Return what was received in an exchange, without the secrets.

        A body in a content coding may decode to `limit` bytes; if it has a secret, it is coded
        again.
        """
        raw = bytes(data)
        if self._shows_nothing(raw):
            return raw
        found = tuple(messages(raw))  # masks leave all of it where it is
        masked = self._heads(raw, (span for message in found for span in message.heads))
        if not self._needles:
            return masked
        for _ in range(_ROUNDS):
            before = masked
            masked = self._everywhere(self._bodies(masked, found, limit), found)
            if masked == before:
                return masked
        return self._blank(masked, found)

    def sent(self, data: bytes | bytearray | memoryview) -> bytes:
        """Return what was sent in an exchange, without the secrets. It is the suite's own except
        for heads: nothing is decoded."""
        raw = bytes(data)
        if self._shows_nothing(raw):
            return raw
        masked = self._heads(raw, ((0, read_head(raw).end),))
        masked = _PIPELINED.sub(lambda m: self._head(m[0]), masked)
        return self._everywhere(masked, parts=False) if self._needles else masked

    def _shows_nothing(self, data: bytes) -> bool:
        """Return True if `data` is short, and has nothing to be hidden wherever its heads are:
        there is no secret, and the name of each field of cookies would have to stand there."""
        hides_cookies_alone = not self.fields and not self._needles
        return hides_cookies_alone and len(data) <= _SHORT and _COOKIE not in data.lower()

    def field(self, name: str, value: str) -> tuple[str, str]:
        """A header field that is sent, without the secrets."""
        head = self.sent(f"{name}: {value}".encode())
        return name, head.decode()[len(name) + 2 :]

    def text(self, text: str) -> str:
        """A message without the secrets, or the parts of them that a quotation shows."""
        if not self._needles or not text:
            return text
        data = text.encode("utf-8", "surrogatepass")
        spans = self._in_text(data)
        return _hidden(data, spans).decode("utf-8", "surrogatepass") if spans else text

    def excerpt(self, data: bytes) -> bytes:
        """Bytes that may begin and end in the middle of a secret, without what they show of it."""
        if not self._needles:
            return data
        spans = [*self._in_text(data), *of_an_excerpt(data, self._needles)]
        return _hidden(data, spans)

    def _in_text(self, data: bytes) -> list[Span]:
        """The secrets in a text, and the parts of them that a quotation in it shows."""
        return [*find(data, self._needles, parts=True), *before_cuts(data, self._needles)]

    def document(self, value: Any) -> Any:
        """A JSON document without the secrets."""
        if isinstance(value, dict):
            return {self.text(key): self.document(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.document(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def check(self, content: str | bytes, what: str) -> None:
        """Raise LeakError if `content`, which is about to be written as `what`, has a secret."""
        if not self._needles:
            return
        data = content.encode("utf-8", "replace") if isinstance(content, str) else content
        for entity, character in _ENTITIES:  # a page is full of them
            data = data.replace(entity, character)
        found = find(data, self._needles)
        if found:
            raise LeakError(
                f"{what} was not written: it would show a secret ({found[0].form}), which is an "
                "error in the suite; please report it, without the secret"
            )

    @cached_property
    def too_common(self) -> tuple[str, ...]:
        """Names of the fields whose values are hidden only where the field stands."""
        return tuple(dict.fromkeys(name for name, _ in self.named))

    @cached_property
    def _needles(self) -> Needles:
        made: dict[Needle, None] = {}
        raw: list[bytes] = []
        secrets = [secret for secret in dict.fromkeys(self.secrets) if is_findable(secret)]
        for secret in secrets:
            # Every form of the whole has that of the part, and looking for each takes time.
            whole = any(part in secret for part in secrets if part != secret)
            forms = needles(secret)[:1] if whole else needles(secret)
            made.update(dict.fromkeys(forms))
            raw += raw_forms(secret)
            if len(squeezed(secret.encode())) < SHORTEST or is_plain_number(secret):
                raw.append(secret.encode())
            if not secret.isascii() or not squeezed(secret.encode()):
                raw += raw_texts(secret)
        for name, value in self.named:
            for needle in needles(value, name):
                made[needle] = None
        kept = [n for n in made if n.shown or not self._is_common(n.text.lower())]
        parted = (n for n in kept if self._has_halves(n))
        long = (one for one in dict.fromkeys(raw) if len(one) >= SHORTEST)
        return Needles(tuple(kept), tuple(long), frozenset(parted))

    def _has_halves(self, needle: Needle) -> bool:
        found = halves(needle)
        return bool(found) and not any(self._is_common(half.lower()) for half in found)

    def _is_common(self, letters: bytes) -> bool:
        return not letters.isdigit() and (letters in self.words or is_common(letters))

    def _heads(self, data: bytes, heads: Iterable[tuple[int, int]]) -> bytes:
        """The values of cookies and of `fields` hidden in every head."""
        result = data
        for start, end in heads:
            head = self._head(data[start:end])
            if head != data[start:end]:
                result = result[:start] + head + result[end:]
        return result

    def _head(self, head: bytes) -> bytes:
        return self._field.sub(lambda m: m[1] + b"*" * len(m[2]), head)

    @cached_property
    def _field(self) -> re.Pattern[bytes]:
        names = b"|".join(re.escape(name.encode()) for name in (*_COOKIES, *self.fields))
        return re.compile(rb"(?im)^((?:" + names + rb")" + _VALUE)

    def _everywhere(
        self, data: bytes, found: Iterable[Message] = (), *, parts: bool = True
    ) -> bytes:
        spans = find(data, self._needles, parts=parts)
        if not spans:
            return data
        return _hidden(data, spans, [size for message in found for size in message.sizes])

    def _bodies(self, data: bytes, found: Iterable[Message], limit: int) -> bytes:
        """`data` with the bodies masked that show a secret without their framing or coding."""
        result = None
        for message in found:
            several = len(message.body) > 1
            if not (several or message.codings or is_coded(data, message.body)):
                continue
            body = b"".join(data[start:end] for start, end in message.body)
            masked = self._everywhere(body) if several else body
            masked = self._decoded(masked, message.codings, limit)
            if masked == body:
                continue
            result = bytearray(data) if result is None else result
            at = 0
            for start, end in message.body:
                result[start:end] = masked[at : at + end - start]
                at += end - start
        return data if result is None else bytes(result)

    def _decoded(self, body: bytes, codings: tuple[str, ...], limit: int, depth: int = 3) -> bytes:
        """A body masked as its content coding lets it be read, to a `depth` of several."""
        if unreadable(codings):
            return b"*" * len(body)
        inner = decoded(body, codings, limit) if depth else None
        if inner is None:
            return body
        text = self._everywhere(inner.text)
        text = self._decoded(text, codings[:-1], limit, depth - 1)
        if text == inner.text and not inner.more:
            return body
        again = None
        if inner.clean and inner.wbits is not None:
            again = coded_again(text, inner.wbits, len(body))
        return b"*" * len(body) if again is None else again

    def _blank(self, data: bytes, found: Iterable[Message]) -> bytes:
        """Every body hidden: the last resort."""
        result = bytearray(data)
        for message in found:
            for start, end in message.body:
                result[start:end] = b"*" * (end - start)
        return self._everywhere(bytes(result))


def is_findable(secret: str) -> bool:
    """Return True if a secret can be hidden wherever it stands: it is neither short nor a common
    word."""
    letters = squeezed(secret.encode()).lower()
    if is_plain_number(secret):
        return len(letters) >= _SHORTEST_DIGITS
    common = secret.isascii() and len(letters) >= SHORTEST and is_common(letters)
    return len(secret) >= SHORTEST and not common


def shows_masks(data: bytes, limit: int = _LONGEST_DECODED) -> bool:
    """Return True if what a report has of the received bytes was masked: some of what is judged may
    be.

    Cookies do not count, which are hidden in every report.
    """
    for message in messages(data):
        heads = (_COOKIE_LINES.sub(b"", data[start:end]) for start, end in message.heads)
        body = b"".join(data[start:end] for start, end in message.body)
        inner = decoded(body, message.codings, limit)
        if any(_MASKED.search(text) for text in (*heads, body, inner.text if inner else b"")):
            return True
    return False


def _hidden(data: bytes, spans: Iterable[Span], kept: Iterable[tuple[int, int]] = ()) -> bytes:
    """`data` with asterisks for the spans, except for ends of lines and what is `kept`."""
    result = bytearray(data)
    for start, end, form in merged(spans):
        rest = _REST_OF_NUMBER.match(data, end) if form == DECIMAL else None
        end = end if rest is None else rest.end()
        result[start:end] = b"".join(_asterisks(data[start:end], form))
    for start, end in kept:
        result[start:end] = data[start:end]
    return bytes(result)


def _asterisks(shown: bytes, form: str) -> Iterator[bytes]:
    """As many bytes, with the ends of lines as they are, since heads and chunks end with them."""
    if form == DECIMAL and not _NO_LIST.search(shown):  # it stays one: 42 is the asterisk
        yield _NUMBER.sub(lambda m: b"42".ljust(len(m[0]))[: len(m[0])], shown)
        return
    at = 0
    for line_end in _LINE_END.finditer(shown):
        yield b"*" * (line_end.start() - at)
        yield line_end[0]
        at = line_end.end()
    yield b"*" * (len(shown) - at)
