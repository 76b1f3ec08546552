"""The command `v2-conformance`: arguments in, exit code out. Each command is a file beside this.

Command modules import what they need when they are called, so that `--help`, `list` and the shell's
completion load nothing that only a run needs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import TextIO, cast

import click
from click.shell_completion import shell_complete

from v2_conformance.cli import exit_codes
from v2_conformance.cli.broken_pipe import PatientOutput
from v2_conformance.cli.command import PROGRAM, CommandGroup
from v2_conformance.cli.usage import problem
from v2_conformance.errors import FULL, ConformanceError, UnreachableError, UsageError
from v2_conformance.public_address import of_the_manual
from v2_conformance.terminal_safe_text import defused, for_people
from v2_conformance.version import __version__

_STOPPED = UnreachableError.exit_code
_COMPLETE = "_V2_CONFORMANCE_COMPLETE"


PARTS = {
    "Test a server": {
        "run": "v2_conformance.cli.run.command:run",
        "replay": "v2_conformance.cli.reports.replay:replay",
        "target": "v2_conformance.cli.target:target",
        "kit": "v2_conformance.cli.suite.kit:kit",
    },
    "Test a client": {"client": "v2_clients.command:client"},
    "Work with reports": {
        "show": "v2_conformance.cli.reports.show:show",
        "report": "v2_conformance.cli.reports.report:report",
        "diff": "v2_conformance.cli.reports.diff:diff",
        "expect": "v2_conformance.cli.reports.expect:expect",
        "badge": "v2_conformance.cli.reports.badge:badge",
    },
    "Publish reports": {
        "verify": "v2_conformance.cli.reports.verify:verify",
        "publish": "v2_publishing.command:publish",
    },
    "About the suite": {
        "list": "v2_conformance.cli.suite.listing:listing",
        "serve": "v2_conformance.cli.suite.serve:serve",
        "selftest": "v2_mutants.selftest.command:selftest",
    },
}
"""Where each command is, by the titles of the sections in which help has them."""

program = CommandGroup(
    PROGRAM,
    exit_codes=exit_codes.OF_A_RUN,
    help=f"""Conformance suite for the binary tensor data extension of the V2 protocol.

    `v2-conformance COMMAND --help` describes a command. Manual: {of_the_manual()}
    """,
    parts=PARTS,
)
click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")(program)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command (default: the process's arguments) and return its exit code.

    Every expected problem is one line on standard error and an exit code. Never raises SystemExit.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    signal.signal(signal.SIGTERM, _interrupt)
    # The terminal went away; a command under nohup is to outlive it.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _interrupt)
    question = os.environ.get(_COMPLETE)
    if question:  # a shell asks, whose script click has made
        return shell_complete(program, {}, PROGRAM, _COMPLETE, question)
    with _patient_output():
        code = _code(list(arguments))
    # A failure to flush when the interpreter exits would make the exit code 120.
    for stream in (sys.stdout, sys.stderr):
        _settle(stream)
    return code


def _patient_output() -> AbstractContextManager[object]:
    if sys.stdout is None:  # it was closed before this process began
        return contextlib.nullcontext()
    return contextlib.redirect_stdout(cast(TextIO, PatientOutput(sys.stdout)))


def _code(arguments: list[str]) -> int:
    try:
        code = _call(arguments)
        if sys.stdout is not None:  # it was closed before this process began
            sys.stdout.flush()  # a failed write is better reported here than at exit
        return code
    except click.UsageError as error:
        return _complain(problem(error), UsageError.exit_code)
    except ConformanceError as error:
        return _complain(str(error), error.exit_code)
    except BrokenPipeError:
        return _STOPPED  # the reader of our output is gone; nothing more can be written to it
    except KeyboardInterrupt:
        return _complain("stopped", _STOPPED)
    except OSError as error:
        if error.errno not in FULL:
            traceback.print_exc()
            return _complain("this is a bug in the suite; please report it", _STOPPED)
        return _complain(f"the output cannot be written: {error.strerror}", _STOPPED)
    except Exception:  # Python's own exit code for it, 1, means "not conformant" here
        traceback.print_exc()
        return _complain("this is a bug in the suite; please report it", _STOPPED)


def _call(arguments: list[str]) -> int:
    # Not click's own `main`, which handles interrupts and broken pipes differently.
    try:
        with program.make_context(PROGRAM, arguments) as context:
            return int(program.invoke(context))
    except click.exceptions.Exit as done:  # --help and --version
        return done.exit_code


def _complain(message: str, code: int) -> int:
    line = f"{PROGRAM}: {defused(message)}"
    with contextlib.suppress(OSError):  # the terminal may have gone
        print(for_people(line, "  ") if sys.stderr.isatty() else line, file=sys.stderr)
    return code


def _settle(stream: TextIO | None) -> None:
    """Flush `stream`, or drop what it holds if nobody reads it any more."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
