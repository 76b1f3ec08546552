"""Runs the user's command that restarts a server."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack

from v2_conformance.child_processes import signal_group
from v2_conformance.redaction import Mask

_LONGEST = 1 << 20


def restart(command: str, mask: Mask, within_s: float) -> None:
    """Run a shell command and wait for it. If it does not return in time, or the run is
    interrupted, it is ended with its process group. If there are secrets, its output so far is
    shown on standard error without them.

    It prints into a file, not a pipe, because a server that it leaves in the background outlives
    the run.
    """
    with ExitStack() as stack:
        output = stack.enter_context(tempfile.TemporaryFile()) if mask.hides_anything else None
        process = subprocess.Popen(
            command,
            shell=True,
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(within_s)
        except subprocess.TimeoutExpired:
            print(
                f"the restart command did not return in {within_s:.0f} s (--wait-ready, "
                "--max-time), so it was ended",
                file=sys.stderr,
            )
        finally:
            if process.returncode is None:
                signal_group(process, signal.SIGKILL)
                process.wait()
        if output is not None:
            output.seek(0)
            sys.stderr.write(mask.excerpt(output.read(_LONGEST)).decode("utf-8", "replace"))
