"""The embedded server, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def embedded_server() -> Iterator[str]:
    """Run `v2-conformance serve` on a free port, and yield its URL."""
    command = [sys.executable, "-m", "v2_conformance", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()  # serving on http://127.0.0.1:40000 (Ctrl-C stops)
            yield next(word for word in line.split() if word.startswith("http"))
        finally:
            process.terminate()
