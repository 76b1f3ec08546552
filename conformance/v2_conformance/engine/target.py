"""Where the server is, how to get in, and which of its models plays which role."""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from v2_conformance.errors import TargetFileError, UsageError
from v2_conformance.protocol.content_codings import CODINGS
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.redaction import Mask
from v2_conformance.suggestions import did_you_mean
from v2_conformance.suite.cases import Case
from v2_conformance.suite.models import contract
from v2_conformance.suite.requirements import check_profile
from v2_conformance.wire.encode import Address, Binding
from v2_conformance.wire.http1 import Endpoint, Http1Transport
from v2_conformance.wire.transcript import Limits
from v2_conformance.yaml_files import check_yaml, read_yaml

_SECRET_HEADERS = ("auth", "cookie", "token", "key", "secret", "password", "session", "credential")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 5.6.2
_LONGEST_TIMEOUT = 86400.0
_NEEDED = "INT32"  # without it, little but element encoding would be tested


@dataclass(frozen=True)
class Target:
    """A server under test. `models` maps a role to a Binding that differs from the contract's."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    verify: bool | str = True
    limits: Limits = field(default_factory=Limits)
    profiles: tuple[str, ...] = ("binary",)
    unsupported: frozenset[str] = frozenset()
    models: Mapping[str, Binding] = field(default_factory=dict)

    def binding(self, role: str) -> Binding:
        """What this target calls the model in `role` and its tensors."""
        if role in self.models:
            return self.models[role]
        model = contract()[role]
        return Binding(
            role,
            model.model,
            tuple(spec.name for spec in model.inputs),
            tuple(spec.name for spec in model.outputs),
        )

    @property
    def address(self) -> Address:
        """Host, path prefix and header fields of every request."""
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        defaults = [("User-Agent", "v2-conformance"), ("Accept", "*/*")]
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            defaults.append(("Authorization", "Basic " + base64.b64encode(pair.encode()).decode()))
        given = {name.lower(): value for name, value in self.headers}
        host = given.get("host", host)  # a gateway may choose the server by it
        headers = [field for field in defaults if field[0].lower() not in given]
        headers += [field for field in self.headers if field[0].lower() != "host"]
        return Address(host, parts.path.rstrip("/"), tuple(headers), parts.scheme)

    def transport(self) -> Http1Transport:
        """How to connect, with a TLS context for https. Raises UsageError for a bad CA file."""
        parts = urlsplit(self.url)
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        endpoint = Endpoint(parts.hostname or "", port, self._tls() if secure else None)
        return Http1Transport(endpoint, self.limits)

    def _tls(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(
                cafile=self.verify if isinstance(self.verify, str) else None
            )
        except OSError as error:
            raise UsageError(f"cannot read the CA file {self.verify}: {error.strerror}") from error
        if self.verify is False:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    @property
    def public_url(self) -> str:
        """The URL without user, password and query: fit for reports and logs."""
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return parts._replace(netloc=host, query="", fragment="").geturl()

    @property
    def mask(self) -> Mask:
        """What hides this target's secrets."""
        return Mask(self.secrets, tuple(n for n, _ in self.address.headers if _is_secret(n)))

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must never be recorded."""
        parts = urlsplit(self.url)
        found = [unquote(parts.password or ""), parts.password or ""]
        for name, value in self.address.headers:
            if _is_secret(name):
                found += [value, value.partition(" ")[2]]
        return tuple(sorted({s for s in found if len(s) > 2}, key=len, reverse=True))


def _is_secret(field: str) -> bool:
    return any(word in field.lower() for word in _SECRET_HEADERS)


def make_target(
    url: str | None = None,
    *,
    file: Path | None = None,
    profiles: tuple[str, ...] = (),
    headers: tuple[str, ...] = (),
    timeout: float | None = None,
    insecure: bool = False,
) -> Target:
    """A target from the command line's words over a target file's. Raises UsageError."""
    target = load_target(file) if file else Target("")
    if url:
        target = replace(target, url=url)
    if not target.url:
        raise UsageError("no URL: give one, or put `url` into the target file")
    if profiles:
        target = replace(target, profiles=tuple(dict.fromkeys((*target.profiles, *profiles))))
    if timeout is not None:
        if not 0 < timeout <= _LONGEST_TIMEOUT:
            raise UsageError(f"the time-out must be from 0 to {_LONGEST_TIMEOUT:.0f} seconds")
        target = replace(target, limits=_limits(timeout))
    if headers:
        target = replace(target, headers=(*target.headers, *map(_header, headers)))
    if insecure:
        target = replace(target, verify=False)
    return checked_target(target)


def checked_target(target: Target) -> Target:
    """`target`, if its profiles, header fields, URL and CA file can be used. Raises UsageError."""
    for profile in target.profiles:
        check_profile(profile)
    for name, value in target.headers:
        problem = _header_problem(name, value)
        if problem:
            raise UsageError(f"header fields: {problem}")
    _check_url(target.url)
    if target.url.startswith("https:"):
        target.transport()  # reads the CA file, which may be missing
    return target


def load_target(path: Path) -> Target:
    """Read a target file (YAML or JSON). Raises TargetFileError naming the member that is wrong."""
    file = read_yaml(path, TargetFileError)
    if file.document is None:
        return Target("")  # an empty file
    check_yaml(file, "target", TargetFileError, private=("url", "headers"))
    document = file.document

    def wrong(problem: str, *where: str) -> TargetFileError:
        return TargetFileError(f"{path}:{file.line(where)}: {'.'.join(where)}: {problem}")

    for name, value in document.get("headers", {}).items():
        problem = _header_problem(name, value)
        if problem:
            raise wrong(problem, "headers")
    timeout = document.get("timeout", 1)
    if not 0 < timeout <= _LONGEST_TIMEOUT:  # not a number is neither
        raise wrong(f"expected at most {_LONGEST_TIMEOUT:.0f} seconds", "timeout")
    unsupported = frozenset(document.get("unsupported", ()))
    if _NEEDED in unsupported:
        raise wrong(f"{_NEEDED} cannot be left out: most requirements need it", "unsupported")
    for name in sorted(unsupported - DATATYPES.keys() - set(CODINGS)):
        check_profile(name)
    return Target(
        url=document.get("url", ""),
        headers=tuple(document.get("headers", {}).items()),
        verify=document.get("verify", True),
        limits=_limits(document["timeout"]) if "timeout" in document else Limits(),
        profiles=tuple(dict.fromkeys(("binary", *document.get("profiles", ())))),
        unsupported=unsupported,
        models={r: _binding(wrong, r, entry) for r, entry in document.get("models", {}).items()},
    )


def _binding(
    wrong: Callable[..., TargetFileError], role: str, entry: str | dict[str, Any]
) -> Binding:
    model = contract().get(role)
    if model is None:
        hint = did_you_mean(role, contract(), "`v2-conformance list models` lists every role")
        raise wrong(f"unknown role: {hint}", "models", role)
    entry = {"model": entry} if isinstance(entry, str) else entry
    names = {}
    for key, specs in (("inputs", model.inputs), ("outputs", model.outputs)):
        names[key] = tuple(entry.get(key, [spec.name for spec in specs]))
        if len(names[key]) != len(specs):
            raise wrong(f"expected {len(specs)} names, got {len(names[key])}", "models", role, key)
    return Binding(role, quote(entry["model"], safe=""), names["inputs"], names["outputs"])


def _limits(timeout: float) -> Limits:
    return Limits(connect_s=min(timeout, Limits.connect_s), exchange_s=timeout)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon:
        raise UsageError("a header must look like 'Name: value'; there is one without a colon")
    problem = _header_problem(name, value)
    if problem:
        raise UsageError(f"a header must look like 'Name: value': {problem}")
    return name, value


def _header_problem(name: object, value: str) -> str:
    """Why the field cannot be sent, without its value, which may be a secret; "" if it can."""
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        return f"{ascii(name)[:60]} is not a field name"
    if not (value.isascii() and value.isprintable()):
        return f"the value of {name} has characters other than printable ASCII"
    return ""


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        good = good and url.isascii() and url.isprintable() and " " not in url
    except ValueError:
        good = False
    if not good:
        shown = url.rpartition("@")[2]
        raise UsageError(f"{shown!r} is not a URL like http://localhost:8000")
    if parts.query or parts.fragment:
        raise UsageError("the URL must be a base URL without `?`; use --header for a token")


def check_claims(target: Target, cases: Sequence[Case]) -> None:
    """UsageError for a claimed profile that no case tests: no verdict could be about it."""
    tested = {"binary", *(case.profile for case in cases)}
    for profile in target.profiles:
        if profile not in tested:
            raise UsageError(f"this version has no cases for the profile {profile}")
