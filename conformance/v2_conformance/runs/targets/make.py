"""A target from the command line's words over those of a target file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from v2_conformance.errors import UsageError
from v2_conformance.runs.targets.access import NO_WORDS, Access, of_environment, pace_of
from v2_conformance.runs.targets.file import load_target
from v2_conformance.runs.targets.target import (
    LONGEST_RUN_S,
    LONGEST_TIMEOUT_S,
    Target,
    checked_target,
    header_problem,
    is_authorization,
    is_https,
    limits_of,
)
from v2_conformance.wire.endpoint_bindings import binding_named


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
        target = replace(target, limits=limits_of(timeout))
    if max_time is not None:
        if not 0 < max_time <= LONGEST_RUN_S:
            raise UsageError(f"the time of a run must be from 0 to {LONGEST_RUN_S:.0f} seconds")
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
    if access.cacert is not None and not any(map(is_https, (target.url, through or ""))):
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
    if any(is_authorization(text.partition(":")[0].strip()) for text in headers):
        raise UsageError("credentials are given twice: remove --header Authorization")
    others = tuple(field for field in target.headers if not is_authorization(field[0]))
    return replace(target, headers=(*others, ("Authorization", given)), authorized=True)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon:
        raise UsageError("a header must look like 'Name: value'; there is one without a colon")
    problem = header_problem(name, value)
    if problem:
        raise UsageError(f"a header must look like 'Name: value': {problem}")
    return name, value
