"""Hides secrets in whatever is recorded, printed or logged."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from conformance.datatypes import Buffer

_COOKIE = re.compile(rb"(?im)^((?:set-)?cookie:[ \t]*)([^\r\n]+(?:\r?\n[ \t][^\r\n]*)*)")
_HEADS = re.compile(rb"(?s)(?:HTTP/1\.[01] 1\d\d.*?\r\n\r\n)*.*?(?:\r\n\r\n|\Z)")


@dataclass(frozen=True)
class Mask:
    """Hides secret values in what is recorded; lengths stay, so every offset stays true."""

    secrets: tuple[str, ...] = ()

    def data(self, data: Buffer) -> bytes:
        """Bytes of an exchange without the secrets, and without any cookie's value."""
        masked = bytes(data)
        for secret in self.secrets:
            masked = masked.replace(secret.encode(), b"*" * len(secret.encode()))
        found = _HEADS.match(masked)
        end = found.end() if found else 0
        return _COOKIE.sub(lambda m: m[1] + b"*" * len(m[2]), masked[:end]) + masked[end:]

    def text(self, text: str) -> str:
        """A message without the secrets."""
        for secret in self.secrets:
            # A message quotes what a server sent as printable ASCII.
            for form in (secret, ascii(secret)[1:-1]):
                text = text.replace(form, "*" * len(form))
        return text

    def document(self, value: Any) -> Any:
        """A JSON document without the secrets."""
        if isinstance(value, dict):
            return {self.text(key): self.document(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.document(item) for item in value]
        return self.text(value) if isinstance(value, str) else value
