"""Serve a model kit on a real server until interrupted: `deploy.py SERVER [--port N]`.

Run it with the Python of an environment that has the server and v2-conformance.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from servers import SERVERS, ServerFailedError, log_tail


def main() -> int:
    """Start the server, print its URL, and wait."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("server", choices=sorted(SERVERS))
    parser.add_argument("--port", type=int, help="any free port if not given")
    arguments = parser.parse_args()
    # SIGTERM ends it as Ctrl-C does, so that the server never outlives this process.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix=f"v2-conformance-{arguments.server}-") as folder:
        try:
            with SERVERS[arguments.server](Path(folder), port=arguments.port) as url:
                print(url, flush=True)
                # Without a handler pause() would sleep on when the server ends.
                signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
                signal.pause()
                tail = log_tail(Path(folder) / "server.log")
                print(f"the server ended\n{tail}", file=sys.stderr)
                return 1
        except ServerFailedError as error:
            print(error, file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 0


if __name__ == "__main__":
    sys.exit(main())
