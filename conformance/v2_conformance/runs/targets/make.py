"""Makes a target from what was given to a command, which overrides a target file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from v2_conformance.errors import UsageError
from v2_conformance.runs.targets.access import bearer, of_environment
from v2_conformance.runs.targets.file import load_target
from v2_conformance.runs.targets.numbers import LONGEST_RUN_S, LONGEST_TIMEOUT_S
from v2_conformance.runs.targets.target import (
    Target,
    checked_target,
    header_problem,
    is_authorization,
    is_https,
    limits_of,
)


def make_target(
    url: str | None = None,
    *,
    target_file: Path | None = None,
    profiles: Iterable[str] = (),
    headers: Sequence[str] = (),
    bearer_env: str | None = None,
    secret_env: Iterable[str] = (),
    timeout: float | None = None,
    max_time: float | None = None,
    cacert: Path | None = None,
    cert: Path | None = None,
    insecure: bool = False,
) -> Target:
    """Return the target at `url`, with the target file for what is not given.

    `headers` are texts such as "Name: value", `secret_env` and `bearer_env` names of environment
    variables, times in seconds. Raises UsageError.
    """
    target = load_target(target_file) if target_file else Target("")
    if url:
        target = replace(target, url=url)
    if not target.url:
        raise UsageError("no URL: give one, or put `url` into the target file")
    if timeout is not None:
        if not 0 < timeout <= LONGEST_TIMEOUT_S:
            raise UsageError(f"the time-out must be from 0 to {LONGEST_TIMEOUT_S:.0f} seconds")
        target = replace(target, limits=limits_of(timeout))
    if max_time is not None:
        if not 0 < max_time <= LONGEST_RUN_S:
            raise UsageError(f"the time of a run must be from 0 to {LONGEST_RUN_S:.0f} seconds")
        target = replace(target, max_time_s=max_time)
    target = replace(
        target,
        profiles=tuple(dict.fromkeys((*target.profiles, *profiles))),
        headers=(*target.headers, *map(_header, headers)),
        more_secrets=(*target.more_secrets, *map(of_environment, secret_env)),
    )
    if insecure and cacert is not None:
        raise UsageError("--insecure checks no certificate: remove it, or --cacert")
    if insecure:
        target = replace(target, verify=False)
    if cacert is not None:
        target = replace(target, verify=str(cacert))
    if cert is not None:
        target = replace(target, cert=str(cert), key=None)
    if bearer_env is not None:
        if any(is_authorization(text.partition(":")[0].strip()) for text in headers):
            raise UsageError("credentials are given twice: remove --header Authorization")
        given = bearer(of_environment(bearer_env))
        others = tuple(field for field in target.headers if not is_authorization(field[0]))
        target = replace(target, headers=(*others, ("Authorization", given)), authorized=True)
    if cacert is not None and not is_https(target.url):
        raise UsageError("--cacert needs a URL that begins with https://")
    return checked_target(target)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon:
        raise UsageError("a header must look like 'Name: value'; there is one without a colon")
    problem = header_problem(name, value)
    if problem:
        raise UsageError(f"a header must look like 'Name: value': {problem}")
    return name, value
