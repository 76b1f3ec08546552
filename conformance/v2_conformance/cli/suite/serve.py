"""The command `serve`: runs the reference server alone."""

from __future__ import annotations

import os

import click

from v2_conformance.cli.command import Checked, command
from v2_conformance.elsewhere import elsewhere
from v2_conformance.errors import UnreachableError
from v2_conformance.runs.targets.numbers import whole_number


@command(
    "serve",
    examples={
        "v2-conformance serve --port 0 --fault response-header-length-short": (
            "Run a broken server on a free port."
        ),
        "v2-conformance serve --variant chunked-responses --variant json-indented": (
            "Run a right server that does two things in another legal way."
        ),
    },
    exit_codes={
        0: "Stopped with Ctrl-C, or ended by a fault.",
        2: "Wrong usage.",
        3: "Cannot listen on the port.",
    },
)
@click.option(
    "--port",
    type=Checked("PORT", whole_number(least=0, most=2**16 - 1)),
    default=8000,
    help="Listen on this port of 127.0.0.1; 0 chooses a free one.",
)
@click.option(
    "--fault",
    "faults",
    metavar="NAME",
    multiple=True,
    help="Break the server in this way; `v2-conformance list faults` lists the names. Repeatable.",
)
@click.option(
    "--variant",
    "variants",
    metavar="NAME",
    multiple=True,
    help="Make the server behave in this way, which is also legal; `v2-conformance list variants` "
    "lists the names. Repeatable.",
)
def serve(port: int, faults: tuple[str, ...], variants: tuple[str, ...]) -> int:
    """Run the reference server until it is interrupted.

    Its first line of output is `serving on URL`.
    """
    server = elsewhere("server")(faults, variants=variants, port=port)
    try:
        server.start()
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise UnreachableError(
            f"cannot listen on port {port}: {reason}; choose another with --port, or a "
            "free one with --port 0"
        ) from error
    try:
        print(f"serving on {server.url} (Ctrl-C stops)", flush=True)
        server.wait()  # a fault may end it, too
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()
    return 0
