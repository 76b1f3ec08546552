"""OpenSSH's allowed signers files (ssh-keygen(1), ALLOWED SIGNERS): who may sign what, and when."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from v2_conformance.bounded_files import read_bounded
from v2_conformance.errors import UsageError
from v2_conformance.terminal_safe_text import matches

_LARGEST = 1 << 20
_LONGEST = 256  # keeps every pattern quick to match
_FIELDS = re.compile(r'(?:[^\s"]|"[^"]*")+')
_OPTIONS = re.compile(r'(?:[^,"]|"[^"]*")+')
_KEY_TYPE = re.compile(r"(?:ssh|ecdsa|sk-ssh|sk-ecdsa|rsa)-[!-~]+")
_TIME = re.compile(r"([0-9]{8})(?:([0-9]{4})([0-9]{2})?)?(Z?)", re.IGNORECASE)


@dataclass(frozen=True)
class AllowedSigner:
    """A line of the file. Its key is valid from `after` to `before`, in what `namespaces` match."""

    principals: str
    public_key: bytes
    authority: bool = False
    namespaces: str | None = None
    after: datetime | None = None
    before: datetime | None = None

    def problem(self, namespace: str, now: datetime) -> str | None:
        """Return why a signature in `namespace` does not count `now`, None if it does."""
        if self.authority:
            return "certificate authorities (cert-authority) are not supported"
        if self.namespaces is not None and not matches_list(namespace, self.namespaces):
            return f"its key may not sign in the namespace {namespace}"
        if self.after is not None and now < self.after:
            return f"its key is not valid before {_shown(self.after)}"
        if self.before is not None and now > self.before:
            return f"its key has not been valid since {_shown(self.before)}"
        return None


def read_allowed_signers(path: Path) -> list[AllowedSigner]:
    """Return every line of an allowed signers file. Raises UsageError naming the wrong line."""
    data = read_bounded(path, _LARGEST, UsageError)
    found = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found.append(_signer(line))
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {error}") from error
    return found


def _signer(line: str) -> AllowedSigner:
    """Parse a line. Raises ValueError."""
    fields = _FIELDS.findall(line)
    if len(fields) > 1 and not _KEY_TYPE.fullmatch(fields[1]):
        principals, options, *key = fields
    else:
        options = ""
        principals, *key = fields
    if len(key) < 2 or not _KEY_TYPE.fullmatch(key[0]):
        raise ValueError("expected principals, options if any, the type of a key, and the key")
    try:
        public_key = base64.b64decode(key[1], validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("the key is not base64") from error
    given = dict(_options(options))
    return AllowedSigner(
        principals.strip('"'),
        public_key,
        "cert-authority" in given,
        given.get("namespaces"),
        _time(given.get("valid-after")),
        _time(given.get("valid-before")),
    )


def _options(text: str) -> Iterator[tuple[str, str]]:
    for option in _OPTIONS.findall(text):
        name, equals, value = option.partition("=")
        name = name.lower()
        if name == "cert-authority" and not equals:
            yield name, ""
        elif name in ("namespaces", "valid-after", "valid-before") and equals:
            yield name, value.strip('"')
        else:
            raise ValueError(f"unknown option {name[:40]!a}")


def _time(text: str | None) -> datetime | None:
    """Parse a time as OpenSSH writes it, YYYYMMDD[HHMM[SS]][Z]: local time without Z."""
    if text is None:
        return None
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"expected a time such as 20301231 or 20301231235959Z, got {text[:40]!a}")
    day, minutes, seconds, zone = found.groups()
    moment = datetime.strptime(f"{day}{minutes or '0000'}{seconds or '00'}", "%Y%m%d%H%M%S")
    return moment.replace(tzinfo=timezone.utc) if zone else moment.astimezone()


def _shown(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).isoformat(sep=" ", timespec="seconds")


def matches_list(text: str, patterns: str) -> bool:
    """Return True if OpenSSH's pattern list matches: some pattern does, and none that begins with
    "!".
    """
    found = False
    for pattern in patterns.split(","):
        negated = pattern.startswith("!")
        if len(pattern) <= _LONGEST and matches(text, pattern.removeprefix("!")):
            if negated:
                return False
            found = True
    return found
