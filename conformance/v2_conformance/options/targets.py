"""Options that say where a server is and how to access it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from v2_conformance.options.kinds import seconds_of_a_run
from v2_conformance.options.rows import flag, of_plugin, option, repeated

_RUN = ("run",)
_SENDING = ("run", "replay")


@dataclass(frozen=True, kw_only=True)
class AccessOptions:
    """Access to a server: credentials and certificates."""

    SECTION: ClassVar = "Access"

    bearer_env: str | None = option(
        "--bearer-env NAME",
        "Send the token in this environment variable as `Authorization: Bearer …`. It is a "
        "secret, like all credentials.",
        pytest="bearer authentication with the token in this environment variable",
        member="auth.bearer.env",
    )
    cacert: Path | None = option(
        "--cacert FILE",
        "Trust the certificate authorities in this PEM file.",
        shown="those of the system, or of SSL_CERT_FILE",
        pytest="certificate authorities to trust (PEM)",
        member="verify",
    )
    cert: Path | None = option(
        "--cert FILE",
        "Present this client certificate, in PEM, with its private key.",
        pytest="the client's certificate (PEM)",
        member="cert",
    )


@dataclass(frozen=True, kw_only=True)
class TargetOptions(AccessOptions):
    """Where a server is. None leaves the choice to the target file."""

    SECTION: ClassVar = "Target"

    url: str | None = of_plugin("--url URL", "server under test; enables the suite", member="url")
    target_file: Path | None = option(
        "--target FILE",
        "Read the URL, profiles, header fields, time limit and model names from this YAML or JSON "
        "file. Options on the command line add to it or override it.",
        on=_RUN,
        pytest="target file (YAML or JSON)",
    )
    profiles: tuple[str, ...] = repeated(
        "--profile NAME",
        "Claim a profile besides binary: raw, compression, compression-responses or bf16.",
        on=_RUN,
        pytest="claim this profile besides binary",
        member="profiles",
    )
    headers: tuple[str, ...] = repeated(
        "--header 'NAME: VALUE'",
        "Send this header field with every request, such as 'Authorization: Bearer TOKEN'. Its "
        "value is a secret, which no report shows.",
        on=_SENDING,
        pytest="send this header field with every request",
        member="headers",
    )
    secret_env: tuple[str, ...] = repeated(
        "--secret-env NAME",
        "Another value to hide in every report: that of this environment variable.",
        on=_RUN,
        pytest="hide the value of this environment variable in every report",
        member="secrets",
    )
    timeout: float | None = option(
        "--timeout SECONDS",
        "Time limit for one exchange.",
        shown="30",
        pytest="seconds for one exchange",
        member="timeout",
    )
    max_time: float | None = option(
        "--max-time SECONDS",
        "Time limit for the whole run. The cases that are left then do not run, and the run is "
        "incomplete.",
        kind=seconds_of_a_run,
        shown="a tenth of --timeout for each case, and twenty times --timeout; at least 10 minutes",
        on=_RUN,
        pytest="seconds for the whole run",
        member="max_time",
    )
    wait_ready: float | None = option(
        "--wait-ready SECONDS",
        "Time limit for the server to become ready (GET /v2/health/ready) before the first case, "
        "and again after a case has killed it. A restart command that takes longer is ended.",
        shown="30 for a server that can be reached, 120 for --restart-command, else 0",
        on=_SENDING,
        pytest="seconds for the server to become ready",
    )
    start_command: str | None = option(
        "--start COMMAND",
        "Start the server with this shell command, wait until it is ready (--wait-ready, here 60 "
        "by default), and end it at the end. What it prints is in server.log beside the report.",
        on=_SENDING,
    )
    insecure: bool = flag(
        "--insecure",
        "Do not verify TLS certificates.",
        pytest="do not verify TLS certificates",
        member="verify",
    )

    @property
    def names_server(self) -> bool:
        """Return True if a server is named; otherwise the embedded one is meant."""
        return self.url is not None or self.target_file is not None
