"""The command `serve`: runs the reference server alone."""

from __future__ import annotations

import os

from v2_conformance.cli.command import command
from v2_conformance.elsewhere import elsewhere
from v2_conformance.errors import UnreachableError
from v2_conformance.options.others import ServeOptions


@command(
    "serve",
    ServeOptions,
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
def serve(options: ServeOptions) -> int:
    """Run the reference server until it is interrupted.

    Its first line of output is `serving on URL`.
    """
    server = elsewhere("server")(options.faults, variants=options.variants, port=options.port)
    try:
        server.start()
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise UnreachableError(
            f"cannot listen on port {options.port}: {reason}; choose another with --port, or a "
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
