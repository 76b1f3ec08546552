"""The commands `target …`, which help to write a target file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from v2_conformance.cli.command import (
    PROGRAM,
    CommandGroup,
    argument,
    command,
    masked_errors,
    option,
    takes,
)
from v2_conformance.cli.options import OF_A_RUN, AccessOptions, target_of
from v2_conformance.errors import UsageError

if TYPE_CHECKING:
    from v2_conformance.runs.matching_models import Matched

_COMMENT = "# "


@dataclass(frozen=True, kw_only=True)
class InitOptions(AccessOptions):
    """`target init`."""

    url: str = argument(help="Base URL of the server, such as http://localhost:8000.")
    models: tuple[str, ...] = option(
        "--model NAME...",
        "Also try this model, for a server that does not list its models. Repeatable.",
    )
    output: Path = option(
        "--output FILE",
        "Write the target file here. A file that is already there is not replaced.",
        default=Path("target.yaml"),
    )


@command(
    "init",
    examples={
        "v2-conformance target init http://localhost:8000": (
            "Write target.yaml for the models that this server lists."
        ),
        "v2-conformance target init https://h.example.com --bearer-env TOKEN --model m": (
            "Also try this model, for a server that lists none."
        ),
    },
    exit_codes={0: "The file was written.", 2: "Wrong usage.", 3: OF_A_RUN[3]},
)
@takes(InitOptions)
def init(options: InitOptions) -> int:
    """Write a target file for a server that can be reached.

    Asks the server for its models, tries each that fits a role of the model contract, and says
    which roles no model plays.
    """
    from v2_conformance.report.files import write_atomically
    from v2_conformance.runs.matching_models import match_models
    from v2_conformance.terminal_safe_text import for_people, plain

    output = options.output
    if output.exists():
        raise UsageError(f"{output} already exists: name another --output, or remove it")
    tested = target_of(options)
    with masked_errors(tested.mask):
        matched = match_models(tested, options.models)
    text = tested.mask.text(_file_text(matched, tested.public_url, options))
    tested.mask.check(text, str(output))
    write_atomically(output, text)
    all_roles = {**matched.present, **matched.absent}
    command = f"{PROGRAM} run --target {output}"
    lines = [f"{output}: models for {len(matched.present)} of {len(all_roles)} roles"]
    if matched.present:
        lines += [f"not found: {role}: {why}" for role, why in matched.absent.items()]
    if not matched.listed and not options.models:
        lines.append("the server lists no models: name yours with --model")
    if matched.present:
        lines.append(f"next: {command}")
    else:
        lines.append(
            f"no model plays a role ({output} says why). To test with a model, whatever it "
            f"computes: {command} --model NAME"
        )
    for line in lines:
        print(for_people(tested.mask.text(plain(line)), "  "))
    return 0


target = CommandGroup(
    "target",
    help="""Write a target file.

    A target file says where a server is, how to get in, and what its models are called.
    """,
    parts={"Commands": {"init": f"{__name__}:init"}},
)


def _file_text(matched: Matched, url: str, options: InitOptions) -> str:
    """Return the target file in YAML. Text from the server is quoted, or printable in a comment."""
    import yaml

    from v2_conformance.runs.matching_models import tensors_differ
    from v2_conformance.suite.causes.base import printable

    document: dict[str, Any] = {"url": url, **_access(options), "models": {}}
    for role, binding in matched.present.items():
        name = unquote(binding.model)
        names = {key: list(tensors) for key, tensors in tensors_differ(binding)}
        document["models"][role] = {"model": name, **names} if names else name
    body = yaml.safe_dump(document, sort_keys=False, width=10_000)
    head = [
        f"{PROGRAM} target init wrote this file for {printable(matched.server, 100)}.",
        "`profiles` and `unsupported` are claims that only you can make: see docs/targets.md.",
    ]
    tail = [f"no model for {role}: {printable(why, 300)}" for role, why in matched.absent.items()]
    lines = [*(_COMMENT + line for line in head), body.rstrip()]
    return "\n".join([*lines, *(_COMMENT + line for line in tail), ""])


def _access(options: InitOptions) -> dict[str, Any]:
    """Return how to get in, as members of the target file. Paths are relative to its folder."""

    def relative(path: Path | None) -> str | None:
        if path is None:
            return None
        return str(path) if path.is_absolute() else os.path.relpath(path, options.output.parent)

    bearer = options.bearer_env and {"bearer": {"env": options.bearer_env}}
    members = {
        "auth": bearer,
        "timeout": options.timeout,
        "verify": False if options.insecure else relative(options.cacert),
        "cert": relative(options.cert),
    }
    return {name: value for name, value in members.items() if value is not None}
