"""Makes a target from a target file and from what was given to a command, which overrides it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any
from urllib.parse import quote

from v2_conformance.errors import UsageError
from v2_conformance.protocol.content_codings import CODINGS
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.protocol.names import PROFILES
from v2_conformance.runs.targets.access import basic, bearer, of_environment, of_file
from v2_conformance.runs.targets.numbers import LONGEST_RUN_S, LONGEST_TIMEOUT_S
from v2_conformance.runs.targets.target import (
    Target,
    checked_target,
    header_problem,
    is_authorization,
    is_https,
    limits_of,
)
from v2_conformance.suite.choosing import left_out_problem
from v2_conformance.suite.models import ROLE, contract
from v2_conformance.terminal_safe_text import did_you_mean
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.response import Limits
from v2_conformance.yaml_files import check_yaml, read_yaml

_SCHEMES = {"bearer": bearer, "basic": basic}


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
    if timeout is not None and not 0 < timeout <= LONGEST_TIMEOUT_S:
        raise UsageError(f"the time-out must be above 0, at most {LONGEST_TIMEOUT_S:.0f} s")
    if max_time is not None and not 0 < max_time <= LONGEST_RUN_S:
        raise UsageError(f"the time of a run must be above 0, at most {LONGEST_RUN_S:.0f} s")
    verify = target.verify if cacert is None else str(cacert)
    target = replace(
        target,
        limits=target.limits if timeout is None else limits_of(timeout),
        max_time_s=target.max_time_s if max_time is None else max_time,
        verify=False if insecure else verify,
        profiles=tuple(dict.fromkeys((*target.profiles, *profiles))),
        headers=(*target.headers, *map(_header, headers)),
        more_secrets=(*target.more_secrets, *map(of_environment, secret_env)),
    )
    if insecure and cacert is not None:
        raise UsageError("--insecure checks no certificate: remove it, or --cacert")
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


def load_target(path: Path) -> Target:
    """Read a target file (YAML or JSON). Raises UsageError naming the member that is wrong."""
    file = read_yaml(path, UsageError)
    if file.document is None:
        return Target("")  # an empty file
    check_yaml(file, "target", UsageError, private=("url", "headers", "secrets", "auth"))
    document = file.document

    def wrong(problem: str, *where: str) -> UsageError:
        return UsageError(f"{path}:{file.line(where)}: {'.'.join(where)}: {problem}")

    given = partial(_given, path.parent)
    headers = {name: given(value) for name, value in document.get("headers", {}).items()}
    if "host" in document:
        headers = {name: v for name, v in headers.items() if name.lower() != "host"}
        headers["Host"] = document["host"]
    auth = document.get("auth", {})
    for scheme, value in auth.items():
        if any(map(is_authorization, headers)):
            raise wrong("credentials are given twice: remove the header Authorization", "auth")
        try:
            headers["Authorization"] = _SCHEMES[scheme](given(value))
        except UsageError as error:
            raise wrong(str(error), "auth", scheme) from error
    for name, value in headers.items():
        unfit = header_problem(name, value)
        if unfit:
            raise wrong(unfit, "headers")
    unsupported = frozenset(document.get("unsupported", ()))
    problem = left_out_problem(unsupported)
    if problem is not None:
        raise wrong(problem, "unsupported")
    known = (*DATATYPES, *CODINGS, *PROFILES)
    for name in sorted(unsupported - set(known)):
        hint = did_you_mean(name, known, f"datatypes and codings are {', '.join(known)}")
        raise wrong(f"{name[:60]!r} is not a datatype, coding or profile: {hint}", "unsupported")
    models = document.get("models", {}).items()
    verify = document.get("verify", True)
    if isinstance(verify, str):
        verify = str(path.parent / verify)
    cert, key = (
        str(path.parent / document[name]) if name in document else None for name in ("cert", "key")
    )
    return Target(
        url=document.get("url", ""),
        headers=tuple(headers.items()),
        verify=verify,
        cert=cert,
        key=key,
        authorized=bool(auth),
        limits=limits_of(document["timeout"]) if "timeout" in document else Limits(),
        profiles=tuple(dict.fromkeys(("binary", *document.get("profiles", ())))),
        unsupported=unsupported,
        max_time_s=document.get("max_time"),
        models={one.role: one for one in starmap(partial(_binding, wrong), models)},
        public=tuple(document.get("public", ())),
        more_secrets=tuple(map(given, document.get("secrets", ()))),
        atol=document.get("atol", 0.0),
    )


def _given(folder: Path, value: str | dict[str, str]) -> str:
    """Return a value of a target file: text, or what is in the variable or file that it names."""
    if isinstance(value, str):
        return value
    return of_environment(value["env"]) if "env" in value else of_file(folder / value["file"])


def _binding(
    wrong: Callable[..., UsageError], role: str, entry: str | dict[str, Any]
) -> DeployedModel:
    entry = {"model": entry} if isinstance(entry, str) else entry
    names = {key: tuple(entry.get(key, ())) for key in ("inputs", "outputs")}
    model = contract().get(role)
    if model is None and not role.startswith(ROLE):
        hint = did_you_mean(role, contract(), "`v2-conformance list models` lists every role")
        raise wrong(f"unknown role: {hint}", "models", role)
    for key, specs in (("inputs", model.inputs), ("outputs", model.outputs)) if model else ():
        names[key] = names[key] or tuple(spec.name for spec in specs)
        if len(names[key]) != len(specs):
            raise wrong(f"expected {len(specs)} names, got {len(names[key])}", "models", role, key)
    version = entry.get("version")
    pinned = version is not None
    version = quote(str(version), safe="") if pinned else None
    name = quote(entry.get("model", role.removeprefix(ROLE)), safe="")
    role = role if model else ROLE + name
    parameters = entry.get("parameters", {})
    tensors = (names["inputs"], names["outputs"])
    return DeployedModel(role, name, *tensors, version, pinned, parameters=parameters)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon:
        raise UsageError("a header must look like 'Name: value'; there is one without a colon")
    problem = header_problem(name, value)
    if problem:
        raise UsageError(f"a header must look like 'Name: value': {problem}")
    return name, value
