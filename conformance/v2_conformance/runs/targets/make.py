"""Makes a target from options that override a target file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from v2_conformance.errors import UsageError
from v2_conformance.options.kinds import LONGEST_RUN_S, LONGEST_TIMEOUT_S
from v2_conformance.options.targets import TargetOptions
from v2_conformance.runs.targets.access import bearer, of_environment
from v2_conformance.runs.targets.file import load_target
from v2_conformance.runs.targets.target import (
    Target,
    checked_target,
    header_problem,
    is_authorization,
    is_https,
    limits_of,
)


def make_target(url: str | None = None, **words: Any) -> Target:
    """Return the target at `url`. `words` are members of TargetOptions. Raises UsageError."""
    return target_of(TargetOptions(url=url, **words))


def target_of(options: TargetOptions) -> Target:
    """Return the target that the options describe, with their target file for the rest.

    Raises UsageError.
    """
    target = load_target(options.target_file) if options.target_file else Target("")
    if options.url:
        target = replace(target, url=options.url)
    if not target.url:
        raise UsageError("no URL: give one, or put `url` into the target file")
    if options.timeout is not None:
        if not 0 < options.timeout <= LONGEST_TIMEOUT_S:
            raise UsageError(f"the time-out must be from 0 to {LONGEST_TIMEOUT_S:.0f} seconds")
        target = replace(target, limits=limits_of(options.timeout))
    if options.max_time is not None:
        if not 0 < options.max_time <= LONGEST_RUN_S:
            raise UsageError(f"the time of a run must be from 0 to {LONGEST_RUN_S:.0f} seconds")
        target = replace(target, max_time_s=options.max_time)
    target = replace(
        target,
        profiles=tuple(dict.fromkeys((*target.profiles, *options.profiles))),
        headers=(*target.headers, *map(_header, options.headers)),
        more_secrets=(*target.more_secrets, *map(of_environment, options.secret_env)),
    )
    if options.insecure and options.cacert is not None:
        raise UsageError("--insecure checks no certificate: remove it, or --cacert")
    if options.insecure:
        target = replace(target, verify=False)
    target = _with_access(target, options)
    if options.cacert is not None and not is_https(target.url):
        raise UsageError("--cacert needs a URL that begins with https://")
    return checked_target(target)


def _with_access(target: Target, options: TargetOptions) -> Target:
    """Return `target` with the access options applied; it already has their `headers`."""
    if options.cacert is not None:
        target = replace(target, verify=str(options.cacert))
    if options.cert is not None:
        target = replace(target, cert=str(options.cert), key=None)
    if options.bearer_env is None:
        return target
    if any(is_authorization(text.partition(":")[0].strip()) for text in options.headers):
        raise UsageError("credentials are given twice: remove --header Authorization")
    given = bearer(of_environment(options.bearer_env))
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
