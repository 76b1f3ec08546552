"""The commands `target …`: what helps to write a target file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import cloup

from v2_conformance.cli import exit_codes
from v2_conformance.cli.access import ACCESS
from v2_conformance.cli.command import FILE, HELP_SETTINGS, PROGRAM, Command, CommandGroup, seconds
from v2_conformance.errors import UsageError

if TYPE_CHECKING:
    from v2_conformance.runs.matching_models import Matched
    from v2_conformance.runs.targets.access import Access

_COMMENT = "# "


@cloup.group("target", cls=CommandGroup, no_args_is_help=False, context_settings=HELP_SETTINGS)
def target() -> None:
    """Write a target file.

    A target file says where a server is, how to get in, and what its models are called.
    """


@target.command(
    "init",
    cls=Command,
    examples={
        "v2-conformance target init http://localhost:8000": (
            "Write target.yaml for the models that this server lists."
        ),
        "v2-conformance target init https://h.example.com --bearer-env TOKEN --model m": (
            "Try this model, too, for a server that lists none."
        ),
    },
    exit_codes={0: "The file was written.", 2: "Wrong usage.", 3: exit_codes.OF_A_RUN[3]},
)
@cloup.argument("url", help="Base URL of the server, such as http://localhost:8000.")
@cloup.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="Also try this model, for a server that does not list its models. Repeatable.",
)
@cloup.option(
    "--output",
    type=FILE,
    default=Path("target.yaml"),
    metavar="FILE",
    help="Write the target file here. A file that is already there is not replaced.",
)
@cloup.option("--timeout", type=seconds, metavar="SECONDS", help="Time limit for one exchange.")
@cloup.option("--insecure", is_flag=True, help="Do not verify TLS certificates.")
@ACCESS
def init(
    *,
    url: str,
    models: tuple[str, ...],
    output: Path,
    timeout: float | None,
    insecure: bool,
    **access: Any,
) -> int:
    """Write a target file from what a server says of itself.

    Asks the server for its models, asks each that looks right for a role of the model contract to
    echo a request, and says which roles no model plays.
    """
    from v2_conformance.cli.masked_errors import masked_errors
    from v2_conformance.report.files import write_atomically
    from v2_conformance.runs.matching_models import match_models
    from v2_conformance.runs.targets.access import Access
    from v2_conformance.runs.targets.make import make_target
    from v2_conformance.terminal_safe_text import defused, wrapped

    if output.exists():
        raise UsageError(f"{output} is there already: name another --output, or remove it")
    given = Access(**access)
    tested = make_target(url, timeout=timeout, insecure=insecure, access=given)
    with masked_errors(tested.mask):
        found = match_models(tested, models)
    text = _file_text(found, tested.public_url, given, output, timeout, insecure=insecure)
    tested.mask.check(text, str(output))
    write_atomically(output, text)
    lines = [
        f"{output}: models for {len(found.present)} of "
        f"{len(found.present) + len(found.absent)} roles",
        *(f"not found: {role}: {why}" for role, why in found.absent.items()),
    ]
    if not found.listed and not models:
        lines.append("the server lists no models: name yours with --model")
    lines.append(f"next: {PROGRAM} run --target {output}")
    for line in lines:
        for part in wrapped(tested.mask.text(defused(line)), "  "):
            print(part)
    return 0


def _file_text(
    found: Matched,
    url: str,
    access: Access,
    output: Path,
    timeout: float | None,
    *,
    insecure: bool,
) -> str:
    """The target file in YAML. Every text of the server's is quoted, or printable in a comment."""
    import yaml

    from v2_conformance.runs.matching_models import tensors_differ
    from v2_conformance.suite.causes.cause_base import printable

    document: dict[str, Any] = {"url": url}
    if access.host is not None:
        document["host"] = access.host
    for scheme, env, file in (
        ("bearer", access.bearer_env, access.bearer_file),
        ("basic", access.basic_env, access.basic_file),
    ):
        if env is not None:
            document["auth"] = {scheme: {"env": env}}
        if file is not None:
            document["auth"] = {scheme: {"file": _beside(file, output)}}
    if insecure:
        document["verify"] = False
    if access.cacert is not None:
        document["verify"] = _beside(access.cacert, output)
    for name, path in (("cert", access.cert), ("key", access.key)):
        if path is not None:
            document[name] = _beside(path, output)
    if access.rate is not None:
        document["rate"] = access.rate
    if access.http2:
        document["http2"] = True
    if timeout is not None:
        document["timeout"] = timeout
    document["models"] = {}
    for role, binding in found.present.items():
        name = unquote(binding.model)
        names = {key: list(tensors) for key, tensors in tensors_differ(binding)}
        document["models"][role] = {"model": name, **names} if names else name
    body = yaml.safe_dump(document, sort_keys=False, width=10_000)
    head = [
        f"{PROGRAM} target init wrote this file for {printable(found.server, 100)}.",
        "`profiles` and `unsupported` are claims that only you can make: see the README.",
    ]
    tail = [f"no model for {role}: {printable(why, 300)}" for role, why in found.absent.items()]
    lines = [*(_COMMENT + line for line in head), body.rstrip()]
    return "\n".join([*lines, *(_COMMENT + line for line in tail), ""])


def _beside(path: Path, output: Path) -> str:
    """A path as the target file must have it, which is relative to its own folder."""
    return str(path) if path.is_absolute() else os.path.relpath(path, output.parent)
