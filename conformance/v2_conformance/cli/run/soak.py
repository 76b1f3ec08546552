"""The options `--soak` and `--pid`: minutes under load after the cases of a run."""

from __future__ import annotations

import ipaddress
import socket
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click
import cloup

from v2_conformance.errors import UsageError

if TYPE_CHECKING:
    from v2_conformance.runs.soak.soaking import Load
    from v2_conformance.runs.targets.target import Target

_MOST_MINUTES = 7 * 24 * 60


def _minutes(value: str) -> float:
    """A type of option: minutes, more than none, and at most a week of them."""
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number <= _MOST_MINUTES:
        raise click.BadParameter(
            f"expected minutes, more than 0 and at most {_MOST_MINUTES}, got {value!r}"
        )
    return number


OPTIONS = cloup.option_group(
    "Load",
    cloup.option(
        "--soak",
        "soak_minutes",
        type=_minutes,
        metavar="MINUTES",
        help="After the cases, send them mixed on many connections (-n, here 16 by default) for so "
        "many minutes, such as 10 or 0.5, and judge every answer. Ctrl-C ends it early and keeps "
        "what it has.",
    ),
    cloup.option(
        "--pid",
        type=click.IntRange(min=1),
        metavar="PID",
        help="With --soak: watch memory, open files and threads of this process and those that it "
        "has started, to find leaks. With --start it is known already.",
    ),
)


def check_load(
    minutes: float | None, pid: int | None, url_given: bool, unfit: tuple[str, ...]
) -> None:
    """Raise UsageError if the options do not fit together; `unfit` are others that were given."""
    if minutes is None:
        if pid is not None:
            raise UsageError("--pid is watched during a soak: add --soak MINUTES")
        return
    if pid is not None and not url_given:
        raise UsageError("--pid needs the URL of that server: the embedded one is this process")
    if unfit:
        raise UsageError(f"--soak puts load on one server after one whole run: remove {unfit[0]}")
    if pid is not None:
        from v2_conformance.runs.soak.processes import ProcessWatch

        ProcessWatch(pid)


def load_of(
    minutes: float | None, pid: int | None, started: int | None, workers: int | None, target: Target
) -> Load | None:
    """The soak that was asked for; `started` is the process of --start. What may be wrong with the
    process is said on standard error."""
    if minutes is None:
        return None
    from v2_conformance.runs.soak.processes import ProcessWatch
    from v2_conformance.runs.soak.soaking import CONNECTIONS, Load

    if pid is not None and not _is_here(target.url):
        _say(f"--pid {pid} is a process of this machine, but {target.public_url} may not be on it")
    watched = pid or started
    try:
        missing = () if watched is None else ProcessWatch(watched).unreadable()
    except UsageError as error:
        if pid is not None:
            raise
        _say(str(error))
        watched = None
    else:
        if missing:
            _say(
                f"the {' and '.join(missing)} of process {watched} cannot be read: run as its user"
            )
    return Load(minutes * 60, workers or CONNECTIONS, watched)


def show(words: str) -> None:
    """Tell what a soak does."""
    print(words, file=sys.stderr, flush=True)


def _say(words: str) -> None:
    print(f"v2-conformance: {words}", file=sys.stderr)


def _is_here(url: str) -> bool:
    """Whether a URL is that of this machine, as far as names tell."""
    host = urlsplit(url).hostname or ""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
        own = {str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None)}
    except OSError:
        return False
    return all(ipaddress.ip_address(one.split("%")[0]).is_loopback or one in own for one in found)
