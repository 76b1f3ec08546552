"""The command `v2-conformance`: arguments in, exit code out.

Other programs read the exit code, so nothing but a verdict may end with 0 or 1: whatever goes wrong
is an exception with an exit code of its own, printed as one line on standard error, and a bug of
the suite ends with 3, even if the output cannot be written.

Modules of commands import what they need when they are called, so that `--help`, `list` and the
shell's completion load nothing that only a run needs.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, TextIO, cast

import click
from click.shell_completion import shell_complete

from v2_conformance.cli.command import PROGRAM, CommandGroup
from v2_conformance.cli.options import OF_A_RUN
from v2_conformance.errors import FULL, ConformanceError, UnreachableError, UsageError
from v2_conformance.public_address import of_the_manual
from v2_conformance.terminal_safe_text import defused, did_you_mean, for_people, visible
from v2_conformance.version import __version__

_STOPPED = UnreachableError.exit_code
_COMPLETE = "_V2_CONFORMANCE_COMPLETE"
_COLOR = re.compile("(\x1b\\[[0-9;]*m)")

PARTS = {
    "Test a server": {
        "run": "v2_conformance.cli.run.command:run",
        "replay": "v2_conformance.cli.replay:replay",
        "target": "v2_conformance.cli.target:target",
        "kit": "v2_conformance.cli.suite:kit",
    },
    "Test a client": {"client": "v2_clients.command:client"},
    "Work with reports": {
        "show": "v2_conformance.cli.reports:show",
        "report": "v2_conformance.cli.reports:report",
        "diff": "v2_conformance.cli.reports:diff",
        "expect": "v2_conformance.cli.expect:expect",
        "badge": "v2_conformance.cli.reports:badge",
    },
    "Publish reports": {
        "verify": "v2_conformance.cli.reports:verify",
        "publish": "v2_publishing.command:publish",
    },
    "About the suite": {
        "list": "v2_conformance.cli.suite:listing",
        "serve": "v2_conformance.cli.suite:serve",
        "selftest": "v2_mutants.selftest.command:selftest",
    },
}
"""The place of each command, by the titles of the sections in which help has them."""

program = CommandGroup(
    PROGRAM,
    exit_codes=OF_A_RUN,
    help=f"""Conformance suite for the binary tensor data extension of the V2 protocol.

    `v2-conformance COMMAND --help` describes a command. Manual: {of_the_manual()}
    """,
    parts=PARTS,
)
click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")(program)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command (default: the process's arguments) and return its exit code. Every expected
    problem is one line on standard error and an exit code. Never raises SystemExit."""
    arguments = sys.argv[1:] if arguments is None else arguments
    signal.signal(signal.SIGTERM, _interrupt)
    # The terminal went away; a command under nohup is to outlive it.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _interrupt)
    question = os.environ.get(_COMPLETE)
    if question:  # a shell asks, whose script click has made
        return shell_complete(program, {}, PROGRAM, _COMPLETE, question)
    with contextlib.ExitStack() as stack:
        for redirect, stream in (
            (contextlib.redirect_stdout, sys.stdout),
            (contextlib.redirect_stderr, sys.stderr),
        ):
            if stream is None:  # it was closed before this process began
                stream = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(redirect(cast(TextIO, PatientOutput(stream))))
        code = _code(list(arguments))
    # A failure to flush when the interpreter exits would make the exit code 120.
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:  # nobody reads it anymore
            _let_go(stream)
    return code


class PatientOutput:
    """A stream like `stream`, but once nobody reads it anymore, what is written is dropped.

    So `diff … | head` has the exit code of `diff`, and a run whose output is cut off still writes
    its report. Characters that the stream's encoding lacks become "?". Whatever a server, a file or
    an argument has brought here, nothing but colors tells a terminal what to do.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = self.unescaped = stream  # for a progress bar, which moves the cursor

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # Click would write UTF-8 to it, past this, if the encoding is ASCII.
            raise AttributeError(name)
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write as a text stream does."""
        encoding = self._stream.encoding or "utf-8"
        with self._reader_may_be_gone():
            shown = "".join(
                part if number % 2 else visible(part)
                for number, part in enumerate(_COLOR.split(text))
            )
            self._stream.write(shown.encode(encoding, "replace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Flush as a text stream does."""
        with self._reader_may_be_gone():
            self._stream.flush()

    @contextlib.contextmanager
    def _reader_may_be_gone(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            _let_go(self._stream)


def _let_go(stream: TextIO) -> None:
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def _code(arguments: list[str]) -> int:
    try:
        code = _call(arguments)
        sys.stdout.flush()  # a failed write is better reported here than at exit
        return code
    except click.UsageError as error:
        return _complain(_problem(error), UsageError.exit_code)
    except ConformanceError as error:
        return _complain(str(error), error.exit_code)
    except BrokenPipeError:
        return _STOPPED  # the reader of our output is gone; nothing more can be written to it
    except KeyboardInterrupt:
        return _complain("stopped", _STOPPED)
    except Exception as error:  # Python's own exit code for it, 1, means "not conformant" here
        if isinstance(error, OSError) and error.errno in FULL:
            return _complain(f"the output cannot be written: {error.strerror}", _STOPPED)
        traceback.print_exc()
        return _complain("this is a bug in the suite; please report it", _STOPPED)


def _call(arguments: list[str]) -> int:
    # Not click's own `main`, which handles interrupts and broken pipes differently.
    try:
        with program.make_context(PROGRAM, [*arguments], obj=arguments) as context:
            return int(program.invoke(context))
    except click.exceptions.Exit as done:  # --help and --version
        return done.exit_code


def _complain(message: str, code: int) -> int:
    line = f"{PROGRAM}: {defused(message)}"
    with contextlib.suppress(OSError):  # the terminal may have gone
        print(for_people(line, "  ") if sys.stderr.isatty() else line, file=sys.stderr)
    return code


def _problem(error: click.UsageError) -> str:
    if error.ctx is None:
        return _as_clause(error.format_message())
    see = f"see `{error.ctx.command_path} --help`"
    if isinstance(error, click.NoSuchOption):
        names = did_you_mean(error.option_name, (error.possibilities or ())[:1], see)
        return f"unknown option {error.option_name!r}: {names}"
    if isinstance(error, click.MissingParameter) and error.param:
        return f"missing argument {_name(error.param)}: {see}"
    if isinstance(error, click.BadParameter) and error.param:
        return f"{_name(error.param)}: {_as_clause(error.message)}"
    return f"{_as_clause(error.format_message())}: {see}"


def _as_clause(message: str) -> str:
    return message[:1].lower() + message[1:].rstrip(".")


def _name(param: click.Parameter) -> str:
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.human_readable_name.removesuffix("...")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
