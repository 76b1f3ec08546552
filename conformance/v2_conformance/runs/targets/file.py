"""Reads a target file, and says what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from v2_conformance.errors import TargetFileError, UsageError
from v2_conformance.protocol.content_codings import CODINGS
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.protocol.names import PROFILES
from v2_conformance.runs.targets.access import basic, bearer, of_environment, of_file
from v2_conformance.runs.targets.numbers import LONGEST_RUN_S, LONGEST_TIMEOUT_S
from v2_conformance.runs.targets.target import Target, header_problem, is_authorization, limits_of
from v2_conformance.suggestions import did_you_mean
from v2_conformance.suite.choosing.claimed import left_out_problem
from v2_conformance.suite.models import contract
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.response import Limits
from v2_conformance.yaml_files import check_yaml, read_yaml


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
    timeout = document.get("timeout", 1)
    if not 0 < timeout <= LONGEST_TIMEOUT_S:  # NaN is neither
        raise wrong(f"expected at most {LONGEST_TIMEOUT_S:.0f} seconds", "timeout")
    max_time = document.get("max_time", 1)
    if not 0 < max_time <= LONGEST_RUN_S:
        raise wrong(f"expected at most {LONGEST_RUN_S:.0f} seconds", "max_time")
    unsupported = frozenset(document.get("unsupported", ()))
    problem = left_out_problem(unsupported)
    if problem is not None:
        raise wrong(problem, "unsupported")
    known = (*DATATYPES, *CODINGS, *PROFILES)
    for name in sorted(unsupported - set(known)):
        hint = did_you_mean(name, known, f"datatypes and codings are {', '.join(known)}")
        raise wrong(f"{name[:60]!r} is not a datatype, coding or profile: {hint}", "unsupported")
    verify = document.get("verify", True)
    if "key" in document and "cert" not in document:
        raise wrong("it needs `cert`, the certificate that the key belongs to", "key")
    return Target(
        url=document.get("url", ""),
        headers=tuple(headers.items()),
        verify=_beside(path, verify) if isinstance(verify, str) else verify,
        cert=_beside(path, document["cert"]) if "cert" in document else None,
        key=_beside(path, document["key"]) if "key" in document else None,
        authorized=bool(auth),
        limits=limits_of(document["timeout"]) if "timeout" in document else Limits(),
        profiles=tuple(dict.fromkeys(("binary", *document.get("profiles", ())))),
        unsupported=unsupported,
        max_time_s=document.get("max_time"),
        models={r: _binding(wrong, r, entry) for r, entry in document.get("models", {}).items()},
        public=tuple(document.get("public", ())),
        more_secrets=tuple(map(given, document.get("secrets", ()))),
        atol=document.get("atol", 0.0),
    )


_SCHEMES = {"bearer": bearer, "basic": basic}


def _given(folder: Path, value: str | dict[str, str]) -> str:
    """Return a value of a target file in `folder`: text, or the content of the environment variable
    or file it names.
    """
    if isinstance(value, str):
        return value
    return of_environment(value["env"]) if "env" in value else of_file(folder / value["file"])


def _beside(target_file: Path, name: str) -> str:
    """Return a path in a target file, which is relative to that file."""
    return str(target_file.parent / name)


def _binding(
    wrong: Callable[..., TargetFileError], role: str, entry: str | dict[str, Any]
) -> DeployedModel:
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
    return DeployedModel(role, name, names["inputs"], names["outputs"], version, pinned)
