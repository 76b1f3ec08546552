"""Options that several commands share, and how they become a target.

Each stands once, as a member of a dataclass that click fills (see `takes`): the arguments of
`option` are those of click.option, and the member has the type of its value.
"""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from v2_conformance.cli.command import SECONDS_TO_WAIT, option

if TYPE_CHECKING:
    from v2_conformance.runs.targets.target import Target

OF_A_RUN = {
    0: "Conformant, or what --require says; with models of your own, consistent.",
    1: "The verdict is worse, or the extension is not implemented. In a partial run: a case that "
    "blocks the verdict failed.",
    2: "Wrong usage or configuration.",
    3: "The server cannot be reached, the run was stopped, or the suite itself failed.",
    4: "Nothing was tested: --case matches no case, or the server has none of the contract's "
    "models, and none of its own can be tested.",
}
"""Exit codes of a run, with what they mean: other programs rely on them."""
REPORT_HELP = "A report.json, packed with gzip or not, or the report.jsonl of a run."


@dataclass(frozen=True, kw_only=True)
class AccessOptions:
    """Access to a server: credentials, certificates and its time limit."""

    bearer_env: str | None = option(
        "--bearer-env NAME",
        "Send the token in this environment variable as `Authorization: Bearer …`. It is a "
        "secret, like all credentials.",
    )
    timeout: float | None = option(
        "--timeout SECONDS",
        "Time limit for one exchange; long messages on a slow path get more.  [default: 30]",
    )
    cacert: Path | None = option(
        "--cacert FILE",
        "Trust the certificate authorities in this PEM file.  [default: those of the system, "
        "or of SSL_CERT_FILE]",
    )
    cert: Path | None = option(
        "--cert FILE", "Present this client certificate, in PEM, with its private key."
    )
    insecure: bool = option("--insecure", "Do not verify TLS certificates.")


@dataclass(frozen=True, kw_only=True)
class SendingOptions(AccessOptions):
    """Sending to a server that may have to be started, or restarted after it died."""

    headers: tuple[str, ...] = option(
        "--header 'NAME: VALUE'...",
        "Send this header field with every request, such as 'Authorization: Bearer TOKEN'. "
        "Its value is a secret, which no report shows. Repeatable.",
    )
    start_command: str | None = option(
        "--start COMMAND",
        "Start the server with this shell command, wait until it is ready (up to 60 seconds, or "
        "--wait-ready), and stop it after the run. Its output is in server.log beside the report.",
    )
    wait_ready: float | None = option(
        "--wait-ready SECONDS",
        "Time limit for the server to become ready (GET /v2/health/ready) before the first "
        "case, and again after a case has killed it. A restart command that takes longer is ended."
        "  [default: 30 for a server that can be reached, 120 for --restart-command, else 0]",
        type=SECONDS_TO_WAIT,
    )
    restart_command: str | None = option(
        "--restart-command COMMAND",
        "Run this shell command to restart the server after a case has killed it.",
    )


def target_of(options: AccessOptions) -> Target:
    """Return the target that the options, which make_target has as parameters, describe."""
    from v2_conformance.runs.targets.making import make_target

    names = inspect.signature(make_target).parameters
    return make_target(**{n: getattr(options, n) for n in names if hasattr(options, n)})


def server_under_test(
    options: SendingOptions, target: Target, directory: Path
) -> AbstractContextManager[None]:
    """Run the server of --start, if there is one, while the block lasts."""
    from v2_conformance.runs.targets.started import OUTPUT, started_server

    command = options.start_command
    if command is None:
        return nullcontext()
    return started_server(command, target, directory / OUTPUT, options.wait_ready)


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """The gate of CI."""

    require: Literal["conformant", "robust"] = option(
        "--require [conformant|robust]",
        "Exit with 0 only if the verdict is this one. In a partial run: if no case that blocks "
        "it failed. With --expect: if all such failures are known.",
        type=click.Choice(("conformant", "robust")),
        default="conformant",
    )
    strict: bool = option("--strict", "Require robust and no warnings.")


@dataclass(frozen=True, kw_only=True)
class ReportOptions(GateOptions):
    """Handling of a run's report, for servers and clients alike."""

    report_dir: Path = option(
        "--report-dir DIR",
        "Write report.json, report.html and the other report files to this folder.",
        default=Path("reports"),
    )
    expectation_file: Path | None = option(
        "--expect FILE",
        "Compare the results with the known failures in this file (`v2-conformance expect` "
        "writes it) and exit with 1 only if they differ.",
    )
