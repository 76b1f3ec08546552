"""Hides secrets in whatever is recorded, printed or logged."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_COOKIES = ("cookie", "set-cookie")
_VALUE = rb":[ \t]*)([^\r\n]+(?:\r?\n[ \t][^\r\n]*)*)"
# How quotations end that were cut off, some of them Python literals.
_CUTS = ("…", "'…", '"…')
# Shorter values stand in too many innocent places, such as a status line.
_SHORTEST = 6
# The head of a request behind another one's body.
_PIPELINED = re.compile(rb"(?s)POST [!-~]+ HTTP/1\.[01]\r\n.{0,65536}?\r\n\r\n")
_HEADS = re.compile(rb"(?s)(?:HTTP/1\.[01] 1\d\d.*?\r\n\r\n)*.*?(?:\r\n\r\n|\Z)")


@dataclass(frozen=True)
class Mask:
    """Hides secret values in what is recorded; lengths stay, so every offset stays true.

    `secrets` are hidden wherever they stand, unless they are very short; the values of the header
    fields named in `fields`, and of cookies, always.
    """

    secrets: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    @property
    def hides_anything(self) -> bool:
        """Whether there is a secret at all."""
        return bool(self.secrets or self.fields)

    def data(self, data: bytes | bytearray | memoryview) -> bytes:
        """Bytes of an exchange without the secrets."""
        masked = bytes(data)
        for secret in self._long():
            masked = masked.replace(secret.encode(), b"*" * len(secret.encode()))
        found = _HEADS.match(masked)
        end = found.end() if found else 0
        head, body = self._head(masked[:end]), masked[end:]
        return head + _PIPELINED.sub(lambda m: self._head(m[0]), body)

    def _head(self, head: bytes) -> bytes:
        return self._field.sub(lambda m: m[1] + b"*" * len(m[2]), head)

    def field(self, name: str, value: str) -> tuple[str, str]:
        """A header field that is sent, without the secrets."""
        head = self.data(f"{name}: {value}".encode())
        return name, head.decode()[len(name) + 2 :]

    def text(self, text: str) -> str:
        """A message without the secrets."""
        for secret in self._long():
            # A message quotes what a server sent as printable ASCII, and cuts long quotations off.
            for form in (secret, ascii(secret)[1:-1]):
                text = text.replace(form, "*" * len(form))
                for end in range(len(form) - 1, _SHORTEST - 1, -1):
                    for cut in _CUTS:
                        text = text.replace(form[:end] + cut, "*" * end + cut)
        return text

    @cached_property
    def _field(self) -> re.Pattern[bytes]:
        names = b"|".join(re.escape(name.encode()) for name in (*_COOKIES, *self.fields))
        return re.compile(rb"(?im)^((?:" + names + rb")" + _VALUE)

    def _long(self) -> list[str]:
        return [secret for secret in self.secrets if len(secret) >= _SHORTEST]

    def document(self, value: Any) -> Any:
        """A JSON document without the secrets."""
        if isinstance(value, dict):
            return {self.text(key): self.document(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.document(item) for item in value]
        return self.text(value) if isinstance(value, str) else value
