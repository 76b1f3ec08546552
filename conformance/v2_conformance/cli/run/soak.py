"""`run --soak`: minutes under load after the cases of a run."""

from __future__ import annotations

import ipaddress
import socket
import sys
from urllib.parse import urlsplit

from v2_conformance.errors import UsageError
from v2_conformance.options.runs import RunOptions
from v2_conformance.runs.soak.processes import ProcessWatch
from v2_conformance.runs.soak.soaking import CONNECTIONS, Load
from v2_conformance.runs.targets.target import Target


def load_of(options: RunOptions, leader: int | None, target: Target) -> Load | None:
    """Return the requested soak. `leader` is the process of --start. Problems with the watched
    process are printed on standard error.
    """
    if options.soak_minutes is None:
        return None
    pid = options.pid
    if pid is not None and not _is_here(target.url):
        _say(f"--pid {pid} is a process of this machine, but {target.public_url} may not be on it")
    watched = pid or leader
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
    return Load(options.soak_minutes * 60, options.workers or CONNECTIONS, watched)


def show(words: str) -> None:
    """Show what a soak is doing."""
    print(words, file=sys.stderr, flush=True)


def _say(words: str) -> None:
    print(f"v2-conformance: {words}", file=sys.stderr)


def _is_here(url: str) -> bool:
    """Return True if a URL names this machine, as far as names tell."""
    host = urlsplit(url).hostname or ""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
        own = {str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None)}
    except OSError:
        return False
    return all(ipaddress.ip_address(one.split("%")[0]).is_loopback or one in own for one in found)
