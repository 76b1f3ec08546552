"""Runs the user's command that restarts a server."""

from __future__ import annotations

import subprocess
import sys
import tempfile

from v2_conformance.child_processes import environment
from v2_conformance.redaction import Mask

_LONGEST = 1 << 20


def restart(command: str, mask: Mask) -> None:
    """Run a shell command and wait for it. If there are secrets, its output so far is shown on
    standard error without them.

    It prints into a file, not a pipe, because a server that it leaves in the background outlives
    the run.
    """
    if not mask.hides_anything:
        subprocess.run(command, shell=True, env=environment(), check=False)
        return
    with tempfile.TemporaryFile() as output:
        subprocess.run(
            command,
            shell=True,
            env=environment(),
            check=False,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        output.seek(0)
        sys.stderr.write(mask.excerpt(output.read(_LONGEST)).decode("utf-8", "replace"))
