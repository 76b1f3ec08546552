"""The target of a run: where the server is, how to access it, and which model plays which role."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import unquote, urlsplit

from v2_conformance.errors import UsageError
from v2_conformance.protocol.names import TOKEN
from v2_conformance.redaction import Mask, credential_parts, is_findable
from v2_conformance.runs.targets.access import basic, tls_context
from v2_conformance.suite.choosing import claims_problem
from v2_conformance.suite.models import contract
from v2_conformance.suite.requirements import check_profile
from v2_conformance.wire.connection import Http1Connection
from v2_conformance.wire.encode.deployment import Address, DeployedModel
from v2_conformance.wire.response import Limits
from v2_conformance.wire.sockets import SocketAddress
from v2_conformance.wire.transport import Connection

_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_WITHOUT_SCHEME = re.compile("[A-Za-z0-9.-]+(:[0-9]{1,5})?")
_TOKEN = re.compile(TOKEN)


@dataclass(frozen=True)
class Target:
    """A server under test. `models` maps a role to a model that differs from the contract's.

    The values of `headers` are secret, except for the fields named in `public`; `more_secrets` are
    others that must not be recorded either. `max_time_s` is how long a run may take, None to derive
    it from the plan and the time limit. `cert` and `key` are the client's own certificate. If
    `authorized`, Authorization cannot be public. Values of requests follow from the `seed`; None
    for those that are written in the cases. `generated` is how many requests are drawn besides
    those of M7's file. Floats of models with unknown answers may differ by `atol`.
    """

    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    verify: bool | str = True
    limits: Limits = field(default_factory=Limits)
    profiles: tuple[str, ...] = ("binary",)
    unsupported: frozenset[str] = frozenset()
    models: Mapping[str, DeployedModel] = field(default_factory=dict)
    max_time_s: float | None = None
    public: tuple[str, ...] = ()
    more_secrets: tuple[str, ...] = field(default=(), repr=False)
    cert: str | None = None
    key: str | None = None
    authorized: bool = False
    seed: int | None = None
    generated: int = 0
    atol: float = 0.0

    def binding(self, role: str) -> DeployedModel:
        """Return what this target calls the model in `role` and its tensors."""
        if role in self.models:
            return self.models[role]
        model = contract()[role]
        return DeployedModel(
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
            defaults.append(("Authorization", basic(pair)))
        given = {name.lower(): value for name, value in self.headers}
        host = given.get("host", host)  # a gateway may route by it
        headers = [field for field in defaults if field[0].lower() not in given]
        headers += [field for field in self.headers if field[0].lower() != "host"]
        prefix = parts.path.rstrip("/")
        return Address(host, prefix, tuple(headers), parts.scheme, self.seed)

    @cached_property
    def place(self) -> SocketAddress:
        """Where to connect, over TLS for https. Raises UsageError for a bad certificate."""
        parts = urlsplit(self.url)
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        tls = tls_context(self.verify, self.cert, self.key) if secure else None
        return SocketAddress(parts.hostname or "", port, tls)

    def connection(self) -> Connection:
        """Return a new connection; its first exchange opens it. Any thread may call this."""
        return Http1Connection(self.place, self.limits)

    @property
    def public_url(self) -> str:
        """The URL without user, password, query, and secrets in its path: safe to show."""
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return self.mask.text(parts._replace(netloc=host, query="", fragment="").geturl())

    @cached_property
    def mask(self) -> Mask:
        """The mask that hides this target's secrets."""
        return Mask(self.secrets, tuple(dict.fromkeys(name for name, _ in self._secret_fields)))

    @property
    def hidden_in_place(self) -> tuple[str, ...]:
        """Header fields whose values, too short or too common, are hidden only there."""
        short = (name for name, value in self._secret_fields if not is_findable(value))
        return tuple(dict.fromkeys(short))

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must never be recorded, longest first."""
        query = urlsplit(self.url).query
        values = [*self.more_secrets, *_userinfo(self.url), query, unquote(query)]
        values += [part for _, value in self._secret_fields for part in credential_parts(value)]
        values += [part for proxy in _PROXIES for part in _userinfo(os.environ.get(proxy, ""))]
        return tuple(sorted({s for s in values if len(s) > 2}, key=len, reverse=True))

    @property
    def _secret_fields(self) -> tuple[tuple[str, str], ...]:
        """The header fields that the user gave, except for public ones and Host."""
        public = {"host", *(name.lower() for name in self.public)}
        given = {name.lower() for name, _ in self.headers} | {"authorization"}
        return tuple(
            (name, value)
            for name, value in self.address.headers
            if value and name.lower() in given - public
        )


def _userinfo(url: str) -> tuple[str, ...]:
    try:
        parsed = urlsplit(url)
    except ValueError:
        return ()
    values = [parsed.password or "", parsed.username or ""]
    return (*values, *map(unquote, values))


def is_https(url: str) -> bool:
    """Return True if the URL asks for TLS."""
    return url.lower().startswith("https:")


def is_authorization(name: str) -> bool:
    """Return True if a header field is the one that has credentials."""
    return name.lower() == "authorization"


def checked_target(target: Target) -> Target:
    """Return `target` if all that it has can be used. Raises UsageError."""
    for profile in target.profiles:
        check_profile(profile)
    contradiction = claims_problem(target.profiles, target.unsupported)
    if contradiction is not None:
        raise UsageError(contradiction)
    for name, value in target.headers:
        problem = header_problem(name, value)
        if problem:
            raise UsageError(f"header fields: {problem}")
    check_url(target.url)
    if target.cert is not None and not is_https(target.url):
        raise UsageError("a client certificate needs a URL that begins with https://")
    if target.authorized and any(map(is_authorization, target.public)):
        raise UsageError("credentials are always secret: Authorization cannot be public")
    _check_secrets(target)
    _ = target.place  # reads the certificate files, which may be missing
    return target


def limits_of(timeout: float) -> Limits:
    """Return the limits of an exchange that may take `timeout` seconds."""
    return Limits(connect_s=min(timeout, Limits.connect_s), exchange_s=timeout)


def header_problem(name: object, value: str) -> str:
    """Return why the field cannot be sent, "" if it can; never its value, maybe a secret."""
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        return f"{ascii(name)[:60]} is not a field name"
    if not (value.isascii() and value.isprintable()):
        return f"the value of {name} has characters other than printable ASCII"
    return ""


def check_url(url: str) -> None:
    """Raise UsageError unless `url` is the base URL of a server."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        good = good and url.isascii() and url.isprintable() and " " not in url
    except ValueError:
        good = False
    if not good:
        place = re.sub("^:?([1-6]?[0-9]{1,4})$", r"localhost:\1", url)
        meant = f": did you mean http://{place}?" if _WITHOUT_SCHEME.fullmatch(place) else ""
        meant = ": remove the white space" if url.split() != [url] else meant
        # Without what may be user, password or token in it.
        shown = re.split("[?#]", url.rpartition("@")[2])[0]
        shown = re.sub(r"(:)(?!//)(?![0-9]{1,5}(?:/|$)).*", r"\1…", shown)
        raise UsageError(f"{shown!r} is not a URL like http://localhost:8000{meant}")
    if parts.query or parts.fragment:
        raise UsageError("the URL must be a base URL without `?` and `#`; use --header for a token")


def _check_secrets(target: Target) -> None:
    sent = {name.lower() for name, _ in (*target.address.headers, ("Host", ""))}
    for name in target.public:
        if name.lower() not in sent:
            raise UsageError(
                f"{ascii(name)[1:-1]} is marked as public, but no header field of that name is sent"
            )
    for number, secret in enumerate(target.more_secrets, 1):
        if not is_findable(secret):
            raise UsageError(
                f"secret {number} cannot be hidden: it is shorter than 6 characters (8, if it is a "
                "number), or a word that is in every report; leave it out, or choose another"
            )
