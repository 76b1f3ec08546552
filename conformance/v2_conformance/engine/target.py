"""Where the server is, how to get in, and which of its models plays which role."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from v2_conformance.engine.access import (
    NO_WORDS,
    Access,
    basic,
    bearer,
    of_environment,
    of_file,
    pace_of,
    tls_context,
)
from v2_conformance.errors import TargetFileError, UsageError
from v2_conformance.protocol.content_codings import CODINGS
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.protocol.names import PROFILES
from v2_conformance.redaction import Mask, credential_parts, is_findable
from v2_conformance.suggestions import did_you_mean
from v2_conformance.suite.cases import Case
from v2_conformance.suite.claimed import claims_problem, left_out_problem
from v2_conformance.suite.models import contract
from v2_conformance.suite.requirements import check_profile
from v2_conformance.wire.encode import Address, Binding
from v2_conformance.wire.endpoint_bindings import EndpointBinding, binding_named
from v2_conformance.wire.http1 import Http1Transport
from v2_conformance.wire.pace import Pace
from v2_conformance.wire.sockets import Endpoint
from v2_conformance.wire.transcript import Limits
from v2_conformance.yaml_files import check_yaml, read_yaml

if TYPE_CHECKING:
    from v2_conformance.wire.http2 import Http2Transport

_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 5.6.2
LONGEST_TIMEOUT_S = 86400.0
_LONGEST_RUN = 30 * 86400.0


@dataclass(frozen=True)
class Target:
    """A server under test. `models` maps a role to a Binding that differs from the contract's.

    The values of `headers` are secrets, but for those of the fields named in `public`;
    `more_secrets` are others that must not be recorded either. `max_time_s` is how long a run may
    take, None for what suits its plan and the time limit. `cert` and `key` are the client's own
    certificate. What `authorized` it must stay secret: Authorization cannot be public then. All
    requests of a run keep to one `pace`. `endpoint` is the binding of an endpoint that takes V2
    messages in another envelope. With `http2` requests go over HTTP/2: over TLS as ALPN says, else
    by prior knowledge.
    """

    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    verify: bool | str = True
    limits: Limits = field(default_factory=Limits)
    profiles: tuple[str, ...] = ("binary",)
    unsupported: frozenset[str] = frozenset()
    models: Mapping[str, Binding] = field(default_factory=dict)
    max_time_s: float | None = None
    public: tuple[str, ...] = ()
    more_secrets: tuple[str, ...] = field(default=(), repr=False)
    cert: str | None = None
    key: str | None = None
    authorized: bool = False
    pace: Pace | None = field(default=None, compare=False)
    endpoint: EndpointBinding | None = None
    http2: bool = False

    @property
    def rate(self) -> float | None:
        """The most requests per second, None without a limit."""
        return None if self.pace is None else self.pace.rate

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
        return Address(
            host, parts.path.rstrip("/"), tuple(headers), parts.scheme, self.endpoint, self.http2
        )

    def transport(self) -> Http1Transport | Http2Transport:
        """How to connect, with a TLS context for https. Raises UsageError for a bad certificate."""
        parts = urlsplit(self.url)
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        tls = tls_context(self.verify, self.cert, self.key) if secure else None
        place = Endpoint(parts.hostname or "", port, tls)
        if not self.http2:
            return Http1Transport(place, self.limits, self.pace, self.endpoint)
        # Here, for it takes its time to load.
        from v2_conformance.wire.http2 import Http2Transport, offer_http2

        offer_http2(tls)
        return Http2Transport(place, self.limits, self.pace)

    @property
    def public_url(self) -> str:
        """The URL without user, password and query, and without a secret in its path: fit for
        reports and logs."""
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return self.mask.text(parts._replace(netloc=host, query="", fragment="").geturl())

    @cached_property
    def mask(self) -> Mask:
        """What hides this target's secrets."""
        fields = self._secret_fields
        short = tuple((name, value) for name, value in fields if not is_findable(value))
        return Mask(self.secrets, tuple(dict.fromkeys(name for name, _ in fields)), short)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must never be recorded, the longest first."""
        parts_of_url = urlsplit(self.url)
        user = [parts_of_url.password or "", parts_of_url.username or "", parts_of_url.query]
        found = [*self.more_secrets, *user, *map(unquote, user)]
        found += [part for _, value in self._secret_fields for part in credential_parts(value)]
        found += [part for proxy in _PROXIES for part in _userinfo(os.environ.get(proxy, ""))]
        return tuple(sorted({s for s in found if len(s) > 2}, key=len, reverse=True))

    @property
    def hidden_beside_fields(self) -> bool:
        """Whether something else than values of header fields is hidden."""
        return bool(self.more_secrets)

    @property
    def _secret_fields(self) -> tuple[tuple[str, str], ...]:
        """The header fields that the user gave, but for public ones; Host says where it goes."""
        public = {"host", *(name.lower() for name in self.public)}
        given = {name.lower() for name, _ in self.headers} | {"authorization"}
        return tuple(
            (name, value)
            for name, value in self.address.headers
            if value and name.lower() in given - public
        )


def _userinfo(url: str) -> tuple[str, ...]:
    """User and password of a URL, as they are in it and as they are meant."""
    try:
        parsed = urlsplit(url)
    except ValueError:
        return ()
    found = [parsed.password or "", parsed.username or ""]
    return (*found, *map(unquote, found))


def make_target(
    url: str | None = None,
    *,
    file: Path | None = None,
    profiles: tuple[str, ...] = (),
    headers: tuple[str, ...] = (),
    public: tuple[str, ...] = (),
    secrets: tuple[str, ...] = (),
    secret_env: tuple[str, ...] = (),
    timeout: float | None = None,
    max_time: float | None = None,
    insecure: bool = False,
    access: Access = NO_WORDS,
    binding: str | None = None,
    through: str | None = None,
) -> Target:
    """A target from the command line's words over a target file's. Raises UsageError.

    `through` is the URL of a gateway, to which the same words apply.
    """
    target = load_target(file) if file else Target("")
    if url:
        target = replace(target, url=url)
    if not target.url:
        raise UsageError("no URL: give one, or put `url` into the target file")
    if profiles:
        target = replace(target, profiles=tuple(dict.fromkeys((*target.profiles, *profiles))))
    if timeout is not None:
        if not 0 < timeout <= LONGEST_TIMEOUT_S:
            raise UsageError(f"the time-out must be from 0 to {LONGEST_TIMEOUT_S:.0f} seconds")
        target = replace(target, limits=_limits(timeout))
    if max_time is not None:
        if not 0 < max_time <= _LONGEST_RUN:
            raise UsageError(f"the time of a run must be from 0 to {_LONGEST_RUN:.0f} seconds")
        target = replace(target, max_time_s=max_time)
    if headers:
        target = replace(target, headers=(*target.headers, *map(_header, headers)))
    if public:
        target = replace(target, public=(*target.public, *public))
    if secrets or secret_env:
        more = (*target.more_secrets, *secrets, *map(of_environment, secret_env))
        target = replace(target, more_secrets=more)
    if binding is not None:
        target = replace(target, endpoint=binding_named(binding))
    if insecure and access.cacert is not None:
        raise UsageError("--insecure checks no certificate: remove it, or --cacert")
    if insecure:
        target = replace(target, verify=False)
    target = _with_access(target, access, headers)
    if access.cacert is not None and not any(map(_secure, (target.url, through or ""))):
        raise UsageError("--cacert needs a URL that begins with https://")
    return checked_target(target)


def _with_access(target: Target, access: Access, headers: tuple[str, ...]) -> Target:
    """`target` with the command line's words on how to get in; it has its `headers` already."""
    if access.host is not None:
        others = tuple(field for field in target.headers if field[0].lower() != "host")
        target = replace(target, headers=(*others, ("Host", access.host)))
    if access.cacert is not None:
        target = replace(target, verify=str(access.cacert))
    if access.key is not None and access.cert is None:
        raise UsageError("--key needs --cert: the certificate that the key belongs to")
    if access.cert is not None:
        key = None if access.key is None else str(access.key)
        target = replace(target, cert=str(access.cert), key=key)
    if access.rate is not None:
        target = replace(target, pace=pace_of(access.rate))
    if access.http2:
        target = replace(target, http2=True)
    given = access.authorization()
    if given is None:
        return target
    if any(_is_authorization(text.partition(":")[0].strip()) for text in headers):
        raise UsageError("credentials are given twice: remove --header Authorization")
    others = tuple(field for field in target.headers if not _is_authorization(field[0]))
    return replace(target, headers=(*others, ("Authorization", given)), authorized=True)


def _secure(url: str) -> bool:
    return url.lower().startswith("https:")


def _is_authorization(name: str) -> bool:
    return name.lower() == "authorization"


def checked_target(target: Target) -> Target:
    """`target`, if its profiles, header fields, URL and CA file can be used. Raises UsageError."""
    for profile in target.profiles:
        check_profile(profile)
    contradiction = claims_problem(target.profiles, target.unsupported)
    if contradiction is not None:
        raise UsageError(contradiction)
    for name, value in target.headers:
        problem = _header_problem(name, value)
        if problem:
            raise UsageError(f"header fields: {problem}")
    _check_url(target.url)
    if target.endpoint is not None and not target.endpoint.versions:
        pinned = next((role for role, model in target.models.items() if model.pinned), None)
        if pinned is not None:
            raise UsageError(
                f"the model for {pinned} has a version, which the binding {target.endpoint.name} "
                "has no place for: remove it"
            )
    if target.endpoint is not None and target.http2:
        raise UsageError(
            f"the binding {target.endpoint.name} is one of HTTP/1.1: remove it, or --http2 "
            "(`http2` of a target file)"
        )
    if target.cert is not None and not _secure(target.url):
        raise UsageError("a client certificate needs a URL that begins with https://")
    if target.authorized and any(map(_is_authorization, target.public)):
        raise UsageError("credentials are always secret: Authorization cannot be public")
    _check_secrets(target)
    if _secure(target.url):
        target.transport()  # reads the files of certificates, which may be missing
    return target


def load_target(path: Path) -> Target:
    """Read a target file (YAML or JSON). Raises TargetFileError naming the member that is wrong."""
    file = read_yaml(path, TargetFileError)
    if file.document is None:
        return Target("")  # an empty file
    check_yaml(file, "target", TargetFileError, private=("url", "headers", "secrets", "auth"))
    document = file.document

    def wrong(problem: str, *where: str) -> TargetFileError:
        return TargetFileError(f"{path}:{file.line(where)}: {'.'.join(where)}: {problem}")

    given = partial(_given, path.parent)
    headers = {name: given(value) for name, value in document.get("headers", {}).items()}
    if "host" in document:
        headers = {name: v for name, v in headers.items() if name.lower() != "host"}
        headers["Host"] = document["host"]
    auth = document.get("auth", {})
    for scheme, value in auth.items():
        if any(map(_is_authorization, headers)):
            raise wrong("credentials are given twice: remove the header Authorization", "auth")
        try:
            headers["Authorization"] = _SCHEMES[scheme](given(value))
        except UsageError as error:
            raise wrong(str(error), "auth", scheme) from error
    for name, value in headers.items():
        header_problem = _header_problem(name, value)
        if header_problem:
            raise wrong(header_problem, "headers")
    timeout = document.get("timeout", 1)
    if not 0 < timeout <= LONGEST_TIMEOUT_S:  # not a number is neither
        raise wrong(f"expected at most {LONGEST_TIMEOUT_S:.0f} seconds", "timeout")
    max_time = document.get("max_time", 1)
    if not 0 < max_time <= _LONGEST_RUN:
        raise wrong(f"expected at most {_LONGEST_RUN:.0f} seconds", "max_time")
    unsupported = frozenset(document.get("unsupported", ()))
    problem = left_out_problem(unsupported)
    if problem is not None:
        raise wrong(problem, "unsupported")
    known = (*DATATYPES, *CODINGS, *PROFILES)
    for name in sorted(unsupported - set(known)):
        hint = did_you_mean(name, known, f"datatypes and codings are {', '.join(known)}")
        raise wrong(f"{name[:60]!r} is no datatype, coding or profile: {hint}", "unsupported")
    verify = document.get("verify", True)
    if "key" in document and "cert" not in document:
        raise wrong("it needs `cert`, the certificate that the key belongs to", "key")
    try:
        pace = pace_of(document["rate"]) if "rate" in document else None
    except UsageError as error:
        raise wrong(str(error), "rate") from error
    return Target(
        url=document.get("url", ""),
        headers=tuple(headers.items()),
        verify=_beside(path, verify) if isinstance(verify, str) else verify,
        cert=_beside(path, document["cert"]) if "cert" in document else None,
        key=_beside(path, document["key"]) if "key" in document else None,
        authorized=bool(auth),
        pace=pace,
        http2=document.get("http2", False),
        limits=_limits(document["timeout"]) if "timeout" in document else Limits(),
        profiles=tuple(dict.fromkeys(("binary", *document.get("profiles", ())))),
        unsupported=unsupported,
        max_time_s=document.get("max_time"),
        endpoint=binding_named(document["binding"]) if "binding" in document else None,
        models={r: _binding(wrong, r, entry) for r, entry in document.get("models", {}).items()},
        public=tuple(document.get("public", ())),
        more_secrets=tuple(map(given, document.get("secrets", ()))),
    )


_SCHEMES = {"bearer": bearer, "basic": basic}


def _given(folder: Path, value: str | dict[str, str]) -> str:
    """A value of a target file in `folder`: text, or the environment variable or the file that has
    it."""
    if isinstance(value, str):
        return value
    return of_environment(value["env"]) if "env" in value else of_file(folder / value["file"])


def _beside(target_file: Path, name: str) -> str:
    """A path in a target file, which is relative to that file."""
    return str(target_file.parent / name)


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
    version = entry.get("version")
    pinned = version is not None
    version = quote(str(version), safe="") if pinned else None
    name = quote(entry["model"], safe="")
    return Binding(role, name, names["inputs"], names["outputs"], version, pinned)


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
        shown = _without_secrets(url)
        raise UsageError(f"{shown!r} is not a URL like http://localhost:8000")
    if parts.query or parts.fragment:
        raise UsageError("the URL must be a base URL without `?`; use --header for a token")


def _without_secrets(url: str) -> str:
    """A URL that is wrong, without what may be user, password or token in it."""
    shown = re.split("[?#]", url.rpartition("@")[2])[0]
    return re.sub(r"(:)(?!//)(?![0-9]{1,5}(?:/|$)).*", r"\1…", shown)


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
                "number), or a word that stands in every report; leave it out, or choose another"
            )


def check_claims(target: Target, cases: Sequence[Case]) -> None:
    """UsageError for a claimed profile that no case tests: no verdict could be about it."""
    tested = {"binary", *(case.profile for case in cases)}
    for profile in target.profiles:
        if profile not in tested:
            hint = ": `v2-conformance client` tests clients" if profile == "client" else ""
            raise UsageError(f"this version has no cases for the profile {profile}{hint}")
